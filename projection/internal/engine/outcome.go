package engine

import (
	"errors"
	"time"
)

// ending is the kind of end of a run.
type ending int

const (
	// endDone: everything that was found is handled.
	endDone ending = iota
	// endStuck: the persistence id has become stuck, and that is stored.
	endStuck
	// endDebt: the row has a debt that covers the triggers, or the payment is not due.
	endDebt
	// endPaused: the projection is paused.
	endPaused
	// endClaimed: another run has the claim of the row.
	endClaimed
	// endUndecided: an event follows a missing number that may still come.
	endUndecided
	// endFailed: the handler has failed, and is called again later.
	endFailed
	// endUnreachable: a request has failed, or a handler that was projection.Delayed.
	endUnreachable
	// endFatal: the group can't continue.
	endFatal
)

// outcome is the result of a run, with the data that the next run of its task needs.
type outcome struct {
	ending ending
	// err is nil if the ending is endDone.
	err error
	// claim is the claim of the other run, if the ending is endClaimed.
	claim string
	// left is the time for which the missing numbers need not be read again, if the ending is
	// endUndecided.
	left time.Duration
	// pause is how long the task waits before its next run, if the run has to be made again.
	pause time.Duration
}

// done reports whether the triggers of the run are done. A debt covers them, even the debt of a
// stuck persistence id.
func (o outcome) done() bool {
	return o.ending == endDone || o.ending == endStuck || o.ending == endDebt
}

// waits reports whether the run has to be made again later. A debt can be stored for it.
func (o outcome) waits() bool {
	switch o.ending {
	case endClaimed, endUndecided, endFailed, endUnreachable:
		return true
	default:
		return false
	}
}

// outcomeOf returns the outcome of a run that has ended with an error.
func (g *Group) outcomeOf(err error) outcome {
	o := outcome{err: err, ending: endUnreachable}
	if err == nil {
		return outcome{}
	}
	if g.Fatal(err) {
		o.ending = endFatal
		return o
	}
	if stuck := new(stuckNowError); errors.As(err, &stuck) {
		o.ending = endStuck
		return o
	}
	if errors.Is(err, errDebtStored) || errors.Is(err, errNotDue) {
		o.ending = endDebt
		return o
	}
	if errors.Is(err, errPaused) {
		o.ending = endPaused
		return o
	}
	if claimed := new(claimedError); errors.As(err, &claimed) {
		o.ending, o.claim = endClaimed, claimed.claim
		return o
	}
	if undecided := new(undecidedError); errors.As(err, &undecided) {
		o.ending, o.left = endUndecided, undecided.left
		return o
	}
	if failure := new(HandlerError); errors.As(err, &failure) {
		o.ending = endFailed
	}
	return o
}
