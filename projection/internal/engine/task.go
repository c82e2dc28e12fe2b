package engine

import (
	"slices"
	"time"
)

// taskState is the state of a task in a schedule. A task is removed when a run has done all its
// triggers.
//
//	           trigger          a worker is free
//	taskNew ────────────▶ taskQueued ──────────▶ taskRunning ──▶ removed
//	                       ▲  │   ▲                │
//	    the projection is  │  │   │ a trigger came │
//	  no longer paused, or │  │   │ during the run │ the run has failed, or must wait
//	                       │  │   ├────────────────┤
//	                       │  │   │ pause is over  ▼
//	                       │  │   └─────────── taskPutOff
//	                       │  ▼ the projection is paused
//	                     taskParked ──▶ removed, if it is still paused
//
// A task that was put off for too long becomes a debt, and is removed. So is a task whose handler
// does not return. A task that pays a debt is removed after its run.
type taskState int

const (
	// taskNew: the task has just been made.
	taskNew taskState = iota
	// taskQueued: it waits for a worker.
	taskQueued
	// taskRunning: a run is under way.
	taskRunning
	// taskPutOff: it waits for a timer.
	taskPutOff
	// taskParked: it waits until it is known whether its projection is still paused.
	taskParked
)

// task is the work on one persistence id for one projection. Its runs do not overlap.
type task struct {
	of    *Member
	pid   string
	state taskState
	// pays reports whether the task pays a debt, and probes whether it does so in an outage.
	pays, probes bool
	// waiting has the triggers that the next run completes.
	waiting []Trigger
	// received is the arrival time of the oldest trigger that is not done.
	received time.Time
	// asked reports whether waiting has a trigger without records, so that the next run reads the
	// journal.
	asked bool
	// covered has the triggers of the run that is under way.
	covered []Trigger
	// overdue reports whether the call of the handler is overdue, and another worker has replaced
	// the worker of the run.
	overdue bool
	// hangs reports whether the call of the handler by a payment is overdue.
	hangs bool
	// progressed reports whether the last run has handled anything, or has found nothing to handle.
	progressed bool
	// waits is when the task first had to wait. It is zero if its last run did not make it wait.
	waits time.Time
	// last is the ending of the last run.
	last ending
	// failures counts handler errors.
	failures failures
	// pauses counts consecutive delays.
	pauses int
	// claim is the claim of another run that the task waits for.
	claim string
	// claimSeen is when claim was first seen.
	claimSeen time.Time
	// lost is the claim of an earlier run whose end is unknown.
	lost string
}

// Trigger is a trigger of a task. Without records it makes the run read the journal.
type Trigger struct {
	Records []Record
	Done    func()
	// Each, if set, is called when one of the projections has done the trigger, before Done.
	Each func(*Member)
	// count is the counter of the sweep that has sent the trigger, or nil.
	count *sweepCounter
}

// waitFor puts triggers before the triggers in waiting.
func (t *task) waitFor(triggers []Trigger) {
	t.waiting = append(triggers, t.waiting...)
	t.asked = slices.ContainsFunc(t.waiting, func(by Trigger) bool { return len(by.Records) == 0 })
}

// taskKey identifies a task.
type taskKey struct {
	name, pid string
	pays      bool
}

func (t *task) key() taskKey { return taskKey{t.of.Name, t.pid, t.pays} }

// dead returns the claim that the next run of the task may take over: the claim of an earlier run
// whose end is unknown, or a claim that has existed for timeout.
func (t *task) dead(timeout time.Duration) string {
	if t.lost != "" {
		return t.lost
	}
	stands := t.claim != "" && time.Since(t.claimSeen) >= timeout
	if stands {
		return t.claim
	}
	return ""
}

// claimed records the claim of another run.
func (t *task) claimed(claim string) {
	if t.claim != claim {
		t.claim, t.claimSeen, t.pauses = claim, time.Now(), 0
	}
}
