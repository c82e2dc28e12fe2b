package lifetime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/dynajournal/dynajournal/internal/lifetime"
)

func TestAdmission_LimitsConcurrentReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a lifetime.Admission
		a.Open(2)
		journal := context.Background()
		first, err := a.Enter(t.Context(), journal)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = a.Enter(t.Context(), journal); err != nil {
			t.Fatal(err)
		}
		var entered []int
		waiting, leave := context.WithCancel(t.Context())
		defer leave()
		for i := range 2 {
			go func() {
				if _, err := a.Enter(waiting, journal); err == nil {
					entered = append(entered, i)
				}
			}()
			synctest.Wait()
		}
		if len(entered) > 0 {
			t.Errorf("%v entered without a free slot", entered)
		}
		first()
		first() // the second call releases nothing
		synctest.Wait()
		if len(entered) != 1 || entered[0] != 0 {
			t.Errorf("%v entered, want the first that waited", entered)
		}
		second, err := a.Enter(ended(t, context.Canceled), journal)
		if second != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("a call that has ended entered: %v", err)
		}
	})
}

func ended(t *testing.T, cause error) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	return ctx
}

// TestAdmission_ClosedJournal enters many times, because a select chooses any of several
// ready cases.
func TestAdmission_ClosedJournal(t *testing.T) {
	t.Parallel()
	var a lifetime.Admission
	a.Open(100)
	closed := errors.New("closed")
	for range 100 {
		if _, err := a.Enter(t.Context(), ended(t, closed)); !errors.Is(err, closed) {
			t.Fatalf("entered a closed journal: %v", err)
		}
	}
}
