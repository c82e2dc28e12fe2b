package entitytest

import (
	"context"
	"errors"
	"testing"

	"github.com/dynajournal/dynajournal/entity"
)

// Outcome is the outcome of a command. If the command has failed, the test fails, unless it expects
// the error with Fails or reads it with Err.
type Outcome[S, E any] struct {
	t   testing.TB
	id  string
	ran *ran[S, E]
	// seen reports that the error of the command was reported, expected or read.
	seen bool
}

func newOutcome[S, E any](e *Entity[S, E], r *ran[S, E]) *Outcome[S, E] {
	t := e.kit.t
	t.Helper()
	o := &Outcome[S, E]{t: t, id: e.id, ran: r}
	if r.err != nil {
		t.Cleanup(func() { o.succeeded() })
	}
	return o
}

// Then checks that the command has recorded exactly these events.
func (o *Outcome[S, E]) Then(events ...E) *Outcome[S, E] {
	o.t.Helper()
	if recorded, want := dumpAll(o.ran.events), dumpAll(events); o.succeeded() && recorded != want {
		o.t.Errorf("the command of %q has recorded %s, want %s", o.id, recorded, want)
	}
	return o
}

// ThenState checks the state after the command.
func (o *Outcome[S, E]) ThenState(want S) *Outcome[S, E] {
	o.t.Helper()
	if !same(o.ran.state, want) {
		o.t.Errorf("the state of %q after the command is %s, want %s", o.id, dump(o.ran.state), dump(want))
	}
	return o
}

// Fails checks with errors.Is that the command has failed with an error. A failed command records
// nothing.
func (o *Outcome[S, E]) Fails(want error) *Outcome[S, E] {
	o.t.Helper()
	o.seen = true
	switch {
	case o.ran.err == nil:
		o.t.Errorf("the command of %q has recorded %s, want the error %v", o.id, dumpAll(o.ran.events), want)
	case !errors.Is(o.ran.err, want):
		o.t.Errorf("the command of %q has failed: %v, want %v", o.id, o.ran.err, want)
	}
	return o
}

// Err returns the error of the command, or nil if it has succeeded.
func (o *Outcome[S, E]) Err() error {
	o.seen = true
	return o.ran.err
}

// succeeded reports whether the command has succeeded. If the command has an error that is not seen
// yet, succeeded fails the test.
func (o *Outcome[S, E]) succeeded() bool {
	o.t.Helper()
	if o.ran.err != nil && !o.seen {
		o.seen = true
		o.t.Errorf("the command of %q has failed: %v", o.id, o.ran.err)
	}
	return o.ran.err == nil
}

// Result is the outcome of a command with a result.
type Result[S, E, R any] struct {
	outcome *Outcome[S, E]
	result  R
}

// When runs a command with a result, on an entity of a kit.
func When[S, E, R any](
	e *Entity[S, E], command func(*entity.Tx[S, E]) (R, error), opts ...entity.CommandOption,
) *Result[S, E, R] {
	t := e.kit.t
	t.Helper()
	var results []R
	r := e.kit.run(context.Background(), e.id, func(tx *entity.Tx[S, E]) error {
		result, err := command(tx)
		results = append(results, result)
		return err
	}, opts)
	got := &Result[S, E, R]{outcome: newOutcome(e, r)}
	if len(results) > 0 && r.err == nil {
		got.result = results[0]
	}
	if len(results) > 1 && r.err == nil && !same(results[0], results[1]) {
		t.Errorf("the command of %q has another result when it runs again: %s, then %s. It must be a function of its Tx alone",
			e.id, dump(results[0]), dump(results[1]))
	}
	return got
}

// Returns checks the result of the command.
func (r *Result[S, E, R]) Returns(want R) *Result[S, E, R] {
	o := r.outcome
	o.t.Helper()
	if o.succeeded() && !same(r.result, want) {
		o.t.Errorf("the command of %q has returned %s, want %s", o.id, dump(r.result), dump(want))
	}
	return r
}

// Then is Outcome.Then.
func (r *Result[S, E, R]) Then(events ...E) *Result[S, E, R] {
	r.outcome.t.Helper()
	r.outcome.Then(events...)
	return r
}

// ThenState is Outcome.ThenState.
func (r *Result[S, E, R]) ThenState(want S) *Result[S, E, R] {
	r.outcome.t.Helper()
	r.outcome.ThenState(want)
	return r
}

// Fails is Outcome.Fails.
func (r *Result[S, E, R]) Fails(want error) *Result[S, E, R] {
	r.outcome.t.Helper()
	r.outcome.Fails(want)
	return r
}

// Err is Outcome.Err.
func (r *Result[S, E, R]) Err() error { return r.outcome.Err() }
