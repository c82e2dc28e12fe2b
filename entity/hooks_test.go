package entity_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
	"github.com/dynajournal/dynajournal/serialization"
)

// seen records the calls of hooks.
type seen struct {
	sync.Mutex
	commands   []entity.Command
	conflicts  []entity.Conflict
	dropped    []entity.Drop
	recoveries []entity.Recovery
	writes     []entity.Write
}

// note returns a hook that appends its argument to list.
func note[T any](s *seen, list *[]T) func(context.Context, T) {
	return func(_ context.Context, v T) {
		s.Lock()
		defer s.Unlock()
		*list = append(*list, v)
	}
}

func (s *seen) hook() entity.Hook {
	return entity.Hook{
		OnCommand:  note(s, &s.commands),
		OnConflict: note(s, &s.conflicts), OnDrop: note(s, &s.dropped),
		OnRecovery: note(s, &s.recoveries), OnWrite: note(s, &s.writes),
	}
}

func newRegistry(t *testing.T) *serialization.Registry {
	t.Helper()
	registry := serialization.NewRegistry()
	if err := errors.Join(
		serialization.JSON[Deposited](registry, "deposited"), serialization.JSON[Withdrawn](registry, "withdrawn"),
	); err != nil {
		t.Fatal(err)
	}
	return registry
}

// A journal fails in each possible way. The hooks get the same errors as the callers.
func TestHooksSeeWhatHappensToAnEntity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the attempts take seconds
		j := entitytest.OpenJournal(t, newRegistry(t))
		s := &seen{}
		a, err := entity.Open(j.Journal, accountType(), entity.Options{Hooks: []entity.Hook{s.hook(), {}}})
		if err != nil {
			t.Fatal(err)
		}
		want := func(failure error, events ...Event) {
			t.Helper()
			_, err := a.Update(t.Context(), "anna", func(tx *accountTx) error {
				tx.Record(events...)
				return nil
			})
			wantError(t, "Update", err, failure)
		}
		want(nil, Deposited{5})
		want(dynajournal.ErrRejected, unknown{})
		stop := j.Throttle()
		want(dynajournal.ErrThrottled, Deposited{1})
		stop()
		j.Conflict("account|anna", Deposited{100})
		want(nil, Deposited{1})
		if err := errors.Join(a.Drop(t.Context(), "anna"), a.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		if len(s.commands) != 4 || len(s.conflicts) != 1 || len(s.recoveries) != 2 || len(s.writes) != 4 {
			t.Fatalf("the hooks got %+v", s)
		}
		for i, failure := range []error{nil, dynajournal.ErrRejected, dynajournal.ErrThrottled, nil} {
			wantError(t, "a command", s.commands[i].Err, failure)
		}
		if c := s.commands[3]; c.PersistenceID != "account|anna" || c.Attempts != 2 || c.Receipt.Version != 3 || c.Receipt.Events != 1 {
			t.Errorf("the last command is %+v, want version 3 in 2 attempts", c)
		}
		for i, failure := range []error{nil, dynajournal.ErrThrottled, dynajournal.ErrWriterConflict, nil} {
			wantError(t, "a write", s.writes[i].Err, failure)
		}
		if w := s.writes[3]; w.Version != 3 || w.Events != 1 || w.Commands != 1 {
			t.Errorf("the last write is %+v, want an event with version 3", w)
		}
		wantError(t, "the conflict", s.conflicts[0].Err, dynajournal.ErrWriterConflict)
		if r := s.recoveries[1]; r.Err != nil || r.Version != 2 || r.Events != 1 || !r.CatchUp || s.recoveries[0].CatchUp {
			t.Errorf("the second recovery is %+v, want the event of the other writer", r)
		}
		if !slices.Equal(s.dropped, []entity.Drop{{Type: "account", PersistenceID: "account|anna", Reason: entity.DropRequested}}) {
			t.Errorf("%v were dropped", s.dropped)
		}
	})
}

func TestHooks_ReasonsOfDrops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := entitytest.OpenJournal(t, newRegistry(t))
		s := &seen{}
		kind := accountType()
		evolve := kind.Evolve
		kind.Evolve = func(a Account, e Event) Account {
			if e == (Deposited{13}) {
				panic("wanted")
			}
			return evolve(a, e)
		}
		a, err := entity.Open(j.Journal, kind, entity.Options{MaxEntities: 1, IdleTimeout: time.Minute, Hooks: []entity.Hook{s.hook()}})
		if err != nil {
			t.Fatal(err)
		}
		j.Conflict("account|broken", Deposited{13})
		for _, id := range []string{"anna", "bert", "broken"} {
			_, err := entity.Do(t.Context(), a, id, balance)
			if id != "broken" {
				wantError(t, "Do", err, nil)
			}
			synctest.Wait()
		}
		if _, err := entity.Do(t.Context(), a, "carl", balance); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		reasons := map[string]entity.DropReason{}
		for _, d := range s.dropped {
			reasons[d.PersistenceID] = d.Reason
		}
		want := map[string]entity.DropReason{
			"account|anna": entity.DropFull, "account|bert": entity.DropFull, "account|broken": entity.DropFailed, "account|carl": entity.DropIdle,
		}
		if !maps.Equal(reasons, want) {
			t.Errorf("the reasons are %v, want %v", reasons, want)
		}
	})
}

func TestHooksSeeARecoveryThatFails(t *testing.T) {
	t.Parallel()
	j := entitytest.OpenJournal(t, newRegistry(t))
	j.Conflict("account|anna", Deposited{13})
	kind := accountType()
	broken := errors.New("broken")
	kind.Evolve = func(Account, Event) Account { panic(broken) }
	s := &seen{}
	a, err := entity.Open(j.Journal, kind, entity.Options{Hooks: []entity.Hook{s.hook()}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = entity.Do(t.Context(), a, "anna", balance)
	wantError(t, "Do", err, broken)
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(s.recoveries) != 1 || len(s.commands) != 1 || len(s.writes) != 0 {
		t.Fatalf("the hooks got %+v", s)
	}
	failed, ok := errors.AsType[*entity.PanicError](s.recoveries[0].Err)
	if !ok || failed.SequenceNumber != 1 || failed.Event != (Deposited{13}) {
		t.Errorf("the recovery is %+v, want an error that names event 1", s.recoveries[0])
	}
}
