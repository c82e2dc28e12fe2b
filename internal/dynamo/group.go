package dynamo

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// Bounds of a request that many share.
const (
	// maxStatements is DynamoDB's limit of one BatchExecuteStatement.
	maxStatements = 25
	// maxGroupBytes bounds the items of one request. It is far below DynamoDB's limits: large items gain nothing by sharing,
	// and a request that takes long to send is one that all its writers wait for.
	maxGroupBytes = 1 << 20
	// Busy is how many requests of a group are under way when further writes begin to gather. With fewer, every write goes
	// at once and alone; docs/decisions/0008-group-commit.md has the measurements.
	Busy = 2
)

// GroupOptions configure a Group. All fields are required, unless they say otherwise.
type GroupOptions struct {
	Table string
	// Context bounds all requests of the group: a writer that goes away does not end what was sent.
	Context context.Context //nolint:containedctx // that of the owner's life, not of a call
	// Off has every item put by a request of its own.
	Off bool
	// Refused is told when the service turned out to refuse PartiQL, and the group is off: for a
	// while if access was denied, else for good. Accepted is told when the service accepts it
	// again, if set.
	Refused  func(error)
	Accepted func()
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
//   - Requests are the group's: nobody's going away hurts another's item. Who goes before its items were sent takes them back.
//   - What gathers is bounded by the callers, each of which has one write under way.
type Group struct {
	client     *Client
	opts       GroupOptions
	statements statements
	sharing    sharing
	// work are the group's goroutines. Those that have sent a request stay for further ones, as their stacks have grown: wake
	// gives them what to send, nil for what waits then.
	work    sync.WaitGroup
	wake    chan []*write
	closing sync.Once

	mu sync.Mutex
	// waiting are the writes that gather, items and bytes what they hold together; sending counts the requests under way.
	waiting      []*write
	items, bytes int
	sending      int
	idle         int // goroutines that wait to be woken
}

// NewGroup makes a group. It must be closed when its last Insertion is done.
func (c *Client) NewGroup(opts GroupOptions) *Group {
	g := &Group{client: c, opts: opts, statements: statements{table: opts.Table}, wake: make(chan []*write, c.opts.MaxInFlight)}
	if opts.Off {
		g.sharing.forbid()
	}
	return g
}

// Close ends the group's goroutines, when what they do is done. Closing twice does nothing.
func (g *Group) Close() {
	g.closing.Do(func() { close(g.wake) })
	g.work.Wait()
}

// Insert is what is to be inserted: items of one id, each where nothing stands.
type Insert struct {
	// ID is whose items they are.
	ID    string
	Items []Attributes
	// Sizes are those of the items in bytes.
	Sizes []int
	// Condition says of a PutItem what an INSERT says anyway: that nothing stands at the key. Empty puts an item whatever
	// stands there, never shared.
	Condition string
	// Before is called before every attempt, after the wait for a connection, if set. After an
	// error the items of that attempt are not sent, and end with that error; what an earlier
	// attempt may have done to them stays unknown. The other writers of the request go on.
	Before func() error
}

// Insertion is an Insert on its way.
type Insertion struct {
	Insert

	group *Group
	ctx   context.Context //nolint:containedctx // its values are those of a request that serves nobody else
	meter *Meter

	outcomes []error
	left     atomic.Int32 // items without outcome
	done     chan struct{}
	// whole is all of it, where one request holds it.
	whole write
	one   [1]error
}

// write is as much of an insertion as a request holds: the items from one to before another.
type write struct {
	*Insertion

	from, to, bytes int
}

// Insert begins to insert. A request that serves several writers is charged to the meter of one of them, the units that an
// item consumed always to its own; the cost is final when the insertion is done.
func (g *Group) Insert(ctx context.Context, m *Meter, in Insert) *Insertion {
	s := &Insertion{Insert: in, group: g, ctx: ctx, meter: m, done: make(chan struct{})}
	if s.outcomes = s.one[:]; len(in.Items) > 1 {
		s.outcomes = make([]error, len(in.Items))
	}
	s.left.Store(int32(len(in.Items)))
	g.gather(s)
	return s
}

// Done is closed when each item has its outcome.
func (s *Insertion) Done() <-chan struct{} { return s.done }

// Outcomes are what became of each item, once it is done: nil, or an error as of Put. One whose condition failed may lack the
// OldItem.
func (s *Insertion) Outcomes() []error { return s.outcomes }

// finish gives an item its outcome.
func (s *Insertion) finish(i int, err error) {
	s.outcomes[i] = err
	if s.left.Add(-1) == 0 {
		close(s.done)
	}
}

// Withdraw forgets what is not being sent yet. Before must fail from before it on.
func (s *Insertion) Withdraw() {
	g := s.group
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(w *write) bool {
		mine := w.Insertion == s
		if mine {
			g.items -= w.to - w.from
			g.bytes -= w.bytes
		}
		return mine
	})
}

