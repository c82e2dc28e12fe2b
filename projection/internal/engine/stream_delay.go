package engine

import (
	"sync"
	"sync/atomic"
	"time"
)

// StreamDelay measures the delay with which a process reads a stream.
type StreamDelay struct {
	mu sync.Mutex
	// received has, for each shard that the process reads, the time up to which its records were
	// received.
	received map[string]time.Time
	// failing is when the shards and leases first could not be read. It is zero if they can be
	// read.
	failing time.Time

	// Trimmed counts how often records were trimmed before they were read, or may have been.
	Trimmed atomic.Int64
}

// Read records that a shard's records were received up to a time.
func (d *StreamDelay) Read(shard string, upTo time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.received == nil {
		d.received = map[string]time.Time{}
	}
	d.received[shard] = upTo
}

// End records that the process no longer reads a shard.
func (d *StreamDelay) End(shard string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.received, shard)
}

// Polled records whether the shards and leases could be read.
func (d *StreamDelay) Polled(now time.Time, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		d.failing = time.Time{}
	case d.failing.IsZero():
		d.failing = now
	}
}

// shards returns the number of shards that the process reads.
func (d *StreamDelay) shards() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.received)
}

// at returns the delay of the slowest shard.
func (d *StreamDelay) at(now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	var delay time.Duration
	if !d.failing.IsZero() {
		delay = now.Sub(d.failing)
	}
	for _, upTo := range d.received {
		delay = max(delay, now.Sub(upTo))
	}
	return max(delay, 0)
}
