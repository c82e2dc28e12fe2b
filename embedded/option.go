package embedded

import (
	"context"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Option configures an engine.
type Option func(*options)

type options struct {
	clock func() time.Time
	fs    vfs.FS
	sweep time.Duration
	// sleep waits before slow responses.
	sleep      func(ctx context.Context, d time.Duration) error
	seed       uint64
	faults     []Fault
	throughput bool
	missing    []Feature
	// streamShards is the number of shards of a new stream.
	streamShards int
}

// WithClock replaces the system clock with now: for time to live, the expiry of idempotency tokens,
// creation dates, throughput and the age of stale reads. The engine calls now concurrently.
func WithClock(now func() time.Time) Option {
	return func(o *options) { o.clock = now }
}

// WithFS makes Open use fs instead of the operating system's file system, for example Pebble's
// crashable in-memory file system. OpenMemory ignores it.
func WithFS(fs vfs.FS) Option {
	return func(o *options) { o.fs = fs }
}

// WithSweepInterval sets how often the engine deletes expired items. Defaults to one minute. With
// an interval of zero or less, only [Engine.SweepExpired] deletes them.
func WithSweepInterval(interval time.Duration) Option {
	return func(o *options) { o.sweep = interval }
}

// WithStreamShards sets the number of shards of a new stream. Each shard gets a part of the
// partition keys. Use it to test that a consumer reads all shards. Defaults to 1; a smaller n also
// means 1.
func WithStreamShards(n int) Option {
	return func(o *options) { o.streamShards = n }
}
