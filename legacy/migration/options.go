package migration

import (
	"time"

	"github.com/dynajournal/dynajournal"
)

// Defaults of Options.
const (
	DefaultParallelism = 10
	DefaultRetries     = 8
	DefaultPause       = time.Second
)

// Options select what to copy, and how fast. The zero value copies everything, without a limit.
type Options struct {
	// PersistenceIDs are the ids to copy. Defaults to all ids that the source lists.
	PersistenceIDs []string
	// Parallelism is the number of persistence ids that are copied at the same time. The events of
	// one id are written one after the other. Defaults to DefaultParallelism.
	Parallelism int
	// ReadUnitsPerSecond and WriteUnitsPerSecond limit the average use of capacity. 0 is no limit.
	// The cost of snapshots is estimated by their size.
	ReadUnitsPerSecond, WriteUnitsPerSecond float64
	// CatchUp begins each persistence id at the last event of the target, instead of comparing all
	// events before it. It does not notice what a program of an older layout has deleted since the
	// first copy.
	CatchUp bool
	// SourceLive states that programs write to the source during the comparison. Newer content of
	// the source is then no difference, and the target is not searched for persistence ids that the
	// source does not list.
	SourceLive bool
	// State stores which persistence ids are copied, so that the next run skips them, unless it
	// catches up. Without it every run compares the content of the target, and continues from
	// there.
	State *State
	// Retries is the number of retries of a persistence id whose requests were throttled or had no
	// response in all their attempts. Before each retry it waits a random time of at most Pause,
	// doubled for each retry up to 64 times Pause. They default to DefaultRetries and DefaultPause.
	// Negative Retries disable retrying.
	Retries int
	Pause   time.Duration
	// Progress, if set, is called after each persistence id and at intervals in between. The calls
	// do not overlap.
	Progress func(Progress)
	// Note, if set, is called for everything that the current layout does not have. The calls do
	// not overlap.
	Note func(Note)
}

// Progress is the progress of a run.
type Progress struct{ PersistenceIDs, Events int64 }

func (o Options) complete() (Options, error) {
	for name, v := range map[string]float64{
		"Options.Parallelism":         float64(o.Parallelism),
		"Options.ReadUnitsPerSecond":  o.ReadUnitsPerSecond,
		"Options.WriteUnitsPerSecond": o.WriteUnitsPerSecond,
		"Options.Pause":               float64(o.Pause),
	} {
		if v < 0 {
			return o, &dynajournal.ArgumentError{Argument: name, Value: v, Reason: "it must not be negative"}
		}
	}
	if o.Parallelism == 0 {
		o.Parallelism = DefaultParallelism
	}
	if o.Retries == 0 {
		o.Retries = DefaultRetries
	}
	if o.Pause == 0 {
		o.Pause = DefaultPause
	}
	return o, nil
}
