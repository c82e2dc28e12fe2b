package entity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
	"github.com/dynajournal/dynajournal/serialization"
)

func TestStateTypesAndOptionsThatCanNotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	b := setupStates(t, dynajournal.TableOptions{})
	j := b.Journal()
	metadata := func(context.Context) map[string]string { return nil }
	for name, c := range map[string]struct {
		journal *dynajournal.Journal
		kind    counterKind
		options entity.Options
		want    string
	}{
		"no journal":        {nil, counterType(), entity.Options{}, "journal"},
		"no name":           {j, counterKind{}, entity.Options{}, "Type.Name"},
		"a bar in the name": {j, counterKind{Name: "a|b"}, entity.Options{}, "Type.Name"},
		"metadata":          {j, counterType(), entity.Options{Metadata: metadata}, "Options.Metadata"},
		"too many ids":      {j, counterType(), entity.Options{CommandIDs: entity.CommandIDs{Last: 1001}}, "CommandIDs.Most"},
		"negative ids":      {j, counterType(), entity.Options{CommandIDs: entity.CommandIDs{Last: -1}}, "CommandIDs.Last"},
		"negative attempts": {j, counterType(), entity.Options{Attempts: -1}, "Options.Attempts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := entity.OpenStates(c.journal, c.kind, c.options)
			if wantError(t, "OpenStates", err, dynajournal.ErrInvalidArgument); err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not name %s", err, c.want)
			}
		})
	}
}

func TestStateThatCanNotBeStoredIsRejected(t *testing.T) {
	t.Parallel()
	b := setupStates(t, dynajournal.TableOptions{}, func(c *dynajournal.Config) { c.MaxSnapshotBytes = 2000 })
	states := b.counters(entity.Options{})
	doCount(t, states, 1, count(1))
	_, err := entity.Do(t.Context(), states, "anna", pad(2000, "a"))
	rejected, ok := errors.AsType[*dynajournal.RejectedError](err)
	if !ok || rejected.Limit != 2000 || rejected.Size <= 2000 || rejected.Index != 0 {
		t.Errorf("Do: %v", err)
	}
	type unknown struct{ Counter }
	others, err := entity.OpenStates(b.Journal(), entity.StateType[unknown]{Name: "unknown"}, entity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = others.Update(t.Context(), "anna", func(tx *entity.StateTx[unknown]) error {
		tx.Record(unknown{})
		return nil
	})
	wantError(t, "a state without a serializer", err, dynajournal.ErrRejected)
	_, err = others.Update(t.Context(), strings.Repeat("x", 3000), func(tx *entity.StateTx[unknown]) error { return nil })
	wantError(t, "a long id", err, dynajournal.ErrInvalidArgument)
	if err := others.Close(t.Context()); err != nil {
		t.Error(err)
	}
	wantCount(t, states, 1, 1)
}

// Former is the state that an earlier version of the program has stored.
type Former struct{ Total int }

func TestStateOfAFormerTypeIsRead(t *testing.T) {
	t.Parallel()
	b := setupStates(t, dynajournal.TableOptions{}, func(c *dynajournal.Config) {
		if err := serialization.JSON[Former](c.Serialization, "former"); err != nil {
			t.Fatal(err)
		}
	})
	before, err := entity.OpenStates(b.Journal(), entity.StateType[Former]{Name: "counter"}, entity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := before.Update(t.Context(), "anna", func(tx *entity.StateTx[Former]) error {
		tx.Record(Former{7})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := before.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = entity.Do(t.Context(), b.counters(entity.Options{}), "anna", count(1))
	if err == nil || !strings.Contains(err.Error(), `counter|anna`) {
		t.Errorf("without an upcaster: %v", err)
	}
	kind := counterType()
	kind.Upcasters = map[string]func(serialization.Payload) (Counter, error){"former": func(p serialization.Payload) (Counter, error) {
		former, err := b.Config.Serialization.Decode(t.Context(), p)
		if err != nil {
			return Counter{}, fmt.Errorf("decode a former state: %w", err)
		}
		return Counter{Count: former.(Former).Total}, nil
	}}
	after, err := entity.OpenStates(b.Journal(), kind, entity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := entity.Do(t.Context(), after, "anna", count(1)); got != 8 || err != nil {
		t.Errorf("got %d, %v; want 8", got, err)
	}
	if err := after.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The kit runs commands on states as on events: the event is the next state.
func TestKitRunsCommandsOnStates(t *testing.T) {
	t.Parallel()
	registry := serialization.NewRegistry()
	if err := serialization.JSON[Counter](registry, "counter"); err != nil {
		t.Fatal(err)
	}
	kit := entitytest.New(t, counterType().Type(), registry)
	entitytest.When(kit.Given(Counter{Count: 5}), count(2)).Then(Counter{Count: 7}).Returns(7)
	doCount(t, kit, 1, count(1))
	kit.Entity("anna").Then(Counter{Count: 1})
}

func TestStateOfFunctionIsInitial(t *testing.T) {
	t.Parallel()
	b := setupStates(t, dynajournal.TableOptions{})
	kind := counterType()
	kind.Initial = func(id string) Counter { return Counter{Count: len(id)} }
	states, err := entity.OpenStates(b.Journal(), kind, entity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = states.Close(context.Background()) })
	wantCount(t, states, 4, 0)
	doCount(t, states, 5, count(1))
	if err := states.Purge(t.Context(), "anna"); err != nil {
		t.Fatal(err)
	}
	wantCount(t, states, 4, 2)
}
