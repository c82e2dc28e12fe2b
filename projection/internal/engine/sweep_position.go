package engine

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// swept has the persistence ids of a sweep that were listed and are not done, in order.
type swept struct {
	mu    sync.Mutex
	under []*sweptID
	// last is the id up to which all ids are done.
	last string
	// done counts the ids up to last.
	done int
}

type sweptID struct {
	pid  string
	done bool
}

// start adds an id. The caller calls done when the id is done.
func (s *swept) start(pid string) (done func()) {
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

// pass moves last over the ids that are done. The caller holds the lock.
func (s *swept) pass() {
	for len(s.under) > 0 && s.under[0].done {
		s.last, s.under = s.under[0].pid, s.under[1:]
		s.done++
	}
}

// position returns the id up to which all ids are done, and the number of these ids.
func (s *swept) position() (string, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.done
}

// Position is the progress of a group's sweep. All persistence ids up to it were swept for the
// projections that are stored with it.
type Position struct {
	group *Group
	names string
	// key is the key of its item.
	key dynamo.Attributes
	// within is how long an interrupted sweep may take to store its position. If it is 0, the sweep
	// does not store it.
	within time.Duration
	// after is the stored position. It is empty at the start of a sweep.
	after string
	// done is how many ids were done when the position was last stored.
	done int
}

// follow stores the position of a sweep after SavedEvery more ids are done.
func (p *Position) follow(ctx context.Context, s *swept) error {
	last, done := s.position()
	if p.group == nil || done-p.done < SavedEvery {
		return nil
	}
	p.done = done
	return p.save(ctx, last)
}

// interrupt stores the position of a sweep that ended with err, if within is set.
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
	err := core.Of(p.group.Journal).Requests(ctx, dynamo.ForProjection, func(ctx context.Context, client *dynamo.Client) error {
		return client.Put(ctx, &dynamo.Meter{}, dynamo.Put{Table: t.Name, Item: item})
	})
	if err == nil {
		p.after = after
	}
	return err
}
