package projection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"
	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// StreamsOptions are the options of reading a stream. The zero value has the defaults.
type StreamsOptions struct {
	// LeaseTimeout is how long the lease of a shard must not move before its process counts as
	// dead, and another one reads the shard. Lower it to go on sooner after a crash; leases are
	// renewed six times as often.
	//
	// At least 100 milliseconds. Defaults to 30 seconds.
	LeaseTimeout time.Duration

	// PerSecond is SweepOptions.PerSecond, for the sweeps that a stream needs.
	//
	// Negative is no limit. Defaults to 100.
	PerSecond float64

	// Poll is the pause after an answer without records. It bounds how soon an event is handled,
	// and how many requests an idle stream costs.
	//
	// Defaults to 250 milliseconds.
	Poll time.Duration
}

// The defaults of reading a stream.
const (
	defaultLeaseTimeout = 30 * time.Second
	defaultStreamPoll   = 250 * time.Millisecond
)

// renewals is how often a lease is renewed within StreamsOptions.LeaseTimeout.
const renewals = 6

// trustedFor is how long a consumer of a stream may be away without a sweep. A stream keeps records
// for 24 hours.
const trustedFor = 12 * time.Hour

// Streams returns a source that reads the stream of the journal table. Writers pay nothing for it.
// The processes of a group share the shards of the stream by leases in the projections table.
//
// Processes that run other projections than the rest of the group, as during a deployment, read the
// stream on their own. A group begins with the oldest record that the stream has, and a sweep. It
// sweeps again when records were trimmed before they were read, or may have been as it was away or
// could not read for 12 hours, and when the table has a new stream.
func Streams(client *dynamodbstreams.Client, opts StreamsOptions) Source {
	return &streams{client, opts}
}

type streams struct {
	client *dynamodbstreams.Client
	StreamsOptions
}

func (s *streams) check() error {
	if s.client == nil {
		return argument("client", nil, "it must be a client for streams")
	}
	if s.LeaseTimeout == 0 {
		s.LeaseTimeout = defaultLeaseTimeout
	}
	if s.Poll == 0 {
		s.Poll = defaultStreamPoll
	}
	switch {
	case s.LeaseTimeout < minClaimTimeout:
		return argument("StreamsOptions.LeaseTimeout", s.LeaseTimeout, fmt.Sprintf("it must be at least %v", minClaimTimeout))
	case s.Poll < 0:
		return argument("StreamsOptions.Poll", s.Poll, "it must not be negative")
	}
	sweep := &sweep{SweepOptions{PerSecond: s.PerSecond}}
	err := sweep.check()
	s.PerSecond = sweep.PerSecond
	return err
}

func (s *streams) perSecond() float64 { return s.PerSecond }

func (s *streams) kind() string { return sourceStreams }

// consumer reads a stream in a process.
type consumer struct {
	*streams

	group *Group
	to    *schedule
	arn   string
	// set is the key of the item of all consumers of the same projections; leases are below it.
	set string
	// worker names the process in leases.
	worker string
	// ended wakes the next pass when a shard has ended.
	ended   chan struct{}
	readers sync.WaitGroup
	fail    func(error)

	// settled are the shards that this process knows, and what it knows of their leases. Passes
	// alone use it, one after the other.
	settled map[string]settlement
	// undeletable is set when this process was denied to delete a lease.
	undeletable bool

	mu sync.Mutex
	// held are the shards whose leases the process has.
	held map[string]bool
	// seen are the leases of others, as they were first seen.
	seen map[string]sighting
}

// sighting is a lease that was seen, and when it was first.
type sighting struct {
	worker string
	beat   int64
	at     time.Time
}

// errStreamOver reports that the stream was disabled or replaced.
var errStreamOver = errors.New("the stream was disabled")

// feed reads the stream until ctx ends. If it is replaced by another one, that is read on. The
// error is ErrNoStream if there is none any more.
func (s *streams) feed(ctx context.Context, g *Group, to *schedule) error {
	for {
		var arn string
		if err := g.begin(ctx, func(ctx context.Context) error {
			var err error
			arn, err = awaitStream(ctx, g.journal)
			return err
		}); err != nil {
			return err
		}
		if err := s.follow(ctx, g, to, arn); !errors.Is(err, errStreamOver) {
			return err
		}
		if err := backoff.Wait(ctx, s.LeaseTimeout/renewals); err != nil {
			return nil //nolint:nilerr // that is how a group ends
		}
	}
}

// follow reads a stream until ctx or the stream ends.
func (s *streams) follow(ctx context.Context, g *Group, to *schedule, arn string) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	c := &consumer{
		streams: s, group: g, to: to, arn: arn,
		set:    g.table.journalName + "\x00" + g.config.Name + "\x00" + g.setID(),
		worker: uuid.NewString(), ended: make(chan struct{}, 1), fail: fail,
		settled: map[string]settlement{}, held: map[string]bool{}, seen: map[string]sighting{},
	}
	defer c.readers.Wait()
	defer fail(nil) // before the readers are waited for
	for {
		err := c.pass(ctx)
		if ctx.Err() == nil { // else the group ends, which is no failure of the stream
			g.streamDelay.looked(g.now(), err)
		}
		switch {
		case ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.Canceled):
			return context.Cause(ctx)
		case ctx.Err() != nil:
			return nil
		case err != nil && (ends(err) || denied(err) || errors.Is(err, errStreamOver)):
			return err
		case err != nil:
			c.log(ctx, "the leases of a stream could not be read", "", err)
		}
		timer := time.NewTimer(s.LeaseTimeout / renewals)
		select {
		case <-timer.C:
		case <-c.ended:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// denied reports whether a request to the stream has failed for want of a permission.
func denied(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && strings.HasPrefix(api.ErrorCode(), "AccessDenied")
}

// findStream describes the stream of a journal's table.
func findStream(ctx context.Context, journal *dynajournal.Journal) (provision.Stream, error) {
	var found provision.Stream
	err := core.Of(journal).Requests(ctx, func(ctx context.Context, client *dynamo.Client) error {
		var err error
		found, err = provision.FindStream(ctx, client, core.Of(journal).Table)
		return err
	})
	return found, err
}

// streamOf returns the ARN of the stream of a journal's table.
func streamOf(ctx context.Context, journal *dynajournal.Journal) (string, error) {
	found, err := findStream(ctx, journal)
	if err == nil && found.ARN == "" {
		err = fmt.Errorf("table %q: %w", core.Of(journal).Table, ErrNoStream)
	}
	return found.ARN, err
}

// awaitStream is streamOf for a reader that begins. A new stream may not be described yet, so a
// missing one is asked for again, for dynamo.DescriptionLag.
func awaitStream(ctx context.Context, journal *dynajournal.Journal) (string, error) {
	began := time.Now()
	for {
		arn, err := streamOf(ctx, journal)
		if !errors.Is(err, ErrNoStream) || time.Since(began) > dynamo.DescriptionLag {
			return arn, err
		}
		if err := backoff.Wait(ctx, streamPause); err != nil {
			return "", err
		}
	}
}

// streamPause is the pause before a missing stream is asked for again.
const streamPause = time.Second

// log logs that something is tried again.
func (c *consumer) log(ctx context.Context, text, shard string, err error) {
	c.group.config.Logger.LogAttrs(ctx, slog.LevelWarn, text, slog.String("group", c.group.config.Name),
		slog.String("shard", shard), slog.Any("error", err))
}
