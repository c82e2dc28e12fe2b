package explore_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
)

// version1 is the folder of an engine with a native journal of format version 1. Commit ad3b6df has
// written it at two o'clock of the first day of a bubble. See testdata/version-1.md.
const version1 = "testdata/version-1.tar.gz"

// unpack unpacks an archive into a new folder.
func unpack(t *testing.T, archive string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for all := tar.NewReader(unzipped); ; {
		header, err := all.Next()
		if errors.Is(err, io.EOF) {
			return folder
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(all)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, filepath.Base(header.Name)), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// former is the expected content of a persistence id of that journal.
type former struct {
	events []string
	// next is the number after the events. late is the next number after everything with an expiry
	// has expired.
	next, late int64
}

// formerly returns the persistence ids of that journal.
func formerly() map[string]former {
	var many []string
	for n := 1; n <= 120; n++ {
		many = append(many, fmt.Sprint(n))
	}
	three := []string{"1", "2", "3"}
	ids := map[string]former{
		"events":  {many, 121, 121},
		"deleted": {[]string{"4", "5"}, 6, 6},
		"purged":  {nil, 5, 1},
		"again":   {[]string{"new 1", "new 2"}, 7, 7},
		// It was used again after all had expired.
		"over": {[]string{"new 1", "new 2"}, 3, 3},
		// A snapshot is at 9.
		"ahead": {[]string{"1", "2"}, 3, 3},
		"lost":  {[]string{"10"}, 11, 11},
		// The purge has put its fence, and not the low mark.
		"cut05": {three, 5, 4},
		"cut12": {nil, 5, 1},
	}
	for n := range 5 { // the purge has only read
		ids[fmt.Sprintf("cut%02d", n)] = former{three, 4, 4}
	}
	for n := 6; n < 12; n++ {
		ids[fmt.Sprintf("cut%02d", n)] = former{nil, 5, 5}
	}
	return ids
}

// A journal of format version 1 is refused until an update has raised its version. Then its events,
// deletions, purges and states are unchanged, even if items have expired meanwhile, and each id can
// be written, verified and purged.
func TestJournalOfFormatVersion1(t *testing.T) {
	for _, age := range []time.Duration{fenceWindow / 4, 2 * fenceWindow} {
		folder := unpack(t, version1)
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(2*time.Hour + age)
			w := updated(t, folder)
			j := w.journal("one")
			ids := formerly()
			for id, of := range ids {
				if age > fenceWindow {
					of.next = of.late
				}
				w.wantFormer(j, id, of)
			}
			w.wantStates(j, age > fenceWindow)
			w.pass(afterExpiry)
			for id, of := range ids {
				r, seen := w.recoverID(j, id)
				if next, err := r.NextSequenceNumber(w.Context()); err != nil || next <= of.late || len(seen) > 0 {
					w.Errorf("%s has %q after a purge, and continues at %d (%v)", id, seen, next, err)
				}
				w.wantAheadOnly(j, id)
			}
		})
	}
}

// updated opens the engine of a folder, and raises the version of its journal.
func updated(t *testing.T, folder string) *world {
	t.Helper()
	engine, err := embedded.Open(folder, embedded.WithSweepInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	w := newWorld(t, engine)
	if _, err := dynajournal.Open(t.Context(), w.config); !errors.Is(err, dynajournal.ErrHeaderMismatch) {
		t.Errorf("before the update: %v", err)
	}
	if _, err := dynajournal.UpdateTables(t.Context(), w.config, dynajournal.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.pass(15 * time.Minute)
	return w
}

// wantFormer checks a persistence id, and then writes to it and purges it.
func (w *world) wantFormer(j *dynajournal.Journal, id string, want former) {
	w.Helper()
	r, seen := w.recoverID(j, id)
	next, err := r.NextSequenceNumber(w.Context())
	if err != nil || next != want.next || !slices.Equal(seen, want.events) {
		w.Errorf("%s has %q and continues at %d (%v), want %q and %d", id, seen, next, err, want.events, want.next)
	}
	w.wantAheadOnly(j, id)
	if _, err := r.Append(w.Context(), "more"); err != nil {
		w.Errorf("%s: %v", id, err)
	}
	if _, seen = w.recoverID(j, id); !slices.Equal(seen, append(want.events, "more")) {
		w.Errorf("%s has %q after another event", id, seen)
	}
	if _, err := r.Purge(w.Context(), dynajournal.PurgeOptions{}); err != nil {
		w.Errorf("%s: %v", id, err)
	}
}

// recoverID recovers a persistence id, and returns the events.
func (w *world) recoverID(j *dynajournal.Journal, id string) (r *dynajournal.Writer, seen []string) {
	w.Helper()
	r, err := j.Recover(w.Context(), id, dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
		seen = append(seen, text(e))
		return nil
	})
	if err != nil {
		w.Fatalf("%s: %v", id, err)
	}
	return r, seen
}

// wantAheadOnly checks that verify finds no damage but a snapshot beyond the journal, where one is.
func (w *world) wantAheadOnly(j *dynajournal.Journal, id string) {
	w.Helper()
	for f, err := range j.Verify(w.Context(), id, dynajournal.VerifyOptions{}) {
		ahead := id == "ahead" && f.Kind == dynajournal.FindingSnapshotBeyondJournal
		if err != nil || f.Severity != dynajournal.SeverityLeftOver && !ahead {
			w.Errorf("verify %s: %+v, %v", id, f, err)
		}
	}
}

// wantStates checks the durable states of that journal, and writes to them. Nothing is left of the
// purged state after it has expired.
func (w *world) wantStates(j *dynajournal.Journal, expired bool) {
	w.Helper()
	drafts, err := entity.OpenStates(j, entity.StateType[string]{Name: "draft"}, entity.Options{})
	if err != nil {
		w.Fatal(err)
	}
	states := map[string]string{"kept": "3 123", "purged": "4 "}
	if expired {
		states["purged"] = "0 "
	}
	for id, want := range states {
		got, err := entity.Do(w.Context(), drafts, id, func(tx *entity.Tx[string, string]) (string, error) {
			found := fmt.Sprint(tx.Version(), " ", tx.State())
			tx.Record(tx.State() + "more")
			return found, nil
		})
		if err != nil || got != want {
			w.Errorf("the state of %s is %q (%v), want %q", id, got, err, want)
		}
	}
	if err := errors.Join(drafts.Purge(w.Context(), "kept"), drafts.Close(w.Context())); err != nil {
		w.Error(err)
	}
}
