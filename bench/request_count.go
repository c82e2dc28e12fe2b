package bench

import (
	"context"
	"sync/atomic"

	"github.com/dynajournal/dynajournal"
)

// requestCount is a hook that counts the requests of a journal and their capacity units.
type requestCount struct {
	requests, reads, writes atomic.Int64 // reads and writes are in half units
}

// OnRequest counts a request.
func (c *requestCount) OnRequest(_ context.Context, r dynajournal.Request) {
	c.requests.Add(int64(r.Cost.Requests))
	c.reads.Add(int64(r.Cost.ReadUnits * 2))
	c.writes.Add(int64(r.Cost.WriteUnits * 2))
}

// cost returns the cost counted so far.
func (c *requestCount) cost() dynajournal.Cost {
	return dynajournal.Cost{
		Requests:   int(c.requests.Load()),
		ReadUnits:  float64(c.reads.Load()) / 2,
		WriteUnits: float64(c.writes.Load()) / 2,
	}
}
