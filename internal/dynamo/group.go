package dynamo

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// maxStatements is DynamoDB's limit of a BatchExecuteStatement.
	maxStatements = 25
	// maxGroupBytes bounds the items of a request. It is far below DynamoDB's limits: large items
	// gain nothing by sharing, and all writers of a request wait until it is sent.
	maxGroupBytes = 1 << 20
)

// GroupOptions configure a Group. All fields are required, unless they say otherwise.
type GroupOptions struct {
	Table string
	// Context bounds all requests of the group. The context of a writer does not end a request.
	Context context.Context //nolint:containedctx // it lives as long as the group
	// Off puts every item in a request of its own.
	Off bool
	// IndexBytes returns the size in bytes of an item's entry in an index, 0 for none. nil is no
	// index. It is called to divide the units of a shared request, from many goroutines.
	IndexBytes func(item Attributes) int
	// Refused is called when the service refuses PartiQL and sharing ends: for a while if access
	// was denied, else for good. Accepted is called when the service accepts it again, if set.
	Refused  func(error)
	Accepted func()
}

// Group inserts items at keys that must not exist, and lets writers share requests (group commit).
// It is safe for concurrent use.
//
//   - While fewer requests are in flight than an [inFlightLimit] allows, a write is sent at once, a
//     single item as a PutItem. Otherwise it gathers with others, and is sent with them as soon as
//     one of those requests has ended, or a whole request has gathered. Nothing waits for a time.
//     docs/decisions/0008-group-commit.md has the measurements.
//   - The items of one write stay together, as far as a request holds them. Writes of one
//     persistence id never share a request, so no key is in it twice.
//   - Each item has its own outcome, and its own retries within those of the request.
//   - Requests belong to the group: a writer whose context ends withdraws its items that were not
//     sent, and does not affect those of others.
//   - What gathers is bounded by the callers, each of which has one write in progress.
type Group struct {
	client     *Client
	opts       GroupOptions
	statements statements
	sharing    sharing
	// work counts the group's goroutines. One that has sent a request stays for the next, as its
	// stack has grown. wake gives it what to send, nil for what waits then.
	work    sync.WaitGroup
	wake    chan []*part
	closing sync.Once

	mu sync.Mutex
	// waiting are the parts that gather; items and bytes are their sums.
	waiting      []*part
	items, bytes int
	sending      int // requests in flight
	limit        inFlightLimit
	idle         int // goroutines that wait for wake
}

// NewGroup returns a group. Close it after the last Insertion is done.
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

// Close ends the group's goroutines, and waits until they have done their work. It can be called
// twice.
func (g *Group) Close() {
	g.closing.Do(func() { close(g.wake) })
	g.work.Wait()
}

// add lets an insertion wait, and starts the requests that may be sent. An insertion larger than a
// request is sent at once, with all its parts.
func (g *Group) add(s *Insertion) {
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

// start sends a request in an idle goroutine or a new one; nil sends what waits then.
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

// maxItems returns how many items a request holds: one while writers do not share requests.
func (g *Group) maxItems() int {
	if g.sharing.allowed() {
		return maxStatements
	}
	return 1
}

// enqueue lets an insertion wait, in parts of as many items as a request holds. It returns the
// number of parts.
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

// full reports whether a whole request has gathered.
func (g *Group) full() bool { return g.items >= g.maxItems() || g.bytes >= maxGroupBytes }

// take removes the parts of the next request from those that wait, the longest waiting first.
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

// send sends one request after the other while any is to be sent. Further attempts get a goroutine
// of their own: a pause is not a request in flight, and others do not wait for it.
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
			// The writers that got their outcome may write again, and share the next request.
			runtime.Gosched()
		}
		parts = g.next()
	}
}

// next returns the parts to send when a request has ended, nil for none: the goroutine is idle
// then.
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

// took takes note of how long a request took that has succeeded.
func (g *Group) took(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit.took(d)
}
