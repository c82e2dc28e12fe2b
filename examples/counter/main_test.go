//go:build long

// Without the tag the program is compiled, but not run, because linking a test program for each
// example takes long.

package main

import (
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/entitytest"
	"github.com/dynajournal/dynajournal/serialization"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	main()
	// Output:
	// replica one: 1, conflicts: 0
	// replica two: 2, conflicts: 0
	// replica one: 3, conflicts: 1
	// after 400 increments more: 403
}

// Another process writes each time just before this one. After five attempts the command fails, and
// nothing of it is stored.
func TestContendedIncrementIsNotDone(t *testing.T) {
	t.Parallel()
	events := serialization.NewRegistry()
	if err := serialization.JSON[Incremented](events, "incremented"); err != nil {
		t.Fatal(err)
	}
	j := entitytest.OpenJournal(t, events)
	counters, err := entity.Open(j.Journal, counterType, entity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = counters.Close(t.Context()) })
	decided := 0
	_, err = counters.Update(t.Context(), "visits", func(tx *entity.Tx[int, Incremented]) error {
		decided++
		j.Conflict("counter|visits", Incremented{100})
		tx.Record(Incremented{1})
		return nil
	})
	if decided != 5 || !errors.Is(err, entity.ErrContended) {
		t.Errorf("it was decided %d times, want 5: %v", decided, err)
	}
	value, err := entity.Do(t.Context(), counters, "visits", increment)
	if err != nil || value != 501 {
		t.Errorf("the counter is %d, %v; want 501", value, err)
	}
}
