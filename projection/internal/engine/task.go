package engine

import (
	"slices"
	"time"
)

// taskState is where a task of a schedule is. A task is removed when a run has done all of its
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

// task is the work on one persistence id of one projection. Its runs follow each other.
type task struct {
	of    *Member
	pid   string
	state taskState
	// pays reports whether the task pays a debt, and probes whether it does so in an outage.
	pays, probes bool
	// waiting are called when a run that begins from now on has done the task. received is when the
	// first trigger came that is not done.
	waiting  []Trigger
	received time.Time
	// asked reports whether a trigger without records is among waiting, so that the next run reads.
	asked bool
	// covered are the triggers that the run does which is under way.
	covered []Trigger
	// overdue reports that the handler of the run has not returned for so long that another worker
	// has its place.
	overdue bool
	// hangs reports that the handler of a payment has not returned.
	hangs bool
	// gotOn reports whether the last run has handled anything, or has found nothing to handle.
	gotOn bool
	// waits is since when the runs of the task end without having done it, zero if the last one
	// has.
	waits time.Time
	// last is how the last run has ended. failures counts failures of the handler, and pauses how
	// often in a row the task was put off.
	last     ending
	failures failures
	pauses   int
	// claim is the claim that is waited for, seen since claimSeen.
	claim     string
	claimSeen time.Time
	// lost is the claim of an earlier run whose end is unknown.
	lost string
}

// Trigger is a trigger of a task. A trigger without records makes the run read.
type Trigger struct {
	Records []Record
	Done    func()
	// Each, if set, is called when one of the projections has done the trigger, before Done.
	Each func(*Member)
	// count counts for the sweep that has sent the trigger. It is nil if none has.
	count *sweepCounter
}

// waitFor puts triggers before those that the task waits for.
func (t *task) waitFor(triggers []Trigger) {
	t.waiting = append(triggers, t.waiting...)
	t.asked = slices.ContainsFunc(t.waiting, func(by Trigger) bool { return len(by.Records) == 0 })
}

// taskKey names a task.
type taskKey struct {
	name, pid string
	pays      bool
}

func (t *task) key() taskKey { return taskKey{t.of.Name, t.pid, t.pays} }

// dead returns the claim that the next run of the task may take over: of an earlier run whose end
// is unknown, or one that was there for a time.
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

// claimed notes the claim of another run.
func (t *task) claimed(claim string) {
	if t.claim != claim {
		t.claim, t.claimSeen, t.pauses = claim, time.Now(), 0
	}
}
