package engine

import (
	"sync/atomic"
	"time"
)

// Member is a projection of a group.
type Member struct {
	Spec

	// Name is group/projection.
	Name string
	// Paused reports whether the projection is paused. Like SweepsPending and SweepsRequested, it
	// is as last read from the projection's item.
	Paused atomic.Bool
	// SweepsPending counts the requested sweeps that are left. Sweeps counts all sweeps that were
	// ever requested.
	SweepsPending, SweepsRequested atomic.Int64
	// Effect applies steps.
	Effect Effect
	// Offsets stores the offset after the steps.
	Offsets OffsetStore
	// crowded reports whether so many processes run the projection that this one stores no
	// attribute of its own: see maxProcesses.
	crowded atomic.Bool
	// becameStuck counts persistence ids that have become stuck in this process.
	becameStuck atomic.Int64
	// unreachable detects an outage of something that the projection needs.
	unreachable unreachable
	// debts summarizes the debts that were last read from the index of debts.
	debts atomic.Pointer[debtSummary]
	// outage is when an outage was last logged, in nanoseconds since 1970.
	outage atomic.Int64
}

// outageDue reports whether an outage is to be logged: at most once in ReportedEvery, because each
// persistence id meets the same outage, repeatedly.
func (of *Member) outageDue() bool {
	now, loggedAt := time.Now().UnixNano(), of.outage.Load()
	return now-loggedAt >= int64(ReportedEvery) && of.outage.CompareAndSwap(loggedAt, now)
}

// see records the stored state of the projection. It reports whether the projection was paused
// before, and no longer is.
func (of *Member) see(now standing) (continued bool) {
	of.SweepsPending.Store(max(now.requested-now.swept, 0))
	of.SweepsRequested.Store(now.requested)
	return of.Paused.Swap(now.paused) && !now.paused
}
