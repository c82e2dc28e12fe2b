package journaltest_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/dynajournal/dynajournal/journaltest"
)

// defect is a defect of a memory journal.
type defect string

const (
	none            defect = ""
	notFenced       defect = "two writers both succeed"
	lostOnDelete    defect = "a deletion forgets the highest number"
	zeroIsUnlimited defect = "a limit of 0 is none"
	limitBefore     defect = "deleted events count for the limit"
	oneEventLess    defect = "the upper bound is exclusive"
	batchCut        defect = "a recovery hands out parts of atomic writes"
	batchHidden     defect = "a window that cuts an atomic write hides its part"
	rejectedNumber  defect = "a rejected event uses up a number"
	partlyRejected  defect = "an atomic write is rejected in part"
	idsMixed        defect = "ids that begin alike share events"
	loserComesBack  defect = "a writer that lost continues after the other"
	afterTheEnd     defect = "a recovery goes on after any number"
	notQueued       defect = "a snapshot that is newer is ignored"
)

var (
	errConflict = errors.New("conflict")
	errVersion  = errors.New("version")
	errTooLarge = errors.New("too large")
	errNoNumber = errors.New("no number left")
)

const largest = 1000

// memory is a journal in memory that implements only what the suite requires.
type memory struct {
	defect defect

	mu       sync.Mutex
	entities map[string]*entity
}

type entity struct {
	events       []event
	low, highest int64
}

// event is a member of the atomic write from first to last.
type event struct {
	seq, first, last int64
	payload          []byte
}

func (m *memory) entity(pid string) *entity {
	if m.defect == idsMixed {
		pid = pid[:1]
	}
	e := m.entities[pid]
	if e == nil {
		e = &entity{}
		m.entities[pid] = e
	}
	return e
}

// Recover replays, and returns a writer.
func (m *memory) Recover(
	_ context.Context, pid string, r journaltest.Replay, handler func(journaltest.Event) error,
) (journaltest.Writer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entity(pid)
	if r.After > e.highest && m.defect != afterTheEnd {
		return nil, errVersion
	}
	if r.Snapshot > e.highest && m.defect != notQueued {
		e.low, e.highest = r.Snapshot+1, r.Snapshot
	}
	to, handed := limits(r.To), int64(0)
	for _, stored := range e.live(max(r.After, r.Snapshot) + 1) {
		over := r.Limit != nil && handed+stored.last-max(stored.seq, stored.first)+1 > *r.Limit
		if m.defect == batchCut {
			over = r.Limit != nil && handed >= *r.Limit
			stored.last = stored.seq
		}
		if stored.last > to || over {
			break
		}
		handed++
		if err := handler(journaltest.Event{SequenceNumber: stored.seq, Payload: stored.payload}); err != nil {
			return nil, err
		}
	}
	return &writer{memory: m, entity: e, next: e.highest + 1}, nil
}

func limits(to int64) int64 {
	if to == 0 {
		return math.MaxInt64
	}
	return to
}

// live returns the events from a number on that are not deleted.
func (e *entity) live(from int64) []event {
	var events []event
	for _, stored := range e.events {
		if stored.seq >= from && stored.seq >= e.low {
			events = append(events, stored)
		}
	}
	return events
}

// Events reads a window.
func (m *memory) Events(_ context.Context, pid string, w journaltest.Window) iter.Seq2[journaltest.Event, error] {
	return func(yield func(journaltest.Event, error) bool) {
		for _, e := range m.window(pid, w) {
			if !yield(journaltest.Event{SequenceNumber: e.seq, Payload: e.payload}, nil) {
				return
			}
		}
	}
}

func (m *memory) window(pid string, w journaltest.Window) []event {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, to := m.entity(pid), limits(w.To)
	if m.defect == oneEventLess {
		to--
	}
	var events []event
	for _, stored := range e.live(w.From) {
		hidden := m.defect == batchHidden && (stored.first < w.From || stored.last > to)
		if stored.seq <= to && !hidden {
			events = append(events, stored)
		}
	}
	if w.Limit == nil || *w.Limit == 0 && m.defect == zeroIsUnlimited {
		return events
	}
	most := *w.Limit
	if m.defect == limitBefore {
		most = max(most-max(e.low-1, 0), 0)
	}
	return events[:min(int64(len(events)), most)]
}

// Bounds reads the bounds.
func (m *memory) Bounds(_ context.Context, pid string) (journaltest.Bounds, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entity(pid)
	return journaltest.Bounds{Lowest: e.low, Highest: e.highest}, nil
}

// writer writes to an entity as long as no other writer has written.
type writer struct {
	*memory

	entity *entity
	next   int64
	lost   bool
}

// Append writes one atomic write.
func (w *writer) Append(_ context.Context, payloads ...[]byte) (first, last int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost || w.entity.highest+1 != w.next && w.defect != notFenced {
		w.lost = w.defect != loserComesBack
		w.next = w.entity.highest + 1
		return 0, 0, errConflict
	}
	first, last = w.next, w.next+int64(len(payloads))-1
	if last == math.MaxInt64 {
		return 0, 0, errNoNumber
	}
	if slices.ContainsFunc(payloads, func(p []byte) bool { return len(p) > largest }) {
		if w.defect == partlyRejected && len(payloads[0]) <= largest {
			w.write(first, first, payloads[:1])
		}
		if w.defect == rejectedNumber {
			w.next, w.entity.highest = w.next+1, w.entity.highest+1
		}
		return 0, 0, errTooLarge
	}
	w.write(first, last, payloads)
	return first, last, nil
}

func (w *writer) write(first, last int64, payloads [][]byte) {
	for i, p := range payloads {
		w.entity.events = append(w.entity.events, event{first + int64(i), first, last, p})
	}
	w.next, w.entity.highest = last+1, max(last, w.entity.highest)
}

// AppendEach writes one event after the other.
func (w *writer) AppendEach(ctx context.Context, payloads ...[]byte) ([]int64, error) {
	numbers := make([]int64, len(payloads))
	var first error
	for i, p := range payloads {
		var err error
		if numbers[i], _, err = w.Append(ctx, p); err != nil && first == nil {
			first = err
		}
	}
	return numbers, first
}

// DeleteTo deletes a prefix.
func (w *writer) DeleteTo(_ context.Context, seq int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	seq = min(seq, w.entity.highest)
	if seq < 1 || seq < w.entity.low {
		return nil
	}
	w.entity.low = seq + 1
	w.entity.events = slices.DeleteFunc(w.entity.events, func(e event) bool { return e.seq <= seq })
	if w.defect == lostOnDelete && len(w.entity.events) == 0 {
		*w.entity = entity{}
	}
	return nil
}

// Purge deletes everything.
func (w *writer) Purge(ctx context.Context) error { return w.DeleteTo(ctx, math.MaxInt64) }

// NextSequenceNumber returns the number of the next event.
func (w *writer) NextSequenceNumber(context.Context) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next, nil
}
