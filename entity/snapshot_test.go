package entity_test

import (
	"context"
	"errors"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// saving opens accounts that report the snapshots that they save.
func saving(
	b *bundle, kind kind, options entity.Options, change ...func(*dynajournal.Config),
) (*accounts, <-chan entity.Snapshot) {
	b.Helper()
	saved := make(chan entity.Snapshot, 100)
	options.Hooks = append(options.Hooks, entity.Hook{OnSnapshot: func(_ context.Context, s entity.Snapshot) { saved <- s }})
	return b.open(b.Journal(change...), kind, options), saved
}

func snapshots(t *testing.T, j *dynajournal.Journal) (numbers []int64) {
	t.Helper()
	for s, err := range j.Snapshots(t.Context(), "account|anna", dynajournal.SnapshotCriteria{}) {
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, s.SequenceNumber)
	}
	return numbers
}

func TestSnapshotsAreSavedAndOldOnesDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	kind := accountType()
	kind.Snapshots = entity.Snapshots{Every: 3}
	a, saved := saving(b, kind, entity.Options{})
	for i := range 12 {
		do(t, a, "anna", deposit(1))
		if i%3 == 2 {
			if s := <-saved; s.Err != nil || s.Version != int64(i+1) {
				t.Fatalf("%+v, want version %d", s, i+1)
			}
		}
	}
	if got := snapshots(t, b.Journal()); len(got) != 2 || got[0] != 12 || got[1] != 9 {
		t.Errorf("the snapshots are %v, want 12 and 9", got)
	}
	recovered := make(chan entity.Recovery, 1)
	other := b.open(b.Journal(), kind, entity.Options{
		Hooks: []entity.Hook{{OnRecovery: func(_ context.Context, r entity.Recovery) { recovered <- r }}},
	})
	if got := do(t, other, "anna", deposit(1)); got != 13 {
		t.Errorf("the balance is %d, want 13", got)
	}
	if r := <-recovered; r.Snapshot != 12 || r.Events != 0 || r.Version != 12 {
		t.Errorf("%+v, want no event after snapshot 12", r)
	}
}

// A snapshot never contains events of a write in flight.
func TestSnapshotHasDurableEventsOnly(t *testing.T) {
	t.Parallel()
	kind := accountType()
	kind.SnapshotWhen = func(_ Account, event Event, _ int64) bool { return event == Deposited{100} }
	saved := make(chan entity.Snapshot, 1)
	p := newPipeline(t, dynajournal.TableOptions{}, kind, func(o *entity.Options) {
		o.Hooks = append(o.Hooks, entity.Hook{OnSnapshot: func(_ context.Context, s entity.Snapshot) { saved <- s }})
	})
	p.block()
	p.start("behind", deposit(1))
	second, release := p.gate.block()
	p.release()
	<-second // the second write is in flight now
	if s := <-saved; s.Version != 1 || s.Err != nil {
		t.Errorf("%+v, want version 1", s)
	}
	s, ok, err := p.journal.LoadSnapshot(t.Context(), "account|anna", dynajournal.SnapshotCriteria{})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if state, err := dynajournal.DecodeState[Account](t.Context(), s); err != nil || state.Balance != 100 {
		t.Errorf("the snapshot is %+v, %v; want a balance of 100", state, err)
	}
	release()
	p.want(answer{"held", 100, nil}, answer{"behind", 101, nil})
}

func TestEventsThatAreNeededStay(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	needed, failing := int64(4), errors.New("no answer")
	var err error
	kind := accountType()
	kind.Snapshots = entity.Snapshots{Every: 5, Keep: 1, DeleteEvents: true, Needed: func(context.Context, string) (int64, error) {
		return needed, err
	}}
	a, saved := saving(b, kind, entity.Options{})
	want := func(lowest int64) {
		t.Helper()
		s := <-saved
		if wantError(t, "the snapshot", s.Err, err); s.Version%5 != 0 {
			t.Errorf("%+v", s)
		}
		if bounds, err := b.Journal().Bounds(t.Context(), "account|anna"); err != nil || bounds.Lowest != lowest {
			t.Errorf("bounds %+v, %v; want %d to be the lowest", bounds, err, lowest)
		}
	}
	for range 5 {
		do(t, a, "anna", deposit(1))
	}
	want(4)
	err = failing
	for range 5 {
		do(t, a, "anna", deposit(1))
	}
	want(4)
}

// A snapshot that the program can no longer decode is skipped, unless the state can't be loaded
// without it.
func TestSnapshotThatCanNotBeReadIsLeftOut(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	kind := accountType()
	kind.Snapshots = entity.Snapshots{Every: 2, Keep: 1}
	a := b.accounts()
	for range 4 {
		do(t, a, "anna", deposit(1))
	}
	j := b.Journal()
	unknown := serialization.Payload{SerializerID: 4711, Manifest: "old", Bytes: []byte("old")}
	metadata := dynajournal.SnapshotMetadata{PersistenceID: "account|anna", SequenceNumber: 2}
	if _, err := j.SaveSnapshot(t.Context(), metadata, unknown); err != nil {
		t.Fatal(err)
	}
	if got, _ := view(t, b.open(j, kind, entity.Options{}), "anna"); got != 4 {
		t.Errorf("the balance is %d, want 4", got)
	}
	w, err := j.Recover(t.Context(), "account|anna", dynajournal.RecoverOptions{Latest: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.DeleteTo(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	_, err = b.open(j, kind, entity.Options{}).View(t.Context(), "anna", func(Account) error { return nil })
	wantError(t, "View", err, serialization.ErrUnknownSerializer)
}

// A later version of the program reads events and states of types that it no longer has.
func TestUpcastersReadOldEventsAndStates(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	kind := accountType()
	kind.Snapshots = entity.Snapshots{Every: 2}
	a, saved := saving(b, kind, entity.Options{})
	for range 3 {
		do(t, a, "anna", deposit(10))
	}
	<-saved
	registry := serialization.NewRegistry()
	if err := serialization.JSON[Deposited](registry, "credited"); err != nil {
		t.Fatal(err)
	}
	if err := serialization.JSON[Account](registry, "account-2"); err != nil {
		t.Fatal(err)
	}
	later := b.Journal(func(c *dynajournal.Config) { c.Serialization = registry })
	halves := func(p serialization.Payload) ([]Event, error) { return []Event{Deposited{5}, Deposited{5}}, nil }
	upcasters := map[string]func(serialization.Payload) ([]Event, error){"deposited": halves}
	for name, states := range map[string]map[string]func(serialization.Payload) (Account, error){
		"from the events":   nil,
		"from the snapshot": {"account": func(serialization.Payload) (Account, error) { return Account{Balance: 20}, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			kind := accountType()
			kind.Snapshots, kind.Upcasters, kind.SnapshotUpcasters = entity.Snapshots{Every: 100}, upcasters, states
			if got, version := view(t, b.open(later, kind, entity.Options{}), "anna"); got != 30 || version != 3 {
				t.Errorf("the balance is %d at %d, want 30 at 3", got, version)
			}
		})
	}
}
