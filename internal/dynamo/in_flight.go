package dynamo

import (
	"runtime"
	"time"
)

const (
	// Busy is how many requests of a group are always in flight before further writes gather.
	Busy = 2
	// putTime is about what a PutItem takes of the client's processor time.
	putTime = 130 * time.Microsecond
	// aloneShare is the part of the processors' time that requests of single writes may take: one
	// in aloneShare.
	aloneShare = 3
	// inFlightPeriod is after how many requests an earlier shortest one is forgotten.
	inFlightPeriod = 100
)

// inFlightLimit is how many requests of a group may be in flight before further writes gather.
//
// A write that gathers waits for another request, and a write that is sent alone takes processor
// time. So as many writes are sent alone as the processors have time for. By Little's law the
// requests in flight are those of a second times how long each takes. The shortest of the last
// requests is taken for that, as others have waited for the processors, too: the limit must not
// rise because they are busy.
//
// It is not safe for concurrent use.
type inFlightLimit struct {
	now, least, most int
	processors       int
	// shortest is the shortest request of this period, before that of the one before it; 0 is none.
	shortest, before time.Duration
	requests         int // of this period
}

func newInFlightLimit(most int) inFlightLimit {
	least := min(Busy, most)
	return inFlightLimit{now: least, least: least, most: most, processors: runtime.GOMAXPROCS(0)}
}

// took takes note of how long a request took that has succeeded.
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
