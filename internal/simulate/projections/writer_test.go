package projections_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal"
)

// odd are persistence ids. Some contain each other, or what separates the parts of keys.
var odd = []string{
	"a", "a-7", "a-7-", "-", "journal-P-a-0", "x/\u00e4 \u2028|\x01", strings.Repeat("long ", 200),
}

// stored is what is stored of a persistence id. Only its writer uses it, and the oracle when
// nothing is written.
type stored struct {
	number int
	pid    string
	// byJVM reports that a JVM writes it.
	byJVM bool
	// life is how often it began anew, texts are the events of each life by sequence number, and
	// writers those who have written them.
	life           int
	texts, writers []map[int64]string
	// appended is how many events were appended or tried, counted how many stored ones are in the
	// totals.
	appended, counted int
	// last is the last visible event of the present life. deletedTo is the last number that was
	// deleted, or that a deletion has tried to delete, and may delete later.
	last, deletedTo int64
	// purgeTried has the lives in which a purge was tried. One that was interrupted may be told,
	// too.
	purgeTried map[int]bool
	// purges are the numbers of the purges that were tried, and leave a low mark: the numbers
	// continue in the same life. A projection that has handled nothing before is not told of them.
	purges []int64
	// fresh reports that the life has begun since the last round, as everything was erased. Then
	// nothing is deleted, purged or erased: beyond the offset of the life before, that hides the
	// erasure, as an erasure does that is cut short.
	fresh bool
}

// writeAny does some operations on a persistence id, as its writer does them.
func (s *simulation) writeAny(id *stored, random *rand.Rand, operations int) {
	if id.byJVM {
		s.writeAsJVM(id, random, operations)
		return
	}
	s.write(id, random, operations)
}

// write does some operations on a persistence id. Those of unknown outcome are looked for.
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
	for { // at least one event, so that a purge is told
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
	case !id.fresh && (dice == 4 || dice == 5 && s.shared): // where each removes everything at once
		id.purgeTried[id.life] = true
		time.Sleep(unused) // no request of a writer is in flight
		_, _ = w.Purge(ctx, dynajournal.PurgeOptions{Now: true})
		time.Sleep(unused)
		return false
	case !id.fresh && dice == 5:
		id.purgeTried[id.life] = true
		if next, err := w.NextSequenceNumber(ctx); err == nil {
			id.deletedTo = next // which the purge takes
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

// know notes an event that is stored.
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

// recover returns the next writer. It finds what operations of unknown outcome have written.
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
		// A JVM counts a number at which nothing was written.
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

// reached describes why a row is not at the end of its persistence id, empty if it is.
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
