package entity_test

import (
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// All events are gone, and only the snapshot is left. That is an error, because the journal table
// may be the wrong one, until the operator declares the journal lost. Then the state and the
// version come from the snapshot.
func TestEntityOfALostJournalContinuesAfterItsSnapshot(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	j := b.Journal()
	metadata := dynajournal.SnapshotMetadata{PersistenceID: "account|anna", SequenceNumber: 41}
	if _, err := j.SaveSnapshot(t.Context(), metadata, Account{Balance: 7}); err != nil {
		t.Fatal(err)
	}
	kind := accountType()
	kind.Snapshots.Every = 100
	_, err := entity.Do(t.Context(), b.open(j, kind, entity.Options{}), "anna", deposit(1))
	wantError(t, "Do", err, dynajournal.ErrSnapshotAhead)
	lost := dynajournal.RecoverOptions{Snapshot: 41, JournalLost: true}
	if _, err := j.Recover(t.Context(), metadata.PersistenceID, lost, nil); err != nil {
		t.Fatal(err)
	}
	if got, version := view(t, b.open(j, kind, entity.Options{}), "anna"); got != 7 || version != 41 {
		t.Errorf("the balance is %d at %d, want 7 at 41", got, version)
	}
	var receipt entity.Receipt
	if got := do(t, b.open(j, kind, entity.Options{}), "anna", deposit(1), entity.Into(&receipt)); got != 8 || receipt.Version != 42 {
		t.Errorf("the balance is %d at %d, want 8 at 42", got, receipt.Version)
	}
	if got, version := view(t, b.open(j, kind, entity.Options{}), "anna"); got != 8 || version != 42 {
		t.Errorf("the balance is %d at %d, want 8 at 42", got, version)
	}
}

// A type that saves no snapshots does not need a snapshot table.
func TestTypeWithoutSnapshotsReadsNone(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	without := b.Journal(func(c *dynajournal.Config) { c.SnapshotTable = "none" })
	if got := do(t, b.open(without, accountType(), entity.Options{}), "anna", deposit(1)); got != 1 {
		t.Errorf("the balance is %d, want 1", got)
	}
	if got, _ := view(t, b.open(without, accountType(), entity.Options{}), "anna"); got != 1 {
		t.Errorf("the balance is %d, want 1", got)
	}
	kind := accountType()
	kind.Snapshots.Every = 1
	_, err := entity.Do(t.Context(), b.open(without, kind, entity.Options{}), "anna", deposit(1))
	wantError(t, "Do", err, dynajournal.ErrTableNotFound)
}

// The id of this entity is a prefix of the ids of other entities.
func TestEntities_IDsWithCommonPrefix(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	kind := accountType()
	kind.Snapshots.Every = 1
	ids := []string{"a", "ab", "a-1", "a-", "A"}
	a, saved := saving(b, kind, entity.Options{})
	for i, id := range ids {
		do(t, a, id, deposit(i))
		<-saved
	}
	other := b.open(b.Journal(), kind, entity.Options{})
	for i, id := range ids {
		if got, version := view(t, other, id); got != i || version != 1 {
			t.Errorf("%q has %d at %d, want %d at 1", id, got, version, i)
		}
	}
}

// The state and the events are not structs.
func TestStatesAndEventsCanBePrimitive(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{}, func(c *dynajournal.Config) { c.Serialization = serialization.NewRegistry() })
	words := entity.Type[string, string]{
		Name: "word", Evolve: func(s, event string) string { return s + event }, Snapshots: entity.Snapshots{Every: 2},
	}
	for i, want := range []string{"ab", "abcd", "abcdef"} {
		hosted, err := entity.Open(b.Journal(), words, entity.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := entity.Do(t.Context(), hosted, "x", func(tx *entity.Tx[string, string]) (string, error) {
			tx.Record(want[2*i:2*i+1], want[2*i+1:])
			return tx.State(), nil
		})
		if err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
		if err := hosted.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
