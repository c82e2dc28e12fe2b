package entities_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

var (
	errTooFew = errors.New("the counter is too low")
	errOwn    = errors.New("the command's own error")
)

// call is a command or a view of a caller.
type call struct {
	command

	number int
	host   *host
	// name is the command's id. It is empty if the command has no id.
	name    string
	version int64 // the version of At, if at is set
	cancel  context.CancelFunc
	done    chan struct{}
	// start and ended are times of the oracle. seen is the highest version that calls on the entity
	// had returned when this call began. knew is the number of events that the views in memory of
	// the host had shown then.
	start, ended int
	seen         int64
	knew         int
	called       time.Time
	// acknowledged reports whether the events of the command were acknowledged.
	acknowledged bool

	mu sync.Mutex
	// runs is how often the command was run. The fields after it belong to the last run.
	runs     int
	recorded []Event
	before   point
	after    point
}

// point is a state, without Seen, and its version.
type point struct {
	digest   uint64
	register string
	counter  int
	version  int64
}

func pointOf(s *State, version int64) point { return point{s.Digest, s.Register, s.Counter, version} }

func (c *call) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *call) String() string {
	return fmt.Sprintf("call %d (%s of %s, id %q)", c.number, whats[c.what], c.host.name, c.name)
}

// call calls a host.
func (g *simulation) call(h *host, k command) {
	if g.oracle.logs[k.entity].closed {
		return
	}
	c := &call{command: k, number: len(g.calls), host: h, done: make(chan struct{}), called: time.Now()}
	if k.id {
		c.name = fmt.Sprint("c", c.number)
	}
	if k.what == repeat && !g.again(c) {
		return
	}
	g.sum.operations++
	g.sum.calls[whats[k.what]]++
	g.oracle.start(c)
	ctx := context.Background()
	if k.patience > 0 {
		ctx, c.cancel = context.WithTimeout(ctx, k.patience)
	} else {
		ctx, c.cancel = context.WithCancel(ctx)
	}
	if k.at {
		c.version = max(c.seen-int64(k.size%5/3), 0)
	}
	g.calls = append(g.calls, c)
	go func() {
		defer close(c.done)
		defer c.cancel()
		exited := true
		defer func() {
			if exited {
				g.oracle.refused(c, "exit")
			}
		}()
		switch k.what {
		case view, viewInMemory, viewOfAge:
			g.view(ctx, c)
		case drop:
			g.oracle.dropped(c, h.entities.Drop(ctx, id(k.entity)))
		default:
			g.update(ctx, c)
		}
		exited = false
	}()
}

// again makes a call the repeat of an earlier call with an id. It reports false if there is no such
// call.
func (g *simulation) again(c *call) bool {
	var named []*call
	for _, other := range g.calls {
		if other.name != "" && other.entity == c.entity {
			named = append(named, other)
		}
	}
	if len(named) == 0 {
		return false
	}
	// The last ones are more likely to be under way.
	first := named[len(named)-1-int(float64(len(named))*math.Pow(float64(c.size-1)/30, 2))]
	c.what, c.name, c.id = first.what, first.name, true
	return true
}

// update runs a command.
func (g *simulation) update(ctx context.Context, c *call) {
	var opts []entity.CommandOption
	if c.name != "" {
		opts = append(opts, entity.CommandID(c.name))
	}
	if c.at {
		opts = append(opts, entity.At(c.version))
	}
	if c.fresh {
		opts = append(opts, entity.Fresh())
	}
	receipt, err := c.host.entities.Update(ctx, id(c.entity), c.decide, opts...)
	g.oracle.updated(c, receipt, err)
}

// decide is the function of the command.
func (c *call) decide(t *tx) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs++
	state := t.State()
	c.recorded, c.before = nil, pointOf(&state, t.Version())
	if c.slow {
		time.Sleep(time.Duration(c.size%7+1) * time.Microsecond)
	}
	err := c.record(t)
	state = t.State()
	c.after = pointOf(&state, t.Version())
	return err
}

// record records the events of the command.
func (c *call) record(t *tx) error {
	events := make([]Event, c.size%3+1)
	for i := range events {
		events[i] = Event{
			Text: fmt.Sprintf("%d.%d.%d", c.number, c.runs, i), Command: c.number, Run: c.runs, Index: i, Of: len(events),
			ID: c.name, Digest: c.before.digest, Version: c.before.version, Add: c.size,
		}
	}
	switch c.what {
	case set:
		events[len(events)-1].Value = events[0].Text
	case subtract:
		if t.State().Counter < 2*c.size {
			return errTooFew
		}
		for i := range events {
			events[i].Add = -2 * c.size * (1 - min(i, 1))
		}
	case read:
		return nil
	case recordTooMuch:
		events[0].Padding = strings.Repeat("x", 3000)
	}
	t.Record(events...)
	switch c.what {
	case recordAndFail:
		return errOwn
	case recordAndPanic:
		panic(c.number)
	case recordAndExit:
		runtime.Goexit()
	}
	c.recorded = events
	return nil
}

// view views an entity.
func (g *simulation) view(ctx context.Context, c *call) {
	var opts []entity.ViewOption
	switch c.what {
	case viewInMemory:
		opts = append(opts, entity.InMemory)
	case viewOfAge:
		opts = append(opts, entity.MaxAge(ages[c.size%len(ages)]))
	}
	var shown State
	version, err := c.host.entities.View(ctx, id(c.entity), func(s State) error {
		shown = clone(s)
		return nil
	}, opts...)
	g.oracle.viewed(c, &shown, version, err)
}

var ages = []time.Duration{time.Microsecond, time.Second, time.Hour}

// purge removes an entity that nothing else uses. In a shared journal, where nothing is left of the
// entity, no other process may even have it in memory.
func (g *simulation) purge(h *host, entity int) {
	if !g.drain() {
		return
	}
	h.machine.Correct() // a deletion is refused by a machine whose clock is wrong
	l := g.oracle.logs[entity]
	l.closed = true
	defer func() { l.closed = false }()
	g.sum.lives++
	done := make(chan error, 1)
	go func() {
		for _, other := range g.hosts {
			if !g.shared {
				break
			}
			if err := other.entities.Drop(context.Background(), id(entity)); err != nil {
				g.oracle.fail("drop without a fault: %v", err)
			}
		}
		done <- h.entities.Purge(context.Background(), id(entity))
	}()
	g.fair = true
	defer func() { g.fair = false }()
	for {
		if !g.step() {
			time.Sleep(time.Millisecond)
			g.catchUp()
		}
		select {
		case err := <-done:
			if err != nil {
				g.oracle.fail("purge without a fault: %v", err)
			}
			g.oracle.purged(entity)
			return
		default:
		}
	}
}

// unexpected has errors that no fault can cause.
var unexpected = []error{
	dynajournal.ErrHole, dynajournal.ErrCorruptItem, dynajournal.ErrInvalidArgument, entity.ErrReentrant, dynajournal.ErrWriterEnded,
}
