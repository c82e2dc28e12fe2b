package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/explore"
)

const (
	originJournal = "origin"
	originTable   = "origin-journal"
)

// copies has the copies of histories from another journal, the origin, into entities. A copy into a
// persistence id with other events runs at the same time as writers, because it must be refused. A
// copy that can succeed needs the id for itself.
type copies struct {
	simulation *simulation
	origin     *dynajournal.Journal
	// ids counts the persistence ids of the origin. events counts the events that were written
	// there.
	ids, events int
	// last has the source that was last copied into each entity.
	last []*source
	// started has, for each entity, all sources from which it may have events.
	started [][]*source
	// reserved has, for each entity, the source whose copy needs the entity for itself, or nil.
	reserved []*source
	// over reports whether that copy has ended.
	over []bool
}

// source is a history that is copied.
type source struct {
	id      string
	records []dynajournal.Record
	// low is the first number that is not deleted. highest is the last number.
	low, highest int64
	// there has the events that are not deleted. ever has all events that ever existed.
	there, ever map[int64]string
	// empty reports whether the target was empty when the first copy began.
	empty bool
}

func (c *copies) prepare(g *simulation) {
	*c = copies{simulation: g, last: make([]*source, entities), started: make([][]*source, entities), reserved: make([]*source, entities), over: make([]bool, entities)}
	if !g.copied {
		return
	}
	config := g.config(originJournal)
	config.JournalName = originJournal
	if g.seed%2 == 0 {
		config.JournalTable = originTable
	}
	if err := dynajournal.CreateTables(g.Context(), config, dynajournal.TableOptions{SharedWithJVM: g.shared}); err != nil {
		g.Fatal(err)
	}
	c.origin = g.openJournal(config, explore.NewMachine(g.now, 0, fenceWindow))
	const last = entities - 1
	c.reserved[last] = c.other(int(g.seed % 250))
	c.reserved[last].empty = true
}

func (c *copies) close() {
	if c.origin != nil {
		_ = c.origin.Close()
	}
}

// copying returns a copy into an entity, or nil if a copy is not allowed.
func (g *simulation) copying(k command) func(context.Context) error {
	c, e := &g.copies, k.entity
	if c.origin == nil {
		return nil
	}
	s, into := c.reserved[e], "into an id that it began in"
	switch {
	case c.over[e]:
		return nil
	case s == nil:
		if s = c.source(k); s == nil {
			return nil
		}
		c.last[e] = s
		if against := c.against(e, s); len(against) > 0 {
			g.sum.copies["into an id in use"]++
			return func(ctx context.Context) error { return c.refused(ctx, e, s, against) }
		}
		if !g.alone(g.copier, e) {
			return nil
		}
		into = "into an idle id"
		s.empty = g.ledgers[e].Items() == 0 && g.ledgers[e].Low() == 0
		c.reserved[e] = s
	}
	if s.empty && !slices.Contains(c.started[e], s) {
		into = "into an empty id"
	}
	g.sum.copies[into]++
	g.dismiss(g.copier, e)
	c.last[e] = s
	c.started[e] = append(c.started[e], s)
	return func(ctx context.Context) error { return c.whole(ctx, e, s) }
}

// source returns the source of a copy, or nil if there is no source of its kind.
func (c *copies) source(k command) *source {
	switch k.kind {
	case copyRelated:
		return c.related(k.entity, k.size)
	case copyBeginning:
		return c.beginning(k.entity, k.size)
	case copyAgain:
		if s := c.last[k.entity]; s != nil && s.id != "" {
			if k.size%2 == 0 {
				c.extend(s, k.size)
			}
			return s
		}
	}
	return c.other(k.size)
}

// other returns an unrelated history.
func (c *copies) other(size int) *source {
	s := c.newSource()
	c.extend(s, size)
	return s
}

