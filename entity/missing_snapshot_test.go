package entity_test

import (
	"errors"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// An entity whose events were deleted because of a snapshot stops if that snapshot is missing,
// regardless of how it was lost. A purge makes the entity usable again.
func TestLoad_MissingSnapshot(t *testing.T) {
	t.Parallel()
	for kindOf, options := range map[string]dynajournal.TableOptions{"native": {}, "shared": {SharedWithJVM: true}} {
		for name, c := range map[string]struct {
			lose   func(*testing.T, *bundle)
			change func(*dynajournal.Config)
			newest int64
		}{
			"all snapshots are lost": {lose: loseSnapshots},
			"an older copy": {lose: func(t *testing.T, b *bundle) {
				t.Helper()
				loseSnapshots(t, b)
				older := dynajournal.SnapshotMetadata{PersistenceID: "account|anna", SequenceNumber: 5}
				if _, err := b.Journal().SaveSnapshot(t.Context(), older, Account{Balance: 5}); err != nil {
					t.Fatal(err)
				}
			}, newest: 5},
			"another table": {change: func(c *dynajournal.Config) { c.SnapshotTable = "other-snapshot" }},
		} {
			t.Run(kindOf+", "+name, func(t *testing.T) {
				t.Parallel()
				b := setup(t, options)
				kind := accountType()
				kind.Snapshots = entity.Snapshots{Every: 5, Keep: 1, DeleteEvents: true}
				a, saved := saving(b, kind, entity.Options{})
				for i := range 11 {
					if do(t, a, "anna", deposit(1)); (i+1)%5 == 0 {
						if s := <-saved; s.Err != nil {
							t.Fatal(s.Err)
						}
					}
				}
				var changes []func(*dynajournal.Config)
				if c.change != nil {
					changes = append(changes, func(config *dynajournal.Config) {
						c.change(config)
						if err := dynajournal.CreateTables(t.Context(), *config, options); err != nil {
							t.Fatal(err)
						}
					})
				}
				if c.lose != nil {
					c.lose(t, b)
				}
				other := b.open(b.Journal(changes...), kind, entity.Options{})
				_, err := entity.Do(t.Context(), other, "anna", deposit(1))
				wantMissing(t, "Do", err, c.newest)
				_, err = other.View(t.Context(), "anna", func(Account) error { return nil })
				wantMissing(t, "View", err, c.newest)
				if got := last(t, b.Journal()); got != 11 {
					t.Errorf("the last event is %d, want 11: something was written", got)
				}
				if err := other.Purge(t.Context(), "anna"); err != nil {
					t.Fatal(err)
				}
				if got := do(t, other, "anna", deposit(3)); got != 3 {
					t.Errorf("the balance is %d after a purge, want 3", got)
				}
			})
		}
	}
}

func loseSnapshots(t *testing.T, b *bundle) {
	t.Helper()
	if _, err := b.Journal().DeleteSnapshots(t.Context(), "account|anna", dynajournal.SnapshotCriteria{}); err != nil {
		t.Fatal(err)
	}
}

// last returns the number of the last event of an entity.
func last(t *testing.T, j *dynajournal.Journal) int64 {
	t.Helper()
	bounds, err := j.Bounds(t.Context(), "account|anna")
	if err != nil {
		t.Fatal(err)
	}
	return bounds.Highest
}

func wantMissing(t *testing.T, what string, err error, newest int64) {
	t.Helper()
	missing, ok := errors.AsType[*dynajournal.SnapshotMissingError](err)
	if !ok || !errors.Is(err, dynajournal.ErrSnapshotMissing) || missing.DeletedTo != 10 || missing.Newest != newest {
		t.Errorf("%s: error %v, want %v: deleted to 10, the newest at %d", what, err, dynajournal.ErrSnapshotMissing, newest)
	}
}

// A recovery after a snapshot fails if later events were deleted because of a newer snapshot.
func TestRecover_SnapshotTooOld(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	j := b.Journal()
	w, err := j.Recover(t.Context(), "account|anna", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 11 {
		if _, err := w.Append(t.Context(), Deposited{1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.DeleteCovered(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	if _, err := w.DeleteTo(t.Context(), 11); err != nil { // not because of a snapshot
		t.Fatal(err)
	}
	_, err = j.Recover(t.Context(), "account|anna", dynajournal.RecoverOptions{Snapshot: 5}, nil)
	wantMissing(t, "Recover", err, 5)
	for _, snapshot := range []int64{10, 11} {
		if _, err := j.Recover(t.Context(), "account|anna", dynajournal.RecoverOptions{Snapshot: snapshot}, nil); err != nil {
			t.Errorf("after a snapshot at %d: %v", snapshot, err)
		}
	}
}
