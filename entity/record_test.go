package entity_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
	"github.com/dynajournal/dynajournal/serialization"
)

// The events of a command span three partitions.
func TestManyEventsOfACommandAreStoredInTheirOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	do(t, b.accounts(), "anna", deposit(1000))
	const events = 250
	var receipt entity.Receipt
	got := do(t, b.accounts(), "anna", func(tx *accountTx) (int, error) {
		if tx.Version() != 1 {
			t.Errorf("the command begins at version %d, want 1", tx.Version())
		}
		for i := range events {
			tx.Record(Withdrawn{i % 3})
			if tx.Version() != int64(i+2) || tx.State().Events != i+2 {
				t.Fatalf("version %d, %+v after event %d", tx.Version(), tx.State(), i+2)
			}
		}
		return tx.State().Balance, nil
	}, entity.Into(&receipt))
	if want := 1000 - 249; got != want || receipt.Version != events+1 || receipt.Events != events {
		t.Errorf("%d, %+v; want %d at version %d", got, receipt, want, events+1)
	}
	if again, version := view(t, b.accounts(), "anna"); again != got || version != events+1 {
		t.Errorf("the balance is %d at %d, want %d", again, version, got)
	}
	i := 0
	for e, err := range b.Journal().Events(t.Context(), "account|anna", dynajournal.Range{From: 2}) {
		if value, decoding := e.Payload(t.Context()); err != nil || decoding != nil || value != (Withdrawn{i % 3}) {
			t.Fatalf("event %d is %v, %v, %v", e.SequenceNumber, value, err, decoding)
		}
		i++
	}
	if i != events {
		t.Errorf("%d events were read, want %d", i, events)
	}
}

func TestCommandThatRecordsNothingWritesNothing(t *testing.T) {
	t.Parallel()
	a := setup(t, dynajournal.TableOptions{}).accounts()
	do(t, a, "anna", deposit(1))
	for _, events := range [][]Event{nil, {}} {
		receipt, err := a.Update(t.Context(), "anna", func(tx *accountTx) error {
			tx.Record(events...)
			return nil
		})
		if err != nil || receipt != (entity.Receipt{Version: 1}) {
			t.Errorf("%+v, %v; want version 1 and no event", receipt, err)
		}
	}
	if s := a.Stats(); s.Writes != 1 || s.Events != 1 {
		t.Errorf("%+v, want one write", s)
	}
}

type tenantKey struct{}

func TestTagsAndMetadataAreStoredWithEachEvent(t *testing.T) {
	t.Parallel()
	j := entitytest.OpenJournal(t, newRegistry(t))
	kind := accountType()
	kind.Tags = func(e Event) []string {
		if _, ok := e.(Withdrawn); ok {
			return []string{"outgoing"}
		}
		return nil
	}
	a, err := entity.Open(j.Journal, kind, entity.Options{Metadata: func(ctx context.Context) map[string]string {
		return map[string]string{"tenant": ctx.Value(tenantKey{}).(string)}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.WithValue(t.Context(), tenantKey{}, "acme")
	if _, err := a.Update(ctx, "anna", func(tx *accountTx) error {
		tx.Record(Deposited{2}, Withdrawn{1})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := [][]string{nil, {"outgoing"}}
	for e, err := range j.Events(t.Context(), "account|anna", dynajournal.Range{}) {
		if err != nil || !slices.Equal(e.Tags, want[e.SequenceNumber-1]) || !maps.Equal(e.Metadata, map[string]string{"tenant": "acme"}) {
			t.Errorf("event %d has %v and %v, %v", e.SequenceNumber, e.Tags, e.Metadata, err)
		}
	}
}

// The omitted event was the last one. The version of the state is still its number.
func TestUpcasterThatReturnsNoneLeavesAnEventOut(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	first := b.accounts()
	do(t, first, "anna", deposit(9))
	do(t, first, "anna", withdraw(1))
	kind := accountType()
	kind.Upcasters = map[string]func(serialization.Payload) ([]Event, error){
		"withdrawn": func(serialization.Payload) ([]Event, error) { return nil, nil },
	}
	if got, version := view(t, b.open(b.Journal(), kind, entity.Options{}), "anna"); got != 9 || version != 2 {
		t.Errorf("the balance is %d at %d, want 9 at 2", got, version)
	}
	if got := do(t, b.open(b.Journal(), kind, entity.Options{}), "anna", deposit(1), entity.At(2)); got != 10 {
		t.Errorf("the balance is %d, want 10", got)
	}
}

// named is an Updater that gives each command the id of its context.
type named struct{ entity.Updater[Account, Event] }

func (n named) Update(
	ctx context.Context, id string, command func(*accountTx) error, opts ...entity.CommandOption,
) (entity.Receipt, error) {
	name, _ := ctx.Value(tenantKey{}).(string)
	return n.Updater.Update(ctx, id, command, append(opts, entity.CommandID(name))...)
}

// An Updater that wraps the entities can add ids, traces or permissions to commands.
func TestUpdaterAroundEntitiesSeesEachCommand(t *testing.T) {
	t.Parallel()
	a := named{setup(t, dynajournal.TableOptions{}).accounts()}
	ctx := context.WithValue(t.Context(), tenantKey{}, "request-1")
	if got, err := entity.Do(ctx, a, "anna", deposit(1)); err != nil || got != 1 {
		t.Errorf("%d, %v; want 1", got, err)
	}
	_, err := entity.Do(ctx, a, "anna", deposit(1))
	wantError(t, "Do", err, entity.ErrDuplicate)
}
