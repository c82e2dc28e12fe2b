package dynamo

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Bounds of a request that many share.
const (
	// maxStatements is DynamoDB's limit of one BatchExecuteStatement.
	maxStatements = 25
	// maxGroupBytes bounds the items of one request. It is far below DynamoDB's limits: large items gain nothing by sharing,
	// and a request that takes long to send is one that all its writers wait for.
	maxGroupBytes = 1 << 20
	// Busy is how many requests of a group are under way when further writes begin to gather. With fewer, every write goes
	// at once and alone. docs/decisions/0008-group-commit.md has the measurements.
	Busy = 2
)

// GroupOptions configure a Group. All fields are required, unless they say otherwise.
type GroupOptions struct {
	Table string
	// Condition is the condition of a put of one item: that nothing stands at its key.
	Condition string
	// Context bounds the requests that several writers share.
	Context context.Context //nolint:containedctx // that of the owner's life, not of a call
	// Off has every item put by a request of its own.
	Off bool
	// Refused is told once, when the service turned out to refuse PartiQL; from then on the group is off.
	Refused func(error)
}

// Group inserts items at keys where nothing stands, and lets writers share requests: group commit. It is safe for concurrent
// use. Its rules:
//
//   - While fewer than Busy requests are under way, a write goes at once, an item alone as a PutItem. Otherwise it gathers
//     with others, and goes with them as soon as one of those requests has ended or a whole request has gathered. No time is
//     waited for.
//   - The items of one write stay together, as far as a request holds them; writes of one id never share a request, so no
//     key stands twice in it.
//   - Each item has an outcome of its own, and tries of its own within the request's.
//   - A request of one write belongs to its writer's context, one that several share to the group's.
//   - What gathers is bounded by the callers, each of which waits.
type Group struct {
	client     *Client
	opts       GroupOptions
	statements statements
	off        atomic.Bool
	work       sync.WaitGroup

	mu sync.Mutex
	// waiting are the writes that gather, items and bytes what they hold together; sending counts the requests under way.
	waiting      []*write
	items, bytes int
	sending      int
}

// Insert is one write: items of one id, each to be inserted where nothing stands.
type Insert struct {
	// ID is whose items they are.
	ID    string
	Items []Attributes
	// Sizes are those of the items in bytes.
	Sizes []int
	// Begin is asked before the first item is sent. Once it says false none is.
	Begin func() bool
}

// write is an Insert, or as much of it as a request holds.
type write struct {
	Insert

	ctx      context.Context //nolint:containedctx // the caller waits as long as the write exists
	meter    *Meter
	bytes    int
	outcomes []error
	// left counts the items without outcome. done is closed when there is none.
	left atomic.Int32
	done chan struct{}
}

func newWrite(ctx context.Context, m *Meter, in Insert, bytes int, outcomes []error) *write {
	w := &write{Insert: in, ctx: ctx, meter: m, bytes: bytes, outcomes: outcomes, done: make(chan struct{})}
	w.left.Store(int32(len(in.Items)))
	return w
}

// finish gives an item its outcome.
func (w *write) finish(i int, err error) {
	w.outcomes[i] = err
	if w.left.Add(-1) == 0 {
		close(w.done)
	}
}

// fail gives all items one outcome.
func (w *write) fail(err error) {
	for i := range w.Items {
		w.finish(i, err)
	}
}

// NewGroup makes a group. It must be closed when its last Insert has returned.
func (c *Client) NewGroup(opts GroupOptions) *Group {
	g := &Group{client: c, opts: opts, statements: statements{table: opts.Table}}
	g.off.Store(opts.Off)
	return g
}

// Close waits for the group's goroutines.
func (g *Group) Close() { g.work.Wait() }

// Insert inserts items, and returns when each has its outcome: nil, or an error as of Put. The one whose condition failed may
// lack the OldItem. A request that serves several writes is charged to one of them, the units that an item consumed always to
// its own; m's cost is final when Insert returns.
func (g *Group) Insert(ctx context.Context, m *Meter, in Insert) []error {
	outcomes := make([]error, len(in.Items))
	if g.off.Load() {
		g.insertSingly(ctx, m, in, outcomes)
		return outcomes
	}
	writes := split(ctx, m, in, outcomes)
	if len(writes) == 1 && g.pass() {
		r := g.request(writes)
		left := r.first()
		g.ended()
		if left {
			r.rest()
		}
		<-writes[0].done
		return outcomes
	}
	g.gather(writes)
	for _, w := range writes {
		select {
		case <-w.done:
		case <-ctx.Done():
			if g.withdraw(w) {
				w.fail((&tries{request: request{operation: "BatchExecuteStatement", table: g.opts.Table}}).ended(contextReason(ctx), errNotSent))
			}
			<-w.done // what was not withdrawn is being sent, or will not be: its request tells
		}
	}
	return outcomes
}

