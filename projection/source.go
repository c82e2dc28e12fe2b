package projection

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
	"github.com/dynajournal/dynajournal/projection/internal/stream"
)

// Source finds the persistence ids that have new events. See [Sweep], [Streams], and
// awslambda.Source. The zero value is a [Sweep] with the defaults.
type Source struct{ inSource } //nolint:unused // its methods are promoted

type inSource = engine.SourceHandle //nolint:unused // its methods are promoted

// SweepOptions are the options of a sweep. The zero value has the defaults.
type SweepOptions struct {
	// Every is the pause between the end of a sweep and the beginning of the next.
	//
	// Defaults to 1 minute.
	Every time.Duration

	// PerSecond is how many persistence ids are looked at in a second at most: it bounds what a
	// sweep costs at a time. An id without new events costs 4 read units for each projection.
	//
	// Negative is no limit. Defaults to 100.
	PerSecond float64
}

// Sweep returns a source that lists all persistence ids again and again, and compares the journal
// of each with the offsets. It needs nothing but the tables. New events are found by the next
// sweep, so combine it with [Group.Trigger] in the processes that write. A purged persistence id is
// not listed: the next sweep after it is used again finds the purge.
//
// A sweep that was interrupted continues where it was, unless the projections of the group have
// changed. Each process of a group sweeps on its own.
func Sweep(opts SweepOptions) Source {
	return engine.NewSource[Source](&engine.Sweep{Every: opts.Every, Pace: opts.PerSecond})
}

// SweepCount is what a sweep has done and used, in this process and since it began or went on. See
// [Config.OnSweep] and operator.EstimateSweep.
type SweepCount struct {
	// Projections are the names of those that the sweep is for, such as billing/balances.
	Projections []string
	// After is the persistence id behind which the sweep has begun, as all up to it were swept
	// before. It is empty for the beginning.
	After string
	// Last is the last persistence id that is done with all before it, and IDs how many were done.
	Last string
	IDs  int
	// Events is how many events were handled, each once for each projection. An event whose
	// handling was not stored, as the group has ended, is not among them.
	Events int64
	// Cost is what the sweep has used: the listing, the rows, the events and the positions that it
	// stores, and what handlers send to the journal with the context that they get.
	Cost dynajournal.Cost
	// Elapsed is the time since the sweep began.
	Elapsed time.Duration
	// Over reports whether the sweep has ended, Done whether it has swept all persistence ids.
	Over, Done bool
}

// StreamsOptions are the options of reading a stream. The zero value has the defaults.
type StreamsOptions struct {
	// LeaseTimeout is how long the lease of a shard must not move before its process counts as
	// dead, and another one reads the shard. Lower it to continue sooner after a crash; leases are
	// renewed six times as often.
	//
	// At least 100 milliseconds. Defaults to 30 seconds.
	LeaseTimeout time.Duration

	// PerSecond is SweepOptions.PerSecond, for the sweeps that a stream needs.
	//
	// Negative is no limit. Defaults to 100.
	PerSecond float64

	// Poll is the time from one look at an idle shard to the next, with the time that the request
	// takes. It bounds how soon an event is handled, and how many requests an idle stream costs.
	//
	// Defaults to 250 milliseconds.
	Poll time.Duration
}

// Streams returns a source that reads the stream of the journal table. Writers pay nothing for it.
// The processes of a group share the shards of the stream by leases in the projections table.
//
// Processes that run other projections than the rest of the group, as during a deployment, read the
// stream on their own. A group begins with the oldest record that the stream has, and a sweep. It
// sweeps again when records were trimmed before they were read, or may have been as it was away or
// could not read for 12 hours, and when the table has a new stream.
func Streams(client *dynamodbstreams.Client, opts StreamsOptions) Source {
	return engine.NewSource[Source](&stream.Streams{Client: client, LeaseTimeout: opts.LeaseTimeout, Poll: opts.Poll, Pace: opts.PerSecond})
}
