package engine

import (
	"context"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// A trigger comes after a projection was continued, and before the process knows that. The
// requested sweep may have passed the id already, so the next poll must not complete the trigger.
func TestPause_TriggerAfterContinue(t *testing.T) {
	t.Parallel()
	engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{Projections: true}); err != nil {
		t.Fatal(err)
	}
	journal, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = journal.Close() })
	g, err := NewGroup(journal, Settings{Name: "group", ClaimTimeout: time.Minute, Concurrency: 1, MaxWaiting: 1, Source: &Sweep{}}, []*Spec{{inGroup: "all", kind: idle{}}})
	if err != nil {
		t.Fatal(err)
	}
	poll := func(s *Schedule) {
		t.Helper()
		if err := s.poll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	store := func(expression string, values dynamo.Attributes) {
		t.Helper()
		err := g.Table.Send(t.Context(), dynamo.Update{
			Table: g.Table.Name, Key: g.Table.StandingKey("group/all"), Expression: expression,
			Condition: "attribute_exists(" + AttrStarted + ")", Values: values,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	store("SET "+AttrPaused+" = :now", dynamo.Attributes{":now": Number(1)})
	s := newSchedule(g)
	poll(s)
	stopped, stop := context.WithCancel(t.Context())
	stop() // next does not wait
	done := make(chan string, 2)
	trigger := func(pid string) {
		s.Trigger(pid, Trigger{Done: func() { done <- pid }})
		if task := s.next(stopped); task != nil {
			t.Fatal("a task of a paused projection runs")
		}
	}
	trigger("before")
	poll(s)
	if pid := <-done; pid != "before" {
		t.Errorf("%q is done", pid)
	}
	store("REMOVE "+AttrPaused, nil)
	trigger("after")
	poll(s)
	if task := s.next(stopped); task == nil || task.pid != "after" || len(task.waiting) != 1 {
		t.Errorf("the next task is %+v", task)
	}
	select {
	case pid := <-done:
		t.Errorf("%q is done, and nobody has handled it", pid)
	default:
	}
}

// idle is a kind that does nothing.
type idle struct{}

func (idle) Delivery() string { return KindAtLeastOnce }

func (idle) Check(string) error { return nil }

func (idle) Open(*Group, *Member) (Effect, OffsetStore) { return idle{}, RowOffsets{} }

func (idle) Apply(context.Context, *Run, *Row, []Step) (bool, error) { return true, nil }

func (idle) Writes([]Step) (requests, units int) { return 0, 0 }