// split makes writes, each of as many items as a request holds.
func split(ctx context.Context, m *Meter, in Insert, outcomes []error) []*write {
	var all []*write
	for from := 0; from < len(in.Items); {
		to, bytes := from, 0
		for to < len(in.Items) && to-from < maxStatements && (to == from || bytes+in.Sizes[to] <= maxGroupBytes) {
			bytes += in.Sizes[to]
			to++
		}
		part := Insert{ID: in.ID, Items: in.Items[from:to], Begin: in.Begin}
		all = append(all, newWrite(ctx, m, part, bytes, outcomes[from:to]))
		from = to
	}
	return all
}

// pass says whether a write may go at once, without a look at others. If so a request is under way from now on.
func (g *Group) pass() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sending >= Busy || len(g.waiting) > 0 {
		return false
	}
	g.sending++
	return true
}

// gather lets writes wait, and sends what is to be sent: the parts of one write all at once.
func (g *Group) gather(writes []*write) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range writes {
		g.waiting = append(g.waiting, w)
		g.items += len(w.Items)
		g.bytes += w.bytes
	}
	for g.sending < g.client.opts.MaxInFlight && len(g.waiting) > 0 && (len(writes) > 1 || g.sending < Busy || g.full()) {
		g.sending++
		together := g.take()
		g.work.Go(func() { g.send(together) })
	}
}

// full says whether a whole request has gathered.
func (g *Group) full() bool { return g.items >= maxStatements || g.bytes >= maxGroupBytes }

// take takes what one request holds from those who wait, the longest waiting first.
func (g *Group) take() []*write {
	var taken []*write
	items, bytes := 0, 0
	fits := func(w *write) bool {
		if len(taken) == 0 {
			return true
		}
		return items+len(w.Items) <= maxStatements && bytes+w.bytes <= maxGroupBytes &&
			!slices.ContainsFunc(taken, func(t *write) bool { return t.ID == w.ID })
	}
	rest := g.waiting[:0]
	for i, w := range g.waiting {
		if items == maxStatements {
			rest = append(rest, g.waiting[i:]...)
			break
		}
		if !fits(w) {
			rest = append(rest, w)
			continue
		}
		taken = append(taken, w)
		items += len(w.Items)
		bytes += w.bytes
	}
	clear(g.waiting[len(rest):])
	g.waiting = rest
	g.items -= items
	g.bytes -= bytes
	return taken
}

// withdraw takes a write back that still waits; false if it does not any more.
func (g *Group) withdraw(w *write) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, w)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	g.items -= len(w.Items)
	g.bytes -= w.bytes
	return true
}

// send sends one request after the other, as long as there is something to send. What has to be tried again goes its own way:
// a pause is no request under way, and others need not wait for it.
func (g *Group) send(together []*write) {
	for together != nil {
		r := g.request(together)
		if r.first() {
			g.work.Go(r.rest)
		}
		runtime.Gosched() // those who were just answered write again, and can come along
		together = g.next()
	}
}

// ended says that a request has ended: what has gathered meanwhile goes.
func (g *Group) ended() {
	if together := g.next(); together != nil {
		g.work.Go(func() { g.send(together) })
	}
}

// next takes what goes after a request that has ended. If that is nothing, one request less is under way.
func (g *Group) next() []*write {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 || g.sending > Busy && !g.full() {
		g.sending--
		return nil
	}
	return g.take()
}

// insertSingly inserts each item by a request of its own, as many at the same time as can be under way.
func (g *Group) insertSingly(ctx context.Context, m *Meter, in Insert, outcomes []error) {
	r := g.request([]*write{newWrite(ctx, m, in, 0, outcomes)})
	if len(in.Items) > 1 {
		r.singly(r.members, nil)
		r.cancel()
	} else if r.first() {
		r.rest()
	}
}

// refused turns the group off, as the service does not know or allow PartiQL.
func (g *Group) refused(err error) {
	if g.off.CompareAndSwap(false, true) {
		g.opts.Refused(err)
	}
}

// isRefusal says whether a request failed for what it is, so that one of another kind may succeed.
func isRefusal(err error) bool { return errors.Is(err, ErrInvalidRequest) || errors.Is(err, ErrDenied) }
