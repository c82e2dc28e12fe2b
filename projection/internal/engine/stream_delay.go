package engine

import (
	"sync"
	"sync/atomic"
	"time"
)

// StreamDelay is how far the reading of a stream is behind, in a process.
type StreamDelay struct {
	mu sync.Mutex
	// received is, for each shard that the process reads, up to when its records were received.
	received map[string]time.Time
	// failing is since when the shards and leases could not be read. It is the zero Time if they
	// can.
	failing time.Time

	// Trimmed is how often records were trimmed before they were read, or may have been.
	Trimmed atomic.Int64
}

// Read notes that the records of a shard were received up to a time.
func (d *StreamDelay) Read(shard string, upTo time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.received == nil {
		d.received = map[string]time.Time{}
	}
	d.received[shard] = upTo
}

// End notes that the process does not read a shard any more.
func (d *StreamDelay) End(shard string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.received, shard)
}

// Looked notes whether the shards and leases could be read.
func (d *StreamDelay) Looked(now time.Time, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		d.failing = time.Time{}
	case d.failing.IsZero():
		d.failing = now
	}
}

// at returns the delay of the shard that is the farthest behind.
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
