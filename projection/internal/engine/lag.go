package engine

import "time"

// Lag is a projection.Lag.
type Lag struct {
	Projection   string
	IDs          int
	Failing      int
	Delayed      int
	Debts        int
	OldestDebt   time.Duration
	Stuck        int64
	Paused       bool
	Overdue      int
	Oldest       time.Duration
	StreamDelay  time.Duration
	Trimmed      int64
	ReadsStream  bool
	Shards       int
	SweepPending bool
	Missing      int
	Passed, Late int64
}
