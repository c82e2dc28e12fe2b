package entity_test

import (
	"errors"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// reader is an event adapter that stores events as they are.
type reader func(event any) []any

func (reader) ToJournal(event any) (any, string, error) { return event, "", nil }

func (r reader) FromJournal(stored any, _ string) ([]any, error) { return r(stored), nil }

// adapter reads a deposit of 10 as two deposits of 5, and omits withdrawals.
var adapter = reader(func(event any) []any { //nolint:gochecknoglobals // a constant
	switch event {
	case Deposited{10}:
		return []any{Deposited{5}, Deposited{5}}
	case Withdrawn{1}:
		return nil
	}
	return []any{event}
})

// The adapter omits the last event. The version of the state is still the number of this event.
func TestAdapterReadsAnEventAsNoneOrSeveral(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	first := b.accounts()
	for _, command := range []func(*accountTx) (int, error){deposit(10), deposit(7), withdraw(1)} {
		do(t, first, "anna", command)
	}
	later := b.Journal(func(c *dynajournal.Config) { c.Adapter = adapter })
	for name, load := range map[string]func(*testing.T, *accounts){
		"by a view":    func(t *testing.T, a *accounts) { view(t, a, "anna") },
		"by a command": func(t *testing.T, a *accounts) { do(t, a, "anna", balance) },
	} {
		t.Run(name, func(t *testing.T) {
			a := b.open(later, accountType(), entity.Options{})
			load(t, a)
			if got, version := view(t, a, "anna"); got != 17 || version != 3 {
				t.Errorf("the balance is %d at %d, want 17 at 3", got, version)
			}
		})
	}
	a := b.open(later, accountType(), entity.Options{})
	if got := do(t, a, "anna", deposit(1), entity.At(3)); got != 18 {
		t.Errorf("the balance is %d, want 18", got)
	}
}

// The response to an event is lost, and the adapter omits the event. The entity finds the event and
// does not record it again.
func TestLostEventThatTheAdapterLeavesOutIsFound(t *testing.T) {
	t.Parallel()
	g := &gate{}
	b := setup(t, dynajournal.TableOptions{}, single, g.install, func(c *dynajournal.Config) { c.Adapter = adapter })
	a := b.accounts()
	do(t, a, "anna", deposit(7))
	g.lose(true)
	var receipt entity.Receipt
	do(t, a, "anna", withdraw(1), entity.Into(&receipt))
	if receipt.Version != 2 {
		t.Errorf("the receipt is %+v, want version 2", receipt)
	}
	if bounds, err := b.Journal().Bounds(t.Context(), "account|anna"); err != nil || bounds.Highest != 2 {
		t.Errorf("bounds %+v, %v; want the highest number to be 2", bounds, err)
	}
}

// wrapped is how an envelope stores an event.
type wrapped struct{ Amount int }

// envelope is an event adapter that stores each event in a wrapper, with the kind of event as the
// manifest.
type envelope struct{}

func (envelope) ToJournal(event any) (any, string, error) {
	switch e := event.(type) {
	case Deposited:
		return wrapped(e), "in", nil
	case Withdrawn:
		return wrapped(e), "out", nil
	}
	return nil, "", errInsufficient
}

func (envelope) FromJournal(stored any, manifest string) ([]any, error) {
	w, ok := stored.(wrapped)
	switch {
	case ok && manifest == "in":
		return []any{Deposited(w)}, nil
	case ok && manifest == "out":
		return []any{Withdrawn(w)}, nil
	}
	return nil, errInsufficient
}

func TestAdapterWrapsEachEventOfACommand(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{}, func(c *dynajournal.Config) { c.Adapter = envelope{} })
	if err := serialization.JSON[wrapped](b.Config.Serialization, "wrapped"); err != nil {
		t.Fatal(err)
	}
	kind := accountType()
	kind.Tags = func(Event) []string { return []string{"all"} }
	got := do(t, b.open(b.Journal(), kind, entity.Options{}), "anna", func(tx *accountTx) (int, error) {
		tx.Record(Deposited{9}, Withdrawn{2})
		return tx.State().Balance, nil
	})
	if again := do(t, b.accounts(), "anna", balance); got != 7 || again != 7 {
		t.Errorf("the balance is %d, and %d after a replay; want 7", got, again)
	}
	want := []string{"in", "out"}
	for e, err := range b.Journal().Events(t.Context(), "account|anna", dynajournal.Range{}) {
		if err != nil || e.SerializerManifest != "wrapped" || e.Manifest != want[e.SequenceNumber-1] || len(e.Tags) != 1 {
			t.Errorf("%+v, %v; want it to be wrapped", e, err)
		}
	}
	_, err := b.accounts().Update(t.Context(), "anna", func(tx *accountTx) error {
		tx.Record(Deposited{1}, unknown{})
		return nil
	})
	if wantError(t, "Update", err, dynajournal.ErrRejected); !errors.Is(err, errInsufficient) {
		t.Errorf("%v is not what the adapter has returned", err)
	}
}
