package dynamo

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// maxStatements is DynamoDB's limit on the statements of a BatchExecuteStatement.
	maxStatements = 25
	// maxGroupBytes bounds the size of a request's items. It is far below DynamoDB's limits: large
	// items do not gain from sharing, and all writers of a request wait until it is sent.
	maxGroupBytes = 1 << 20
)

// GroupOptions configure a [Group]. All fields are required, unless their comment says otherwise.
type GroupOptions struct {
	Table string
	// Context bounds all requests of the group. A writer's context does not end a request.
	Context context.Context //nolint:containedctx // it lives as long as the group
	// Off sends every item in a separate request.
	Off bool
	// IndexBytes returns the size in bytes of an item's index entry, or 0 if the item is not in the
	// index. Nil means that the table has no index. It is called from many goroutines, to divide
	// the units of a shared request.
	IndexBytes func(item Attributes) int
	// Refused is called when the service refuses PartiQL and sharing stops: for a while if access
	// was denied, otherwise permanently.
	Refused  func(error)
	Accepted func()
}

// Group inserts items at keys that must not exist, and lets writers share requests (group commit).
// It is safe for concurrent use.
//
//   - While fewer requests are in flight than an inFlightLimit allows, a write is sent at once, a
//     single item as a PutItem. Otherwise it waits with other writes. They are sent together as
//     soon as one of the requests in flight has ended, or when the waiting writes fill a request.
//     No write waits for a timer. docs/decisions/0008-group-commit.md has the measurements.
//   - The items of one write stay together if they fit in one request. Writes of one persistence id
//     never share a request, so a request never has the same key twice.
//   - Each item has its own outcome, and its own retries within the retries of the request.
//   - Requests belong to the group. A writer whose context ends withdraws its unsent items, and
//     does not affect other writers.
//   - The number of waiting writes is bounded by the number of callers, each of which has one write
//     in progress.
type Group struct {
	client     *Client
	opts       GroupOptions
	statements statements
	sharing    sharing
	// work counts the group's goroutines. A goroutine that has sent a request waits for the next
	// one, because its stack has grown. wake passes it the parts to send, or nil for the parts that
	// wait at that time.
	work    sync.WaitGroup
	wake    chan []*part
	closing sync.Once

	mu sync.Mutex
	// waiting holds the parts that are not sent yet. items and bytes are their totals.
	waiting      []*part
	items, bytes int
	sending      int // requests in flight
	limit        inFlightLimit
	idle         int // goroutines that receive from wake
}

// NewGroup returns a group. Close it when the last [Insertion] is done.
func (c *Client) NewGroup(opts GroupOptions) *Group {
	g := &Group{
		client: c, opts: opts, statements: statements{table: opts.Table},
		wake: make(chan []*part, c.opts.MaxInFlight), limit: newInFlightLimit(c.opts.MaxInFlight),
	}
	if opts.Off {
		g.sharing.forbid()
	}
	return g
}

// Close stops the group's goroutines, and waits until they have finished. It can be called twice.
func (g *Group) Close() {
	g.closing.Do(func() { close(g.wake) })
	g.work.Wait()
}

// add enqueues an insertion, and starts the requests that may be sent. An insertion that does not
// fit in one request is sent at once, with all its parts.
func (g *Group) add(s *Insertion) {
	if g.client.Observes() {
		s.added = time.Now()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	parts := g.enqueue(s)
	if g.sending < g.limit.now {
		g.start(nil)
	}
	for len(g.waiting) > 0 && g.sending < g.client.opts.MaxInFlight && (parts > 1 || g.full()) {
		g.start(g.take())
	}
}

// start sends a request in an idle goroutine or a new one. With nil, the goroutine sends the parts
// that wait when it runs.
func (g *Group) start(parts []*part) {
	g.sending++
	if g.idle > 0 {
		g.idle--
		g.wake <- parts
		return
	}
	g.work.Go(func() {
		g.send(parts)
		for parts := range g.wake {
			g.send(parts)
		}
	})
}

// maxItems returns the largest number of items in a request: one while writers do not share
// requests.
func (g *Group) maxItems() int {
	if g.sharing.allowed() {
		return maxStatements
	}
	return 1
}

// enqueue splits an insertion into parts that each fit in a request, and appends them to waiting.
// It returns the number of parts.
func (g *Group) enqueue(s *Insertion) int {
	parts, most := 0, g.maxItems()
	if s.Condition == "" {
		most = 1
	}
	for from := 0; from < len(s.Items); parts++ {
		p := &s.first
		if parts > 0 {
			p = &part{}
		}
		*p = part{s, from, from + 1, s.Sizes[from]}
		for p.to < len(s.Items) && p.to-from < most && p.bytes+s.Sizes[p.to] <= maxGroupBytes {
			p.bytes += s.Sizes[p.to]
			p.to++
		}
		g.waiting = append(g.waiting, p)
		g.items += p.to - from
		g.bytes += p.bytes
		from = p.to
	}
	return parts
}

// full reports whether the waiting parts fill a request.
func (g *Group) full() bool { return g.items >= g.maxItems() || g.bytes >= maxGroupBytes }

// take removes the parts of the next request from waiting, the oldest first.
func (g *Group) take() []*part {
	taken := make([]*part, 0, min(len(g.waiting), maxStatements))
	items, bytes, most := 0, 0, g.maxItems()
	sameID := func(p *part) bool {
		return slices.ContainsFunc(taken, func(t *part) bool { return t.ID == p.ID })
	}
	fits := func(p *part) bool {
		return len(taken) == 0 || items+p.to-p.from <= most && bytes+p.bytes <= maxGroupBytes &&
			p.Condition != "" && taken[0].Condition != "" && !sameID(p)
	}
	rest := g.waiting[:0]
	for i, p := range g.waiting {
		if items >= most {
			rest = append(rest, g.waiting[i:]...)
			break
		}
		if !fits(p) {
			rest = append(rest, p)
			continue
		}
		taken = append(taken, p)
		items += p.to - p.from
		bytes += p.bytes
	}
	clear(g.waiting[len(rest):])
	g.waiting = rest
	g.items -= items
	g.bytes -= bytes
	return taken
}

// send sends one request after the other until no parts are to be sent. Further attempts run in a
// separate goroutine: a pause does not count as a request in flight, and other requests do not wait
// for it.
func (g *Group) send(parts []*part) {
	if parts == nil {
		parts = g.next()
	}
	for parts != nil {
		r := g.request(parts)
		if r.first() {
			g.work.Go(r.further)
		}
		if len(parts) > 1 {
			// Let the writers that got their outcome write again, and share the next request.
			runtime.Gosched()
		}
		parts = g.next()
	}
}

// next returns the parts to send after a request has ended. It returns nil if there are none, and
// then counts the goroutine as idle.
func (g *Group) next() []*part {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 || g.sending > g.limit.now && !g.full() {
		g.sending--
		g.idle++
		return nil
	}
	return g.take()
}

// took records the duration of a successful request.
func (g *Group) took(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit.took(d)
}
