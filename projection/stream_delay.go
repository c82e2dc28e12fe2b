package projection

import (
	"sync"
	"sync/atomic"
	"time"
)

// streamDelay is how far the reading of a stream is behind, in a process.
type streamDelay struct {
	mu sync.Mutex
	// received is, for each shard that the process reads, up to when its records were received.
	received map[string]time.Time
	// failing is since when the shards and leases could not be read. It is the zero Time if they
	// can.
	failing time.Time

	// trimmed is how often records were trimmed before they were read, or may have been.
	trimmed atomic.Int64
}

// read notes that the records of a shard were received up to a time.
func (d *streamDelay) read(shard string, upTo time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.received == nil {
		d.received = map[string]time.Time{}
	}
	d.received[shard] = upTo
}

// end notes that the process does not read a shard any more.
func (d *streamDelay) end(shard string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.received, shard)
}

// looked notes whether the shards and leases could be read.
func (d *streamDelay) looked(now time.Time, err error) {
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
func (d *streamDelay) at(now time.Time) time.Duration {
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