// related returns a history that starts with the events of an entity, and continues differently.
func (c *copies) related(entity, size int) *source {
	s := c.newSource()
	s.read(c.simulation.auditor.Records(c.simulation.Context(), pid(entity), dynajournal.RecordsOptions{}), c.simulation)
	if _, err := c.origin.PutRecords(c.simulation.Context(), s.id, each(s.records), dynajournal.PutRecordsOptions{}); err != nil {
		c.simulation.Fatal(err)
	}
	c.extend(s, size)
	return s
}

// beginning returns the first events of an entity, or nil if it has no events.
func (c *copies) beginning(entity, size int) *source {
	var s source
	s.read(c.simulation.auditor.Records(c.simulation.Context(), pid(entity), dynajournal.RecordsOptions{}), c.simulation)
	n := 0
	for i, r := range s.records[:min(size, len(s.records))] {
		if r.Kind != dynajournal.RecordEvent || r.BatchFirst == 0 || r.BatchLast == r.SequenceNumber {
			n = i + 1
		}
	}
	if n == 0 {
		return nil
	}
	cut := &source{}
	cut.read(func(yield func(dynajournal.Record, error) bool) { each(s.records[:n])(yield) }, c.simulation)
	return cut
}

func (c *copies) newSource() *source {
	c.ids++
	return &source{id: fmt.Sprint(originJournal, c.ids)}
}

// extend writes more events to a source, and deletes some.
func (c *copies) extend(s *source, size int) {
	g := c.simulation
	var after int64
	if s.ever == nil && size%4 == 0 {
		after = int64(g.used)
	}
	w, err := c.origin.Recover(g.Context(), s.id, dynajournal.RecoverOptions{Snapshot: after, JournalLost: after > 0}, nil)
	if err != nil {
		g.Fatal(err)
	}
	var result dynajournal.AppendResult
	before := after // the end of the previous write
	for i := range size%4 + 1 {
		before = result.Last
		if result, err = w.Append(g.Context(), c.texts((size+i*i)%7+1)...); err != nil {
			g.Fatal(err)
		}
	}
	c.read(s)
	if size%3 == 0 {
		to := result.Last - int64(size%11)
		if g.jvm { // a JVM does not see the rest of a write that is cut
			to = before
		}
		if _, err := w.DeleteTo(g.Context(), max(to, 0)); err != nil {
			g.Fatal(err)
		}
		c.read(s)
	}
}

// texts returns the texts of the next events of the origin.
func (c *copies) texts(n int) []any {
	values := make([]any, n)
	for i := range n {
		c.events++
		text := fmt.Sprint("origin-", c.events)
		if n > 1 {
			text = member + text
		}
		values[i] = text
	}
	return values
}

func (c *copies) read(s *source) {
	s.read(c.origin.Records(c.simulation.Context(), s.id, dynajournal.RecordsOptions{}), c.simulation)
}

// read reads the current source.
func (s *source) read(records iter.Seq2[dynajournal.Record, error], g *simulation) {
	s.records, s.low, s.highest, s.there = nil, 0, 0, map[int64]string{}
	if s.ever == nil {
		s.ever = map[int64]string{}
	}
	for r, err := range records {
		if err != nil {
			g.Fatal(err)
		}
		s.records = append(s.records, r)
		s.highest = max(s.highest, r.SequenceNumber, r.Last)
		switch r.Kind {
		case dynajournal.RecordLowMark:
			s.low, s.highest = r.SequenceNumber, r.SequenceNumber-1
		case dynajournal.RecordEvent:
			s.there[r.SequenceNumber] = string(r.Bytes)
		}
	}
	maps.Copy(s.ever, s.there)
}

