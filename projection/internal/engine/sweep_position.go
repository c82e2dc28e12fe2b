package engine

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// swept are the persistence ids of a sweep that were listed and are not done, in their order.
type swept struct {
	mu    sync.Mutex
	under []*sweptID
	// last is the id up to which all are done, done how many these are.
	last string
	done int
}

type sweptID struct {
	pid  string
	done bool
}

// begin adds an id. It is done when the result is called.
func (s *swept) begin(pid string) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := &sweptID{pid: pid}
	s.under = append(s.under, id)
	s.pass()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		id.done = true
		s.pass()
	}
}

// pass moves last after the ids that are done. The caller holds the lock.
func (s *swept) pass() {
	for len(s.under) > 0 && s.under[0].done {
		s.last, s.under = s.under[0].pid, s.under[1:]
		s.done++
	}
}

// position returns the id up to which all are done, and how many these are.
func (s *swept) position() (string, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.done
}

// Position is how far the sweep of a group has come. Everything up to it was swept for the
// projections that are stored with it.
type Position struct {
	group *Group
	names string
	// key is the key of its item.
	key dynamo.Attributes
	// within is how long a sweep that is interrupted may store its position, 0 for not at all.
	within time.Duration
	// after is what is stored, empty for the beginning. It was stored when done ids were done.
	after string
	done  int
}

// follow stores the position of a sweep when enough ids are done since it was stored.
func (p *Position) follow(ctx context.Context, s *swept) error {
	last, done := s.position()
	if p.group == nil || done-p.done < SavedEvery {
		return nil
	}
	p.done = done
	return p.save(ctx, last)
}

// interrupt stores the position of a sweep that was interrupted, if it is often.
func (p *Position) interrupt(ctx context.Context, s *swept, err error) error {
	last, _ := s.position()
	if err == nil || p.within == 0 || last == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.within)
	defer cancel()
	return p.save(ctx, last)
}

func (p *Position) load(ctx context.Context) error {
	if p.group == nil {
		return nil
	}
	t := p.group.Table
	item, err := t.Get(ctx, p.key)
	if err != nil {
		return err
	}
	d := Decoder{Table: t.Name, Item: item}
	if after, names := d.Text(attrAfter), d.Text(AttrFor); names == p.names {
		p.after = after
	}
	return d.Err
}

func (p *Position) save(ctx context.Context, after string) error {
	t := p.group.Table
	item := maps.Clone(p.key)
	item[attrAfter], item[AttrFor] = Text(after), Text(p.names)
	err := core.Of(p.group.Journal).Requests(ctx, func(ctx context.Context, client *dynamo.Client) error {
		return client.Put(ctx, &dynamo.Meter{}, dynamo.Put{Table: t.Name, Item: item})
	})
	if err == nil {
		p.after = after
	}
	return err
}
