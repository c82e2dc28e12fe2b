package projection

import (
	"context"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// A process does not yet know that a projection was continued, and the sweep that is owed may have
// passed the id. A trigger that comes then is not done, as the next look finds.
func TestTriggerAfterTheContinueIsKept(t *testing.T) {
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
	g, err := New(journal, Config{Name: "group"}, AtLeastOnce("all", HandlerFunc(func(context.Context, dynajournal.Event) error { return nil })))
	if err != nil {
		t.Fatal(err)
	}
	look := func(s *schedule) {
		t.Helper()
		if err := s.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := NewOperator(journal, "group/all").Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := newSchedule(g)
	look(s)
	stopped, stop := context.WithCancel(t.Context())
	stop() // next does not wait
	done := make(chan string, 2)
	trigger := func(pid string) {
		s.trigger(pid, trigger{done: func() { done <- pid }})
		if task := s.next(stopped); task != nil {
			t.Fatal("a task of a paused projection runs")
		}
	}
	trigger("before")
	look(s)
	if pid := <-done; pid != "before" {
		t.Errorf("%q is done", pid)
	}
	if err := NewOperator(journal, "group/all").Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	trigger("after")
	look(s)
	if task := s.next(stopped); task == nil || task.pid != "after" || len(task.waiting) != 1 {
		t.Errorf("the next task is %+v", task)
	}
	select {
	case pid := <-done:
		t.Errorf("%q is done, and nobody has handled it", pid)
	default:
	}
}
