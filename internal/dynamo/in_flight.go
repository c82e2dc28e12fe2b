package dynamo

import (
	"runtime"
	"time"
)

const (
	// Busy is the number of requests of a group that may always be in flight before further writes
	// wait for each other.
	Busy = 2
	// putTime is roughly the client's processor time for a PutItem.
	putTime = 130 * time.Microsecond
	// Requests of single writes may take 1/aloneShare of the processors' time.
	aloneShare = 3
	// inFlightPeriod is the number of requests over which the shortest duration is measured.
	inFlightPeriod = 100
)

// inFlightLimit computes the number of requests of a group that may be in flight before further
// writes wait for each other and share a request.
//
// A write that shares a request waits for another request to end, and a write that is sent alone
// takes processor time. So as many writes are sent alone as the processors have time for. By
// Little's law, the number of requests in flight is the requests per second times the duration of a
// request. The duration is taken from the shortest of the last requests, because other requests
// have also waited for the processors: the limit must not rise because the processors are busy.
//
// It is not safe for concurrent use.
type inFlightLimit struct {
	now, least, most int
	processors       int
	// shortest is the shortest duration of a request in this period, before the shortest in the
	// period before. Zero means unset.
	shortest, before time.Duration
	requests         int // of this period
}

func newInFlightLimit(most int) inFlightLimit {
	least := min(Busy, most)
	return inFlightLimit{now: least, least: least, most: most, processors: runtime.GOMAXPROCS(0)}
}

// took records the duration of a successful request.
func (l *inFlightLimit) took(d time.Duration) {
	d = max(d, 1)
	if l.requests == inFlightPeriod {
		l.before, l.shortest, l.requests = l.shortest, 0, 0
	}
	l.requests++
	if l.shortest == 0 || d < l.shortest {
		l.shortest = d
	}
	shortest := l.shortest
	if l.before > 0 {
		shortest = min(shortest, l.before)
	}
	alone := int64(shortest) * int64(l.processors) / int64(aloneShare*putTime)
	l.now = int(min(max(alone, int64(l.least)), int64(l.most)))
}
