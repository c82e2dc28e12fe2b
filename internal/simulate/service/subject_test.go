package service_test

import (
	"context"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// Done is an event: an operation was done.
type Done struct {
	Name string
	// Padding makes an event large. It is determined by the name.
	Padding string
}

// Thing is the state of an entity: the names of the operations that were done, in order.
type Thing struct{ Names []string }

// Setting is a durable state: the names of the operations that were done, in order.
type Setting struct{ Names []string }

func evolve(t Thing, d Done) Thing {
	return Thing{append(slices.Clip(t.Names), d.Name)}
}

// done returns the event of an operation. One in six is large.
func done(name string) Done {
	d := Done{Name: name}
	if sum := crc32.ChecksumIEEE([]byte(name)); sum%6 == 0 {
		d.Padding = strings.Repeat(name+" ", 100)
	}
	return d
}

const tag = "some"

// tagsOf returns the tags of an event: one event in three has tags.
func tagsOf(d Done) []string {
	if crc32.ChecksumIEEE([]byte(d.Name))%3 == 1 {
		return []string{tag, "other"}
	}
	return nil
}

// subject is an entity or a state, with the calls on it and their outcomes.
type subject struct {
	pid string

	mu sync.Mutex
	// calls has the calls of all callers.
	calls []*call
	// now is the state as last recorded by readNew. visible has the events that were stored then,
	// by number. backedUp is the value of now when the tables were copied.
	now, backedUp []string
	visible       map[int64]string
}

// outcome is the result of a call, as far as the caller knows.
type outcome int

const (
	unknown outcome = iota
	acknowledged
	refused
)

// call is an operation, or a purge if it has no name.
type call struct {
	name         string
	start, ended time.Time
	outcome      outcome
}

// start records that a call begins.
func (b *subject) start(name string) *call {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &call{name: name, start: time.Now()}
	b.calls = append(b.calls, c)
	return c
}

func (b *subject) end(c *call, o outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.ended, c.outcome = time.Now(), o
}

// operate does a random operation.
func (s *service) operate(r *rand.Rand, name string) {
	p := s.processes[r.IntN(len(s.processes))]
	b := s.things[r.IntN(len(s.things))]
	dice := r.IntN(100)
	if dice < 20 {
		b = s.settings[r.IntN(len(s.settings))]
	}
	switch {
	case dice%20 < 2:
		s.sum.operation("view")
		s.view(p, b)
	case dice%20 == 2 && s.purges:
		s.sum.operation("purge")
		s.purge(p, b)
	default:
		s.sum.operation("update")
		s.update(p, b, r, name)
	}
}

// update does an operation, and repeats it with its id until the outcome is known, or the caller
// gives up.
func (s *service) update(p *process, b *subject, r *rand.Rand, name string) {
	c := b.start(name)
	known := refused
	for range 4 {
		ctx, cancel := context.WithTimeout(context.Background(), []time.Duration{time.Hour, time.Hour, 300 * time.Millisecond}[r.IntN(3)])
		err := p.now().hosted.do(ctx, b, name)
		cancel()
		s.trace("%s of %s on %d: %v", name, b.pid, p.number, err)
		s.wanted(err)
		_, duplicate := errors.AsType[*entity.DuplicateError](err)
		switch {
		case err == nil || duplicate:
			b.end(c, acknowledged)
			return
		case dynajournal.MaybeApplied(err):
			known = unknown
		}
		time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
	}
	b.end(c, known)
}

// view views a subject, and checks the state.
func (s *service) view(p *process, b *subject) {
	start := time.Now()
	names, err := p.now().hosted.view(b)
	s.wanted(err)
	if err == nil {
		if why := b.possible(names, start, time.Now()); why != "" {
			s.fail("a view of %s: %s", b.pid, why)
		}
	}
}

func (s *service) purge(p *process, b *subject) {
	c := b.start("")
	err := p.now().hosted.purge(b)
	s.trace("purge of %s on %d: %v", b.pid, p.number, err)
	s.wanted(err)
	if err != nil {
		b.end(c, unknown)
		return
	}
	b.end(c, acknowledged)
}

// unwanted has errors that no fault can cause.
var unwanted = []error{
	dynajournal.ErrHole, dynajournal.ErrEventMissing, dynajournal.ErrCorruptItem, dynajournal.ErrSnapshotMissing, dynajournal.ErrSnapshotAhead,
	dynajournal.ErrInvalidArgument,
}

func (s *service) wanted(err error) {
	for _, e := range unwanted {
		if errors.Is(err, e) {
			s.fail("got %v", err)
		}
	}
}

// possible returns the reason why a state that a call has shown can't be right, or an empty text.
// Each operation of a state is done once, was called and not refused, and was not done before a
// purge that was acknowledged before the call. Operations that were acknowledged before the call
// began are in the state, unless a purge may have followed.
func (b *subject) possible(names []string, start, ended time.Time) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	shown := map[string]bool{}
	for _, name := range names {
		if shown[name] {
			return name + " was done twice"
		}
		shown[name] = true
	}
	for _, c := range b.calls {
		there := shown[c.name]
		delete(shown, c.name)
		switch {
		case c.name == "":
		case there && c.outcome == refused:
			return c.name + " was refused, but is there"
		case there && c.start.After(ended):
			return c.name + " is there before it was asked for"
		case there && c.outcome == acknowledged && b.purgedBetween(c.ended, start):
			return c.name + " is there after a purge"
		case !there && c.outcome == acknowledged && c.ended.Before(start) && !b.mayBePurged(c.start, ended):
			return c.name + " was acknowledged, and is not there"
		}
	}
	for name := range shown {
		return name + " was never asked for"
	}
	return ""
}

// purgedBetween reports whether an acknowledged purge began and ended between two times.
func (b *subject) purgedBetween(after, before time.Time) bool {
	return slices.ContainsFunc(b.calls, func(c *call) bool {
		return c.name == "" && c.outcome == acknowledged && c.start.After(after) && c.ended.Before(before)
	})
}

// mayBePurged reports whether a purge may have happened between two times. A purge with an unknown
// outcome may complete at any time after it began.
func (b *subject) mayBePurged(after, before time.Time) bool {
	return slices.ContainsFunc(b.calls, func(c *call) bool {
		return c.name == "" && !c.start.After(before) && (c.outcome != acknowledged || !c.ended.Before(after))
	})
}
