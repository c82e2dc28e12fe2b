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

// Options say what to copy, and how fast. The zero value copies all, as fast as it can.
type Options struct {
	// PersistenceIDs are those to copy; none is all that the source lists.
	PersistenceIDs []string
	// Parallelism is how many persistence ids are copied at the same time. Within one, events are written one after the other.
	// Defaults to DefaultParallelism.
	Parallelism int
	// ReadUnitsPerSecond and WriteUnitsPerSecond bound the capacity used up, on average; 0 is no bound. What snapshots cost is
	// estimated by their size.
	ReadUnitsPerSecond, WriteUnitsPerSecond float64
	// CatchUp begins each persistence id at the last event that is in the target, instead of comparing all before it. What a
	// program of an older layout has deleted since the first copy is not seen so.
	CatchUp bool
	// SourceLive says that programs write to the source while it is compared: what it has newer
	// than the target is then no difference, and persistence ids that the source does not list are
	// not looked for in the target.
	SourceLive bool
	// State remembers which persistence ids are copied, so that the next run passes over them, unless it catches up. Nil
	// remembers nothing: what the target holds is compared, and the copy goes on there.
	State *State
	// Retries is how often a persistence id is tried again after its requests were throttled or unanswered in all their own
	// tries, after a pause drawn up to Pause, doubled for each try. Default to DefaultRetries and DefaultPause; negative
	// Retries is none.
	Retries int
	Pause   time.Duration
	// Progress is called after each persistence id, and from time to time between, one call at a time, if set.
	Progress func(Progress)
	// Note is told of what today's layout has no place for, one call at a time, if set.
	Note func(Note)
}

// Progress is how far a run has come.
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
