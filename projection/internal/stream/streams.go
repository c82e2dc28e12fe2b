// Package stream reads the stream of the journal table for a group of projections. The processes of
// the group share the shards of the stream by leases in the projections table.
package stream

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
	"golang.org/x/sync/semaphore"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/backoff"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// The defaults of reading a stream.
const (
	defaultLeaseTimeout = 30 * time.Second
	DefaultStreamPoll   = 250 * time.Millisecond
)

// Streams is the source that reads the stream of the journal table.
type Streams struct {
	Client *dynamodbstreams.Client
	// LeaseTimeout, Poll and Pace are LeaseTimeout, Poll and PerSecond of StreamsOptions.
	LeaseTimeout, Poll time.Duration
	Pace               float64
}

// Check checks the options, and fills in the defaults.
func (s *Streams) Check() error {
	if s.Client == nil {
		return engine.Argument("client", nil, "it must be a client for streams")
	}
	if s.LeaseTimeout == 0 {
		s.LeaseTimeout = defaultLeaseTimeout
	}
	if s.Poll == 0 {
		s.Poll = DefaultStreamPoll
	}
	switch {
	case s.LeaseTimeout < engine.MinClaimTimeout:
		return engine.Argument("StreamsOptions.LeaseTimeout", s.LeaseTimeout, fmt.Sprintf("it must be at least %v", engine.MinClaimTimeout))
	case s.Poll < 0:
		return engine.Argument("StreamsOptions.Poll", s.Poll, "it must not be negative")
	}
	sweep := &engine.Sweep{Pace: s.Pace}
	err := sweep.Check()
	s.Pace = sweep.Pace
	return err
}

// PerSecond returns the limit of the sweeps that a stream needs.
func (s *Streams) PerSecond() float64 { return s.Pace }

// Kind names the source in the registry.
func (s *Streams) Kind() string { return engine.SourceStreams }

// Consumer reads a stream in a process.
type Consumer struct {
	*Streams

	Group *engine.Group
	to    *engine.Schedule
	Arn   string
	// set is the key of the item that all consumers of the same projections share. It is the prefix
	// of the keys of leases.
	set string
	// worker names the process in leases.
	worker string
	// slots limits unfinished work to Config.MaxWaiting: one slot for each page that the checkpoint
	// has not passed, and one for each of its persistence ids that is not done. The shards share
	// the slots.
	slots *semaphore.Weighted
	// ended wakes the next pass when a shard has ended.
	ended   chan struct{}
	readers sync.WaitGroup

	// states has the shards that this process knows, with the state of their leases. Only passes
	// use it, one after the other.
	states map[string]leaseState
	// undeletable is set after a policy has denied the deletion of a lease.
	undeletable bool

	mu sync.Mutex
	// reading has the shards whose leases the process has.
	reading map[string]bool
	// seen has the leases of other processes, by shard.
	seen map[string]sighting
}

// sighting is a version of a lease, and when it was first seen.
type sighting struct {
	worker string
	beat   int64
	at     time.Time
}

// ErrStreamOver reports that the stream was disabled or replaced.
var ErrStreamOver = errors.New("the stream was disabled")

// Feed reads the stream until ctx ends. If another stream replaces it, Feed continues with that.
// The error is ErrNoStream if the table no longer has a stream.
func (s *Streams) Feed(ctx context.Context, g *engine.Group, to *engine.Schedule) error {
	for {
		var arn string
		if err := g.RetryStart(ctx, func(ctx context.Context) error {
			var err error
			arn, err = awaitStream(ctx, g.Journal)
			return err
		}); err != nil {
			return err
		}
		if err := s.follow(ctx, g, to, arn); !errors.Is(err, ErrStreamOver) {
			return err
		}
		if err := backoff.Wait(ctx, s.LeaseTimeout/engine.Renewals); err != nil {
			return nil //nolint:nilerr // the group is stopping
		}
	}
}

// follow reads a stream until ctx or the stream ends.
func (s *Streams) follow(ctx context.Context, g *engine.Group, to *engine.Schedule, arn string) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	c := &Consumer{
		Streams: s, Group: g, to: to, Arn: arn,
		set:    g.Table.JournalName + "\x00" + g.Config.Name + "\x00" + g.SetID(),
		worker: uuid.NewString(), ended: make(chan struct{}, 1),
		slots:  semaphore.NewWeighted(int64(g.Config.MaxWaiting)),
		states: map[string]leaseState{}, reading: map[string]bool{}, seen: map[string]sighting{},
	}
	defer c.readers.Wait()
	defer fail(nil) // before the readers are waited for
	read := false   // whether the leases and the shards could be read once
	for {
		err := c.pass(ctx)
		read = read || err == nil
		if ctx.Err() == nil { // else the group is stopping, and the stream has not failed
			g.StreamDelay.Polled(g.Now(), err)
		}
		switch {
		case ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.Canceled):
			return context.Cause(ctx)
		case ctx.Err() != nil:
			return nil
		case err != nil && (g.Fatal(err) || Denied(err) && !read || errors.Is(err, ErrStreamOver)):
			return err
		case err != nil:
			c.log(ctx, "the leases of a stream could not be read", "stream.leases_unreadable", "", err)
		}
		timer := time.NewTimer(s.LeaseTimeout / engine.Renewals)
		select {
		case <-timer.C:
		case <-c.ended:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// Denied reports whether a policy has denied a request to the stream.
func Denied(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && strings.HasPrefix(api.ErrorCode(), "AccessDenied")
}

// ARN returns the ARN of the stream of a journal's table.
func ARN(ctx context.Context, journal *dynajournal.Journal) (string, error) {
	found, err := engine.FindStream(ctx, journal)
	if err == nil && found.ARN == "" {
		err = fmt.Errorf("table %q: %w", core.Of(journal).Table, engine.ErrNoStream)
	}
	return found.ARN, err
}

// awaitStream is ARN for a reader that starts. The description of the table may not have a new
// stream yet, so it retries a missing stream for dynamo.DescriptionLag.
func awaitStream(ctx context.Context, journal *dynajournal.Journal) (string, error) {
	start := time.Now()
	for {
		arn, err := ARN(ctx, journal)
		if !errors.Is(err, engine.ErrNoStream) || time.Since(start) > dynamo.DescriptionLag {
			return arn, err
		}
		if err := backoff.Wait(ctx, streamPause); err != nil {
			return "", err
		}
	}
}

// streamPause is the pause before awaitStream retries a missing stream.
const streamPause = time.Second

// log logs that something is tried again.
func (c *Consumer) log(ctx context.Context, text, event, shard string, err error) {
	c.Group.Config.Logger.LogAttrs(ctx, slog.LevelWarn, text, slog.String("event", event), slog.String("group", c.Group.Config.Name),
		slog.String("shard", shard), slog.Any("error", err))
}
