package entity_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// A snapshot is stored after a purge. No process mistakes it for a snapshot of the next life,
// whether or not that life has events, and even if events of that life are deleted.
func TestSnapshot_StoredAfterPurge(t *testing.T) {
	t.Parallel()
	for _, events := range []int{0, 1, 3} {
		b := setup(t, dynajournal.TableOptions{})
		kind := snapshotsOf(entity.Snapshots{Every: 2, Keep: 1, DeleteEvents: true})
		do(t, b.accounts(), "anna", deposits(3))
		purger := b.open(b.Journal(), kind, entity.Options{})
		if err := purger.Purge(t.Context(), "anna"); err != nil {
			t.Fatal(err)
		}
		saved := dynajournal.SnapshotMetadata{PersistenceID: "account|anna", SequenceNumber: 3}
		late(b, saved)
		if events > 0 {
			next, done := saving(b, kind, entity.Options{})
			do(t, next, "anna", deposits(events))
			if events > 1 {
				if s := <-done; s.Err != nil {
					t.Fatal(s.Err)
				}
				late(b, saved)
			}
		}
		other := b.open(b.Journal(), kind, entity.Options{})
		if got, version := view(t, other, "anna"); got != events || (version == 0) != (events == 0) {
			t.Errorf("after %d deposits a view shows %d at %d", events, got, version)
		}
		another := b.open(b.Journal(), kind, entity.Options{})
		if got := do(t, another, "anna", deposit(1)); got != events+1 {
			t.Errorf("after %d deposits a command reads %d, want %d", events, got-1, events)
		}
	}
}

// late stores a snapshot of three deposits, like the late request of a process that has died. A
// running process would check after saving whether a purge has removed the snapshot.
func late(b *bundle, at dynajournal.SnapshotMetadata) {
	b.Helper()
	elsewhere := at
	elsewhere.PersistenceID = "elsewhere"
	j := b.Journal()
	if _, err := j.SaveSnapshot(b.Context(), elsewhere, Account{Balance: 3, Events: 3}); err != nil {
		b.Fatal(err)
	}
	s, ok, err := j.LoadSnapshot(b.Context(), elsewhere.PersistenceID, dynajournal.SnapshotCriteria{})
	if err != nil || !ok {
		b.Fatal(ok, err)
	}
	s.PersistenceID = at.PersistenceID
	if _, err := j.CopySnapshot(b.Context(), s); err != nil {
		b.Fatal(err)
	}
}

// A process saves a snapshot whose entity was purged meanwhile. The process deletes the snapshot
// again, so that nothing of the state is left.
func TestSnapshot_PurgedWhileSaving(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	kind := snapshotsOf(entity.Snapshots{Every: 2, Keep: 1})
	do(t, b.accounts(), "anna", deposit(1))
	purge := sync.OnceFunc(func() {
		if err := b.accounts().Purge(t.Context(), "anna"); err != nil {
			t.Error(err)
		}
	})
	purging := func(c *dynajournal.Config) {
		inner := c.AWS.HTTPClient
		c.AWS.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutItem") && bytes.Contains(body, []byte(dynajournal.DefaultSnapshotTable)) {
				purge()
			}
			return inner.Do(r)
		})}
	}
	a, saved := saving(b, kind, entity.Options{}, purging)
	do(t, a, "anna", deposit(1))
	if s := <-saved; !errors.Is(s.Err, dynajournal.ErrPurged) {
		t.Errorf("the save ends with %v, want %v", s.Err, dynajournal.ErrPurged)
	}
	for s, err := range b.Journal().Snapshots(t.Context(), "account|anna", dynajournal.SnapshotCriteria{}) {
		t.Errorf("left: %+v, %v", s.SnapshotMetadata, err)
	}
}

// The same applies to a snapshot that was beyond the last event when its entity was purged: the
// purge has taken exactly the number of the snapshot.
func TestSnapshotAtThePurgedNumberIsLeftOut(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	kind := snapshotsOf(entity.Snapshots{Every: 2, Keep: 1})
	do(t, b.accounts(), "anna", deposits(3))
	beyond := dynajournal.SnapshotMetadata{PersistenceID: "account|anna", SequenceNumber: 50}
	late(b, beyond)
	if err := b.accounts().Purge(t.Context(), "anna"); err != nil {
		t.Fatal(err)
	}
	late(b, beyond)
	if got, version := view(t, b.open(b.Journal(), kind, entity.Options{}), "anna"); got != 0 || version != 0 {
		t.Errorf("a view shows %d at %d, want nothing", got, version)
	}
}

// Events beyond the newest snapshot are deleted, for another reason than a snapshot. The state in
// the snapshot is older than the deletion: a view starts from the empty state, at the version of
// the last deleted event.
func TestSnapshotBelowADeletionIsLeftOut(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	kind := snapshotsOf(entity.Snapshots{Every: 1, Keep: 1})
	a, saved := saving(b, kind, entity.Options{})
	do(t, a, "anna", deposit(50))
	if s := <-saved; s.Err != nil {
		t.Fatal(s.Err)
	}
	do(t, b.accounts(), "anna", deposit(1))
	w, err := b.Journal().Recover(t.Context(), "account|anna", dynajournal.RecoverOptions{}, nil)
	if err == nil {
		_, err = w.DeleteTo(t.Context(), 2)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, version := view(t, b.open(b.Journal(), kind, entity.Options{}), "anna"); got != 0 || version != 2 {
		t.Errorf("a view shows %d at %d, want 0 at 2", got, version)
	}
}
