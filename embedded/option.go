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
	// streamShards is how many shards a new stream has.
	streamShards int
}

// WithClock replaces the system clock by now: for time to live, the life of idempotency tokens,
// creation dates, throughput and the age of stale reads. It is called concurrently.
func WithClock(now func() time.Time) Option {
	return func(o *options) { o.clock = now }
}

// WithFS makes Open keep its folder in fs instead of the operating system's file system, for
// example in Pebble's crashable in-memory file system. OpenMemory ignores it.
func WithFS(fs vfs.FS) Option {
	return func(o *options) { o.fs = fs }
}

// WithSweepInterval sets how often the engine deletes expired items. Defaults to one minute. With
// an interval of zero or less, only SweepExpired deletes them.
func WithSweepInterval(interval time.Duration) Option {
	return func(o *options) { o.sweep = interval }
}

// WithStreamShards sets how many shards a new stream has: one for each part of the partition keys.
// Set it to test that a consumer reads all of them. Defaults to 1; less than 1 is 1.
func WithStreamShards(n int) Option {
	return func(o *options) { o.streamShards = n }
}
