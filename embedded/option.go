package embedded

import (
	"context"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Option changes how an engine is opened.
type Option func(*options)

type options struct {
	clock func() time.Time
	fs    vfs.FS
	sweep time.Duration
	// sleep waits for slow answers.
	sleep      func(ctx context.Context, d time.Duration) error
	seed       uint64
	faults     []Fault
	throughput bool
	missing    []Feature
}

// WithClock makes the engine take the time from now instead of the system: for time to live, the
// life of idempotency tokens, creation dates, throughput and the age of stale answers. The function
// is called from many goroutines.
func WithClock(now func() time.Time) Option {
	return func(o *options) { o.clock = now }
}

// WithFS makes Open keep its folder in fs instead of the operating system's files, for example in
// Pebble's crashable in-memory file system. OpenMemory ignores it.
func WithFS(fs vfs.FS) Option {
	return func(o *options) { o.fs = fs }
}

// WithSweepInterval sets how often expired items of tables with time to live are deleted; the
// default is one minute. An interval of zero or less leaves that to SweepExpired.
func WithSweepInterval(interval time.Duration) Option {
	return func(o *options) { o.sweep = interval }
}
