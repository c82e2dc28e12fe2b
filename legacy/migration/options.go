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

// Options select which persistence ids to copy, and how fast. The zero value copies everything,
// without a limit.
type Options struct {
	// PersistenceIDs contains the ids to copy. Defaults to all ids that the source lists.
	PersistenceIDs []string
	// Parallelism is the number of persistence ids that are copied at the same time. The events of
	// one id are written one after the other. Defaults to DefaultParallelism.
	Parallelism int
	// ReadUnitsPerSecond and WriteUnitsPerSecond limit the average use of capacity. 0 means no
	// limit. The cost of snapshots is estimated from their size.
	ReadUnitsPerSecond, WriteUnitsPerSecond float64
	// CatchUp starts each persistence id at the last event of the target, and does not compare the
	// events before it. It does not notice events that a program of an older layout has deleted
	// since the first copy.
	CatchUp bool
	// SourceLive states that programs write to the source during the comparison. Newer content of
	// the source is then not a difference, and the target is not searched for persistence ids that
	// the source does not list.
	SourceLive bool
	// State stores which persistence ids were copied, so that the next run skips them, unless
	// CatchUp is set. Without State every run compares the content of the target, and continues
	// after it.
	State *State
	// Retries is the number of retries of a persistence id for which all attempts of a request were
	// throttled or got no response. Before each retry it waits a random time of at most Pause,
	// doubled for each retry up to 64 times Pause. Retries defaults to DefaultRetries, and Pause to
	// DefaultPause. A negative Retries turns retries off.
	Retries int
	Pause   time.Duration
	// Progress, if set, is called after each persistence id, and at intervals within a long
	// history. The calls do not overlap.
	Progress func(Progress)
	// Note, if set, is called for each event of which the current layout can't store everything.
	// The calls do not overlap.
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
