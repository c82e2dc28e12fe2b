package engine

import (
	"fmt"
	"testing"
)

// A task remembers only one of a program's triggers, and the number of tasks is bounded.
func TestAsk_Bounded(t *testing.T) {
	t.Parallel()
	const most = 10
	of := &Member{Name: "group/all", Offsets: RowOffsets{}}
	g := &Group{Config: Settings{Concurrency: most, MaxWaiting: most}, Members: []*Member{of}, Table: &Table{}}
	s := newSchedule(g)
	for i := range 2 * most {
		for range 3 {
			s.Ask(fmt.Sprint("id-", i))
		}
	}
	if len(s.tasks) != most {
		t.Errorf("there are %d tasks, want %d", len(s.tasks), most)
	}
	for key, task := range s.tasks {
		if len(task.waiting) != 1 {
			t.Errorf("%s has %d triggers", key.pid, len(task.waiting))
		}
	}
	s.Trigger("of a source", Trigger{})
	if len(s.tasks) != most+1 {
		t.Error("a trigger of a source was dropped")
	}
	for range most {
		task := s.turns.take()
		s.runOf(task)
		s.Ask(task.pid)
		if len(task.waiting) != 1 {
			t.Errorf("a trigger during the run of %s is lost", task.pid)
		}
	}
}
