package projections_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal"
)

// odd has persistence ids. Some contain each other, or the separators of the parts of keys.
var odd = []string{
	"a", "a-7", "a-7-", "-", "journal-P-a-0", "x/\u00e4 \u2028|\x01", strings.Repeat("long ", 200),
}

// stored is the expected content of a persistence id. Only its writer uses it, and the oracle while
// nothing is written.
type stored struct {
	number int
	pid    string
	// byJVM reports whether a JVM writes it.
	byJVM bool
	// life counts how often it has started again. texts has the events of each life by sequence
	// number. writers has the writers of these events.
	life           int
	texts, writers []map[int64]string
	// appended counts events that were appended or tried. counted counts the stored ones that are
	// in the totals.
	appended, counted int
	// last is the last visible event of the current life. deletedTo is the last number that was
	// deleted, or that a deletion has tried to delete, and may delete later.
	last, deletedTo int64
	// purgeTried has the lives in which a purge was tried. An interrupted purge may also be
	// reported.
	purgeTried map[int]bool
	// purges has the numbers of the purges that were tried, and that leave a low mark: the numbers
	// continue in the same life. They are not reported to a projection that has handled nothing
	// before.
	purges []int64
	// fresh reports whether the life has begun since the last round, after an erasure. Nothing is
	// then deleted, purged or erased: beyond the offset of the earlier life, that would hide the
	// erasure, and so would an interrupted erasure.
	fresh bool
}

// writeAny does some operations on a persistence id, as Go or as a JVM.
func (s *simulation) writeAny(id *stored, random *rand.Rand, operations int) {
	if id.byJVM {
		s.writeAsJVM(id, random, operations)
		return
	}
	s.write(id, random, operations)
}

// write does some operations on a persistence id. After an unknown outcome, recover finds out what
// was stored.
func (s *simulation) write(id *stored, random *rand.Rand, operations int) {
	var w *dynajournal.Writer
	for done := 0; done < operations || w == nil; done++ {
		if w == nil {
			w = s.recover(id)
		}
		time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
		if !s.operate(w, id, random) {
			w = nil
		}
	}
	for { // at least one event, so that a purge is reported
		before := id.last
		if !s.append(w, id, 1) {
			w = s.recover(id)
		}
		if id.last != before && id.last > id.deletedTo {
			return
		}
	}
}

// operate does a random operation. It reports false if the writer can't continue.
func (s *simulation) operate(w *dynajournal.Writer, id *stored, random *rand.Rand) bool {
	ctx := context.Background()
	dice := random.IntN(s.sixes)
	switch {
	case dice < 4 && !id.fresh && id.last > 0:
		id.deletedTo = max(id.deletedTo, id.last-int64(random.IntN(6)))
		_, err := w.DeleteTo(ctx, id.deletedTo)
		return err == nil
	case !id.fresh && (dice == 4 || dice == 5 && s.shared): // both remove everything at once
		id.purgeTried[id.life] = true
		time.Sleep(unused) // no request of a writer is in flight
		_, _ = w.Purge(ctx, dynajournal.PurgeOptions{Now: true})
		time.Sleep(unused)
		return false
	case !id.fresh && dice == 5:
		id.purgeTried[id.life] = true
		if next, err := w.NextSequenceNumber(ctx); err == nil {
			id.deletedTo = next // the purge deletes up to it
			id.purges = append(id.purges, next)
			_, _ = w.Purge(ctx, dynajournal.PurgeOptions{})
		}
		return false
	default:
		return s.append(w, id, 1+random.IntN(s.mostEvents))
	}
}

// append appends events in one atomic write. It reports false if the writer can't continue.
func (s *simulation) append(w *dynajournal.Writer, id *stored, n int) bool {
	events, texts := make([]any, n), make([]string, n)
	for i := range events {
		texts[i] = fmt.Sprintf("%d %d %d", id.number, id.life, id.appended)
		events[i] = dynajournal.NewEvent{Value: texts[i], Tags: tagsOf(texts[i])}
		id.appended++
	}
	result, err := w.Append(context.Background(), events...)
	if err != nil {
		return false
	}
	for i, text := range texts {
		s.know(id, result.First+int64(i), text, w.WriterUUID())
	}
	id.last = result.Last
	s.trigger(id)
	return true
}

// trigger triggers the groups of a process now and then.
func (s *simulation) trigger(id *stored) {
	if s.random(2) == 0 {
		return
	}
	s.mu.Lock()
	p := s.processes[s.dice.IntN(len(s.processes))]
	s.mu.Unlock()
	for g := range p.groups {
		if s.groups[g].source == triggers {
			p.groups[g].Trigger(id.pid)
		}
	}
}

// know records a stored event.
func (s *simulation) know(id *stored, seq int64, event, writer string) {
	for len(id.texts) <= id.life {
		id.texts, id.writers = append(id.texts, map[int64]string{}), append(id.writers, map[int64]string{})
	}
	texts := id.texts[id.life]
	if before, known := texts[seq]; known && before != event {
		s.oracle.fail("%q has the event %q at %d, before it was %q", id.pid, event, seq, before)
	}
	texts[seq], id.writers[id.life][seq] = event, writer
}

// recover returns the next writer, and records the events that operations with unknown outcomes
// have written.
func (s *simulation) recover(id *stored) *dynajournal.Writer {
	type found struct {
		seq          int64
		text, writer string
	}
	for {
		var all []found
		w, err := s.writers.Recover(context.Background(), id.pid, dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
			text, err := dynajournal.Decode[string](context.Background(), e)
			all = append(all, found{e.SequenceNumber, text, e.WriterUUID})
			return err
		})
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		next, err := w.NextSequenceNumber(context.Background())
		if err != nil {
			continue
		}
		last, err := w.Last(context.Background())
		if err != nil {
			continue
		}
		if next == 1 && len(id.texts) > id.life && len(id.texts[id.life]) > 0 {
			id.life++
			id.fresh, id.deletedTo = true, 0
		}
		// For a JVM, a number at which nothing was written counts.
		if last = min(last, w.DeletedTo()); len(all) > 0 {
			last = all[len(all)-1].seq
		}
		id.last, id.deletedTo = last, max(id.deletedTo, w.DeletedTo())
		for _, f := range all {
			s.know(id, f.seq, f.text, f.writer)
		}
		return w
	}
}

// reached describes why a row is not at the end of its persistence id. It returns an empty text if
// it is.
func (id *stored) reached(r row) string {
	switch {
	case r.seq < id.last:
		return fmt.Sprintf("it is at %d of %d", r.seq, id.last)
	case r.seq > id.last:
		return fmt.Sprintf("it is at %d, behind the end at %d", r.seq, id.last)
	case r.writer != id.writers[id.life][id.last]:
		return fmt.Sprintf("it is at %d of another life", r.seq)
	}
	return ""
}
