package engine

import (
	"sync/atomic"
	"time"
)

// Member is a projection of a group. Name is the name of both.
type Member struct {
	Spec

	Name string
	// Paused, Owed and Sweeps are what was last read of the projection's item: whether it is
	// paused, how many sweeps are owed, and how many were owed so far.
	Paused       atomic.Bool
	Owed, Sweeps atomic.Int64
	// Effect applies steps, and Offsets stores the offset after them.
	Effect  Effect
	Offsets OffsetStore
	// crowded reports whether so many processes run it that this one does not say so.
	crowded atomic.Bool
	// becameStuck is how many persistence ids have become stuck in this process.
	becameStuck atomic.Int64
	// unreachable says whether this process can't reach what the projection needs.
	unreachable unreachable
	// debts is what the last look into the index of debts has shown.
	debts atomic.Pointer[owedRuns]
	// outage is when the log was last told that something can't be reached, in nanoseconds.
	outage atomic.Int64
}

// outageDue reports whether the log is told of an outage: at most once in ReportedEvery, as an
// outage concerns all persistence ids, again and again.
func (of *Member) outageDue() bool {
	now, told := time.Now().UnixNano(), of.outage.Load()
	return now-told >= int64(ReportedEvery) && of.outage.CompareAndSwap(told, now)
}

// see notes what is stored for a projection. It reports whether it is no longer paused.
func (of *Member) see(now standing) (continued bool) {
	of.Owed.Store(max(now.owed-now.swept, 0))
	of.Sweeps.Store(now.owed)
	return of.Paused.Swap(now.paused) && !now.paused
}
