package lifetime_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/dynajournal/dynajournal/internal/lifetime"
)

func newTurn() *lifetime.Turn {
	var turn lifetime.Turn
	turn.Open("a")
	return &turn
}

func TestTurn_OrderOfArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn := newTurn()
		if err := turn.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		var order []int
		for i := range 5 {
			go func() {
				if err := turn.Enter(t.Context()); err != nil {
					t.Error(err)
				}
				order = append(order, i)
				turn.Leave()
			}()
			synctest.Wait()
		}
		if len(order) > 0 {
			t.Errorf("calls %v have entered while another had the turn", order)
		}
		turn.Leave()
		synctest.Wait()
		for i, got := range order {
			if got != i {
				t.Errorf("the order was %v", order)
			}
		}
	})
}

func TestTurn_ContextEnded(t *testing.T) {
	t.Parallel()
	turn := newTurn()
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := turn.Enter(ctx); !errors.Is(err, gone) {
		t.Errorf("got %v, want the context's cause", err)
	}
	if err := turn.Enter(t.Context()); err != nil {
		t.Errorf("the turn is taken: %v", err)
	}
}

func TestTurn_WaitingCallCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn := newTurn()
		if err := turn.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		first, second := make(chan error), make(chan error)
		go func() { first <- turn.Enter(ctx) }()
		synctest.Wait()
		go func() { second <- turn.Enter(t.Context()) }()
		synctest.Wait()
		cancel(gone)
		if err := <-first; !errors.Is(err, gone) {
			t.Errorf("the first got %v, want the context's cause", err)
		}
		turn.Leave()
		if err := <-second; err != nil {
			t.Errorf("the second got %v, want the turn", err)
		}
	})
}

// Whether the turn or the end of the context comes first, no other call waits forever.
func TestTurn_CancelledWhileReceivingTurn(t *testing.T) {
	t.Parallel()
	for range 1000 {
		turn := newTurn()
		if err := turn.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if turn.Enter(ctx) == nil {
				turn.Leave()
			}
		})
		all.Go(cancel)
		all.Go(turn.Leave)
		if err := turn.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		all.Wait()
	}
}

func TestTurn_TryEnter(t *testing.T) {
	t.Parallel()
	turn := newTurn()
	if !turn.TryEnter() {
		t.Fatal("the free turn was not entered")
	}
	if turn.TryEnter() {
		t.Error("the turn was entered twice")
	}
	turn.Leave()
	turn.End(errors.New("the cause"))
	if turn.TryEnter() {
		t.Error("the turn was entered after its end")
	}
}

// TestTurn_WriterEndsWhileCallsWait ends a writer while its turn is taken, as by a write that
// continues in the background.
func TestTurn_WriterEndsWhileCallsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn := newTurn()
		if err := turn.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		waited := make(chan error)
		go func() { waited <- turn.Enter(t.Context()) }()
		synctest.Wait()
		cause := errors.New("the cause")
		turn.End(cause)
		turn.End(errors.New("a later cause"))
		if err := <-waited; !errors.Is(err, lifetime.ErrWriterEnded) || !errors.Is(err, cause) {
			t.Errorf("the waiting call got %v, want the end and its first cause", err)
		}
		turn.Leave()
		if err := turn.Enter(t.Context()); !errors.Is(err, cause) {
			t.Errorf("a later call got %v, want the end and its first cause", err)
		}
	})
}
