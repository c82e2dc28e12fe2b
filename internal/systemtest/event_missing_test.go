package systemtest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
)

// lose removes the item of a number of the first partition of "a", and returns it.
func (d *damaged) lose(seq int) map[string]types.AttributeValue {
	d.t.Helper()
	return removeItem(d.t, d.table, "journal-P-a-0", seq)
}

// readings returns all calls that read the events of "a". With skip, they continue past missing
// events.
func (d *damaged) readings(skip bool) map[string]func() error {
	ctx := d.t.Context()
	return map[string]func() error{
		"Events": func() error { return readError(ctx, d.Journal, "a", dynajournal.Range{SkipMissing: skip}) },
		"Records": func() error {
			for _, err := range d.Records(ctx, "a", dynajournal.RecordsOptions{SkipMissing: skip}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Recover": func() error {
			_, err := d.Recover(ctx, "a", dynajournal.RecoverOptions{SkipMissing: skip}, noHandler)
			return err
		},
		"Recover without a handler": func() error {
			_, err := d.Recover(ctx, "a", dynajournal.RecoverOptions{SkipMissing: skip}, nil)
			return err
		},
	}
}

// wantMissing checks that all readers report the missing numbers, and that nothing is sealed.
func (d *damaged) wantMissing(first, last, next int64) {
	d.t.Helper()
	for name, call := range d.readings(false) {
		err := call()
		wantError(d.t, name, err, dynajournal.ErrEventMissing)
		missing, ok := errors.AsType[*dynajournal.EventMissingError](err)
		if !ok || *missing != (dynajournal.EventMissingError{PersistenceID: "a", First: first, Last: last, Next: next}) {
			d.t.Errorf("%s: %+v, want %d to %d missing before %d", name, missing, first, last, next)
		}
	}
	for seq := first; seq <= last; seq++ {
		if item := d.lose(int(seq)); item != nil {
			d.t.Errorf("%v is stored at %d", item, seq)
		}
	}
}

// There are thirty events of three writers, and one item is lost. The item is restored, or its
// number is sealed.
func TestMissingEventIsAnError(t *testing.T) {
	t.Parallel()
	for _, seq := range []int{1, 2, 10, 11, 15, 29} {
		d := openDamaged(t, dynajournal.TableOptions{}, false)
		for range 3 {
			written(t, d.Journal, "a", 10)
		}
		item := d.lose(seq)
		d.wantMissing(int64(seq), int64(seq), int64(seq)+1)
		var before []int64
		for e, err := range d.Events(t.Context(), "a", dynajournal.Range{}) {
			if err == nil {
				before = append(before, e.SequenceNumber)
			}
		}
		if len(before) != seq-1 {
			t.Errorf("%v are read before %d", before, seq)
		}
		found := findingsOf(t, d.Verify(t.Context(), "a", dynajournal.VerifyOptions{}), t.Errorf)
		if seq == 1 && len(found) == 2 && found[1].Kind == dynajournal.FindingNotInIDsIndex {
			found = found[:1] // the first event lists the id
		}
		if len(found) != 1 || found[0].Kind != dynajournal.FindingHole || found[0].Severity != dynajournal.SeverityDataLoss ||
			found[0].Option != dynajournal.OptionSealMissing || !strings.Contains(found[0].Detail, `par="journal-P-a-0" num=`) {
			t.Errorf("found %+v", found)
		}

		putAll(t, d.table, []map[string]types.AttributeValue{item})
		if got := numbersText(numbersOf(readEvents(t, d.Journal, "a", dynajournal.Range{}))); got != "1-30" {
			t.Errorf("restored, it has %s", got)
		}
		d.lose(seq)
		for f, err := range d.Repair(t.Context(), "a", dynajournal.VerifyOptions{SealMissing: true}) {
			if err != nil || !f.Repaired {
				t.Errorf("the repair: %+v, %v", f, err)
			}
		}
		if got := numbersOf(readEvents(t, d.Journal, "a", dynajournal.Range{})); len(got) != 29 || slices.Contains(got, int64(seq)) {
			t.Errorf("repaired, it has %v", got)
		}
		if found := findingsOf(t, d.Verify(t.Context(), "a", dynajournal.VerifyOptions{}), t.Errorf); len(found) != 0 {
			t.Errorf("repaired, %+v is found", found)
		}
	}
}

// Each reader continues past a missing event if the caller says so. The hook and the log get each
// loss, and a recovery seals its number.
func TestMissingEvent_SkipMissing(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	d := openDamaged(t, dynajournal.TableOptions{}, false)
	var losses []dynajournal.Loss
	d.config.Logger = slog.New(slog.NewTextHandler(&log, nil))
	d.config.Hooks = []dynajournal.Hook{{OnLoss: func(_ context.Context, loss dynajournal.Loss) { losses = append(losses, loss) }}}
	d.Journal = openJournal(t, d.config)
	written(t, d.Journal, "a", 9)
	want := dynajournal.EventMissingError{PersistenceID: "a", First: 4, Last: 4, Next: 5}
	for name, read := range d.readings(true) {
		d.lose(4) // the event, or the seal of the recovery before
		losses = nil
		log.Reset()
		if err := read(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(losses) != 1 || losses[0].PersistenceID != "a" {
			t.Fatalf("%s: the hook was called with %+v, want one loss", name, losses)
		}
		if missing, ok := errors.AsType[*dynajournal.EventMissingError](losses[0].Err); !ok || *missing != want {
			t.Errorf("%s: the hook was called with %+v, want %+v", name, losses[0].Err, want)
		}
		if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "sequence numbers 4 to 4") {
			t.Errorf("%s: logged is %q, want a warning with the loss", name, got)
		}
	}
	d.lose(4)
	if _, err := d.Recover(t.Context(), "a", dynajournal.RecoverOptions{SkipMissing: true}, nil); err != nil {
		t.Fatal(err)
	}
	if got := numbersText(numbersOf(readEvents(t, d.Journal, "a", dynajournal.Range{}))); got != "1-3,5-9" {
		t.Errorf("it has %s", got)
	}
}

// An atomic write before another write was complete. An atomic write at the end may still be in
// flight, and the next recovery closes it.
func TestMissingMemberIsAnErrorBeforeALaterWrite(t *testing.T) {
	t.Parallel()
	for _, member := range []int{3, 5, 7} {
		d := openDamaged(t, dynajournal.TableOptions{}, false)
		appendStrings(t, written(t, d.Journal, "a", 2), 5, true)
		d.lose(member)
		if found := findingsOf(t, d.Verify(t.Context(), "a", dynajournal.VerifyOptions{}), t.Errorf); slices.ContainsFunc(found, func(f dynajournal.Finding) bool { return f.Severity != dynajournal.SeverityLeftOver }) {
			t.Errorf("%d of 3 to 7 is missing: found %+v", member, found)
		}
		if got := numbersText(numbersOf(readEvents(t, d.Journal, "a", dynajournal.Range{}))); got != "1-2" {
			t.Errorf("%d of 3 to 7 is missing: it has %s", member, got)
		}
		written(t, d.Journal, "a", 1)
	}
	for _, member := range []int{3, 5, 7} {
		d := openDamaged(t, dynajournal.TableOptions{}, false)
		w := written(t, d.Journal, "a", 2)
		appendStrings(t, w, 5, true)
		appendStrings(t, w, 1, false)
		d.lose(member)
		d.wantMissing(int64(member), int64(member), 8)
	}
}

// After the missing number is a seal, which may have been written before the seals below it. So
// only an event after the seals shows the loss, even if it is in the next partition.
func TestMissingEventBeforeSeals(t *testing.T) {
	t.Parallel()
	for _, seals := range []int{2, 3, 95, 96, 97, 200} {
		d := openDamaged(t, dynajournal.TableOptions{}, false)
		w := written(t, d.Journal, "a", 3)
		appendStrings(t, w, seals, true)
		d.lose(4)
		if _, err := d.Recover(t.Context(), "a", dynajournal.RecoverOptions{SkipMissing: true}, nil); err != nil {
			t.Fatal(err)
		}
		for _, err := range d.Repair(t.Context(), "a", dynajournal.VerifyOptions{
			RemoveIncomplete: true, Archive: func(dynajournal.RemovedItem) error { return nil },
		}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		d.lose(4)
		if _, err := d.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil); err != nil {
			t.Errorf("%d seals at the end: %v", seals, err)
		}
		written(t, d.Journal, "a", 1)
		d.lose(4)
		d.wantMissing(4, 4, int64(4+seals))
	}
}

// The persistence id is erased while it is read. Its events must not be reported as lost.
func TestEventThatIsErasedIsNotMissing(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{}, false)
	config, queries := d.config, 0
	config.AWS.HTTPClient = through(config.AWS.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") {
			if queries++; queries == 3 { // the partition, the missing number, the event after it
				d.lose(3)
			}
		}
		return send(r)
	})
	j := openJournal(t, config)
	written(t, j, "a", 3)
	d.lose(2)
	queries = 0
	if err := readError(t.Context(), j, "a", dynajournal.Range{}); err != nil || queries < 3 {
		t.Errorf("after %d queries: %v", queries, err)
	}
}

// A purge succeeds, because it does not need the events.
func TestMissingEventIsPurged(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{}, false)
	w := written(t, d.Journal, "a", 5)
	d.lose(2)
	if _, err := w.Purge(t.Context(), dynajournal.PurgeOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := readError(t.Context(), d.Journal, "a", dynajournal.Range{}); err != nil {
		t.Error(err)
	}
}
