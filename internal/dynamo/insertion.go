package dynamo

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
)

// Insert describes the items of one persistence id that a writer inserts.
type Insert struct {
	ID    string
	Items []Attributes
	// Sizes are the sizes of Items in bytes.
	Sizes []int
	// Condition is the condition expression of an item that is sent as a PutItem. It requires that
	// the key does not exist, as an INSERT always does. With an empty Condition, the item replaces
	// an existing one and is never in a shared request.
	Condition string
	// Before, if set, is called with the current time before every attempt, after the wait for a
	// connection. If it returns an error, the items are not sent in that attempt, and end with that
	// error. The outcome of an earlier attempt can stay unknown. The other writers of the request
	// are not affected.
	Before func(now clock.Moment) error
}

// Insertion is an Insert in progress.
type Insertion struct {
	Insert

	group *Group
	ctx   context.Context //nolint:containedctx // for its values, in a separate request
	meter *Meter
	// added is when the insertion was enqueued. It is zero if nothing observes requests.
	added time.Time

	outcomes []error
	left     atomic.Int32 // items without an outcome
	done     chan struct{}
	// first is the first part, outcome the outcome of a single item. They save allocations.
	first   part
	outcome [1]error
}

// part is a section of an insertion that fits in a request: the items from index from up to, but
// not including, index to. bytes is their size.
type part struct {
	*Insertion

	from, to, bytes int
}

// Insert starts an insertion. A request that serves several writers is charged to one of their
// meters; the units of an item are charged to the meter of its writer. The cost is final when the
// insertion is done. If the service reports only the sum of a shared request, the units of an item
// are computed from its size.
func (g *Group) Insert(ctx context.Context, m *Meter, in Insert) *Insertion {
	s := &Insertion{Insert: in, group: g, ctx: ctx, meter: m, done: make(chan struct{})}
	if s.outcomes = s.outcome[:]; len(in.Items) > 1 {
		s.outcomes = make([]error, len(in.Items))
	}
	s.left.Store(int32(len(in.Items)))
	g.add(s)
	return s
}

// Done returns a channel that is closed when every item has its outcome.
func (s *Insertion) Done() <-chan struct{} { return s.done }

// Outcomes returns the outcome of each item, once Done is closed: nil, or an error as [Client.Put]
// returns. The error of a failed condition may lack the item for [OldItem].
func (s *Insertion) Outcomes() []error { return s.outcomes }

// finish sets the outcome of an item.
func (s *Insertion) finish(i int, err error) {
	s.outcomes[i] = err
	if s.left.Add(-1) == 0 {
		close(s.done)
	}
}

// Withdraw removes the items that are not being sent yet. From then on, Before must return an
// error.
func (s *Insertion) Withdraw() {
	g := s.group
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(p *part) bool {
		mine := p.Insertion == s
		if mine {
			g.items -= p.to - p.from
			g.bytes -= p.bytes
		}
		return mine
	})
}