func each(records []dynajournal.Record) iter.Seq2[dynajournal.Record, error] {
	return func(yield func(dynajournal.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// against returns the visible events of an entity that make a copy of a source impossible, because
// the source has other events at their numbers.
func (c *copies) against(entity int, s *source) (against []explore.Event) {
	for _, e := range c.simulation.ledgers[entity].Visible() {
		if text, ok := s.there[e.Number]; e.Number >= s.low && (!ok || text != e.Text) || e.Number < s.low && s.ever[e.Number] != e.Text {
			against = append(against, e)
		}
	}
	return against
}

// mayDelete reports whether a copy may delete an event: a source of the same history has deleted
// it.
func (c *copies) mayDelete(entity int, e explore.Event) bool {
	return slices.ContainsFunc(c.started[entity], func(s *source) bool { return e.Number < s.low && s.ever[e.Number] == e.Text })
}

// refused copies into an entity that has other events.
func (c *copies) refused(ctx context.Context, entity int, s *source, against []explore.Event) error {
	err := c.put(ctx, entity, s)
	c.simulation.checkLater(func() {
		visible := c.simulation.ledgers[entity].Visible()
		for _, e := range against {
			if err == nil && slices.Contains(visible, e) {
				c.simulation.fail(fmt.Errorf("%s: a history without the event %v was copied", pid(entity), e))
			}
		}
	})
	return err
}

// whole copies into an entity that has no other events. No writer uses the entity until the copy
// has ended.
func (c *copies) whole(ctx context.Context, entity int, s *source) error {
	records, start := s.records, c.simulation.cells[entity].now()
	err := c.put(ctx, entity, s)
	if s.low > 0 {
		c.simulation.cells[entity].deleted(start, s.low-1)
	}
	c.simulation.checkLater(func() { c.ended(entity, s, records, err) })
	return err
}

// ended checks the result of a copy that needs the entity for itself.
func (c *copies) ended(entity int, s *source, records []dynajournal.Record, err error) {
	g := c.simulation
	switch {
	case err == nil:
		c.over[entity] = true
		var want source
		want.read(each(records), g)
		got := map[int64]string{}
		for _, e := range g.ledgers[entity].Visible() {
			got[e.Number] = e.Text
		}
		if low := g.ledgers[entity].Low(); max(low, 1) != max(want.low, 1) || !maps.Equal(got, want.there) {
			g.fail(fmt.Errorf("%s: copied were %v from %d on, and there are %v from %d on",
				pid(entity), want.there, want.low, got, low))
		}
	case errors.Is(err, dynajournal.ErrContentConflict):
		c.over[entity] = true
		if s.empty {
			g.fail(fmt.Errorf("%s: a copy that began in an empty persistence id: %w", pid(entity), err))
		}
	case errors.Is(err, dynajournal.ErrInvalidArgument):
		g.fail(fmt.Errorf("%s: what is copied is refused: %w", pid(entity), err))
	}
}

func (c *copies) put(ctx context.Context, entity int, s *source) error {
	n := c.simulation.cells[entity]
	start := n.now()
	for number, text := range s.there {
		n.perhaps(start, number, text)
	}
	_, err := c.simulation.copier.journal.PutRecords(ctx, pid(entity), each(s.records), dynajournal.PutRecordsOptions{})
	return err
}

// catchUp releases the entities whose copies have ended, when none of their requests are in flight.
func (c *copies) catchUp() {
	for e := range c.over {
		if g := c.simulation; c.over[e] && (g.copier.idle() || g.copier.on != e) && !g.underWay(e) {
			c.reserved[e], c.over[e] = nil, false
		}
	}
}

// finish completes the copy into an entity, if one has begun.
func (c *copies) finish(entity int) {
	s := c.reserved[entity]
	if s != nil && !c.over[entity] && slices.Contains(c.started[entity], s) {
		c.simulation.serving(c.simulation.copier.name, func() error {
			err := c.whole(c.simulation.Context(), entity, s)
			if errors.Is(err, dynajournal.ErrContentConflict) {
				return nil // it was already checked
			}
			return err
		})
	}
	c.reserved[entity], c.over[entity] = nil, false
}
