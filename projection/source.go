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

// SweepOptions are the options of [Sweep]. The zero value has the defaults.
type SweepOptions struct {
	// Every is the pause between the end of a sweep and the start of the next.
	//
	// Defaults to 1 minute.
	Every time.Duration

	// PerSecond is the maximum number of persistence ids that a sweep reads in a second. It limits
	// the cost of a sweep over time. A persistence id without new events costs 4 read units for
	// each projection.
	//
	// Negative means no limit. Defaults to 100.
	PerSecond float64
}

// Sweep returns a source that lists all persistence ids again and again, and compares each one's
// journal with its offsets. It needs only the tables. New events wait for the next sweep, so call
// [Group.Trigger] in the processes that write. A purged persistence id is not listed: the purge is
// found by the first sweep after the persistence id is used again.
//
// An interrupted sweep continues at its last stored position, unless the projections of the group
// have changed. Each process of a group sweeps on its own.
func Sweep(opts SweepOptions) Source {
	return engine.NewSource[Source](&engine.Sweep{Every: opts.Every, Pace: opts.PerSecond})
}

// SweepCount reports the progress and the cost of a sweep, in this process and since the sweep
// started or continued. See [Hook].OnSweep and operator.EstimateSweep.
type SweepCount struct {
	// Projections are the names of the projections that the sweep is for, such as billing/balances.
	Projections []string
	// After is the persistence id after which the sweep started, because all ids up to it had been
	// swept before. It is empty if the sweep started with the first one.
	After string
	// Last is the last persistence id up to which all are done. IDs counts the persistence ids that
	// are done.
	Last string
	IDs  int
	// Events counts handled events, each once for each projection. An event whose offset was not
	// stored because the group ended is not counted.
	Events int64
	// Cost is the cost of the sweep: listing the persistence ids, reading the rows and the events,
	// and storing positions. It includes the requests that handlers send to the journal with the
	// context that they get.
	Cost dynajournal.Cost
	// Elapsed is the time since the sweep started.
	Elapsed time.Duration
	// Over reports whether the sweep has ended. Done reports whether it has swept all persistence
	// ids.
	Over, Done bool
}

// StreamsOptions are the options of [Streams]. The zero value has the defaults.
type StreamsOptions struct {
	// LeaseTimeout is the time without a renewal after which the lease of a shard expires. Its
	// process then counts as dead, and another one reads the shard. Lower it to continue sooner
	// after a crash; leases are renewed six times as often.
	//
	// At least 100 milliseconds. Defaults to 30 seconds.
	LeaseTimeout time.Duration

	// PerSecond is [SweepOptions].PerSecond for the sweeps that a stream needs.
	//
	// Negative means no limit. Defaults to 100.
	PerSecond float64

	// Poll is the time from one read of an idle shard to the next, including the time of the
	// request. A longer one needs fewer requests while the stream is idle; a shorter one finds
	// events sooner.
	//
	// Defaults to 250 milliseconds.
	Poll time.Duration
}

// Streams returns a source that reads the stream of the journal table. Writers pay nothing for it.
// The processes of a group share the shards of the stream by leases in the projections table.
//
// Processes that run other projections than the rest of the group, as during a deployment, read the
// stream on their own. A group starts with the oldest record in the stream, and a sweep. It sweeps
// again when the table has a new stream, and when records were trimmed before they were read, or
// may have been, because the group did not run or could not read for 12 hours.
func Streams(client *dynamodbstreams.Client, opts StreamsOptions) Source {
	return engine.NewSource[Source](&stream.Streams{Client: client, LeaseTimeout: opts.LeaseTimeout, Poll: opts.Poll, Pace: opts.PerSecond})
}