// gather lets an insertion wait, and sends what is to be sent. One that is more than a request goes all at once.
func (g *Group) gather(s *Insertion) {
	g.mu.Lock()
	defer g.mu.Unlock()
	parts := g.enqueue(s)
	if g.sending < min(Busy, g.client.opts.MaxInFlight) {
		g.start(nil)
	}
	for len(g.waiting) > 0 && g.sending < g.client.opts.MaxInFlight && (parts > 1 || g.full()) {
		g.start(g.take())
	}
}

// start has a request sent: an idle goroutine sends it, or a new one; nil is what waits then.
func (g *Group) start(together []*write) {
	g.sending++
	if g.idle > 0 {
		g.idle--
		g.wake <- together
		return
	}
	g.work.Go(func() {
		g.send(together)
		for together := range g.wake {
			g.send(together)
		}
	})
}

// holds is how many items a request holds: one, when the group is off.
func (g *Group) holds() int {
	if g.sharing.allowed() {
		return maxStatements
	}
	return 1
}

// enqueue lets an insertion wait, in parts of as many items as a request holds, and returns how many parts that are.
func (g *Group) enqueue(s *Insertion) int {
	parts, most := 0, g.holds()
	if s.Condition == "" {
		most = 1
	}
	for from := 0; from < len(s.Items); parts++ {
		w := &s.whole
		if parts > 0 {
			w = &write{}
		}
		*w = write{s, from, from + 1, s.Sizes[from]}
		for w.to < len(s.Items) && w.to-from < most && w.bytes+s.Sizes[w.to] <= maxGroupBytes {
			w.bytes += s.Sizes[w.to]
			w.to++
		}
		g.waiting = append(g.waiting, w)
		g.items += w.to - from
		g.bytes += w.bytes
		from = w.to
	}
	return parts
}

// full says whether a whole request has gathered.
func (g *Group) full() bool { return g.items >= g.holds() || g.bytes >= maxGroupBytes }

// take takes what one request holds from those who wait, the longest waiting first.
func (g *Group) take() []*write {
	taken := make([]*write, 0, min(len(g.waiting), maxStatements))
	items, bytes, most := 0, 0, g.holds()
	fits := func(w *write) bool {
		return len(taken) == 0 || items+w.to-w.from <= most && bytes+w.bytes <= maxGroupBytes && w.Condition != "" &&
			taken[0].Condition != "" && !slices.ContainsFunc(taken, func(t *write) bool { return safeguard.OneOfEachID && t.ID == w.ID })
	}
	rest := g.waiting[:0]
	for i, w := range g.waiting {
		if items >= most {
			rest = append(rest, g.waiting[i:]...)
			break
		}
		if !fits(w) {
			rest = append(rest, w)
			continue
		}
		taken = append(taken, w)
		items += w.to - w.from
		bytes += w.bytes
	}
	clear(g.waiting[len(rest):])
	g.waiting = rest
	g.items -= items
	g.bytes -= bytes
	return taken
}

// send sends one request after the other, as long as there is something to send. What has to be tried again goes its own way:
// a pause is no request under way, and others need not wait for it.
func (g *Group) send(together []*write) {
	if together == nil {
		together = g.next()
	}
	for together != nil {
		r := g.request(together)
		if r.first() {
			g.work.Go(r.rest)
		}
		if len(together) > 1 {
			runtime.Gosched() // those who were just answered may write again, and can come along
		}
		together = g.next()
	}
}

// next takes what goes when a request has ended. If that is nothing, one request less is under way, and its sender idle.
func (g *Group) next() []*write {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 || g.sending > Busy && !g.full() {
		g.sending--
		g.idle++
		return nil
	}
	return g.take()
}

// refused turns the group off, as the service does not know or allow PartiQL.
func (g *Group) refused(reason, err error) {
	if g.sharing.refused(reason) {
		g.opts.Refused(err)
	}
}

// accepted turns the group on again, as the service has accepted PartiQL.
func (g *Group) accepted() {
	if g.sharing.accepted() && g.opts.Accepted != nil {
		g.opts.Accepted()
	}
}

// isRefusal says whether a request failed for what it is, so that one of another kind may succeed.
func isRefusal(err error) bool { return errors.Is(err, ErrInvalidRequest) || errors.Is(err, ErrDenied) }
