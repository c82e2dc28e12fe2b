package protocol

import (
	"context"
	"time"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// Wait ends a replay before a number at which nothing is stored, if something is stored at later
// numbers. It records when each number was first found missing, from one replay of a live query to
// the next. A JVM has several writes of a persistence id in flight, so a later number can be stored
// before an earlier one. A writer of this package seals missing numbers before it continues.
//
// A nil Wait does not wait.
type Wait struct {
	// Most is the maximum wait for a number, from when it was first found missing.
	Most time.Duration
	// Window is the count of the last numbers that may be in flight. Numbers farther below the
	// highest are not waited for.
	Window int64
	// Ended is called when the wait for some numbers has ended.
	Ended func(ctx context.Context, ended Waited)

	// seen has the time at which each number was first found missing. Numbers before the next
	// replay are removed.
	seen map[int64]time.Time
	// passed has the numbers that are no longer waited for.
	passed map[int64]bool
	// awaited are the numbers before which the last replay ended. First is 0 if it did not end
	// before missing numbers.
	awaited Span
}

// Waited describes numbers that were waited for.
type Waited struct {
	Span
	// For is the time since they were first found missing.
	For time.Duration
	// Passed reports whether the replay continued although something may still come there. If not,
	// the numbers were stored or deleted, or no reader will see them.
	Passed bool
}

// Left returns the rest of the wait for the numbers before which the last replay ended. It reports
// false if that replay did not end before missing numbers.
func (w *Wait) Left() (time.Duration, bool) {
	if w == nil || w.awaited.First == 0 {
		return 0, false
	}
	return w.Most - time.Since(w.seen[w.awaited.First]), true
}

// Read takes the result of a replay, and the number with which the next one begins. It reports
// whether that replay was the first to end before the numbers that are waited for now.
func (w *Wait) Read(ctx context.Context, read *Result, next int64) bool {
	if w == nil {
		return false
	}
	before, now := w.awaited, read.Awaited
	w.awaited = now
	if before.First > 0 && before.First != now.First && !w.passed[before.First] {
		if now.First > before.First {
			before.Last = min(before.Last, now.First-1)
		}
		w.Ended(ctx, Waited{before, time.Since(w.seen[before.First]), false})
	}
	for seq := range w.seen {
		if seq < next {
			delete(w.seen, seq)
			delete(w.passed, seq)
		}
	}
	return now.First > 0 && now.First != before.First
}

// see records that the numbers of a span are missing. Numbers before the window are not waited for.
func (w *Wait) see(span Span) {
	if w.seen == nil {
		w.seen, w.passed = map[int64]time.Time{}, map[int64]bool{}
	}
	now := time.Now()
	for seq := max(span.First, span.Last-w.Window+1); seq <= span.Last; seq++ {
		if _, known := w.seen[seq]; !known {
			w.seen[seq] = now
		}
	}
}

// gaveUp reports whether a missing number is no longer waited for.
func (w *Wait) gaveUp(seq int64) bool { return w != nil && w.passed[seq] }

// over reports whether the first number of a span of missing numbers was waited for long enough.
func (w *Wait) over(ctx context.Context, span Span) bool {
	start, known := w.seen[span.First]
	if !known || w.passed[span.First] {
		return true
	}
	if time.Since(start) < w.Most {
		return false
	}
	w.pass(ctx, span)
	return true
}

// pass stops waiting for the numbers of a span.
func (w *Wait) pass(ctx context.Context, span Span) {
	for seq := max(span.First, span.Last-w.Window+1); seq <= span.Last; seq++ {
		w.passed[seq] = true
	}
	w.Ended(ctx, Waited{span, time.Since(w.seen[span.First]), true})
}

// awaits reports whether the replay ends before seq, which is missing.
func (r *replay) awaits(ctx context.Context, seq int64) (bool, error) {
	w := r.req.Wait
	if w == nil || len(r.slots.waiting) == 0 {
		return false, nil
	}
	r.taken = max(r.taken, r.slots.waiting[len(r.slots.waiting)-1].SequenceNr)
	farAfter := func() bool { return r.taken-seq >= w.Window }
	if farAfter() && w.awaited.First != seq || r.neverShown(seq) {
		return false, nil
	}
	holes := r.holes(seq)
	// Record all known holes: otherwise they are waited for one after the other.
	for _, span := range holes {
		w.see(span)
	}
	if w.over(ctx, holes[0]) {
		return false, nil
	}
	if !farAfter() {
		end, err := r.store.End(ctx, r.meter, r.req.PersistenceID, r.marks, r.farMark)
		if err != nil {
			return false, err
		}
		r.taken = max(r.taken, end.Highest)
	}
	if farAfter() {
		if w.awaited.First == seq {
			w.pass(ctx, holes[0])
		}
		return false, nil
	}
	r.progress.awaited = holes[0]
	return true, nil
}

// holes returns the spans of missing numbers from seq on, as far as slots were read.
func (r *replay) holes(seq int64) []Span {
	holes, next := []Span{{seq, seq}}, seq+1
	add := func(first, last int64) {
		if end := &holes[len(holes)-1]; end.Last == first-1 {
			end.Last = last
		} else {
			holes = append(holes, Span{first, last})
		}
	}
	for _, slot := range r.slots.waiting {
		if slot.SequenceNr > next {
			add(next, slot.SequenceNr-1)
		}
		if slot.hole {
			add(slot.SequenceNr, slot.SequenceNr)
		}
		next = slot.SequenceNr + 1
	}
	return holes
}

// neverShown reports whether a missing number belongs to an atomic write that can't become whole,
// because it lacks an earlier member, or something else is stored at the number of one.
func (r *replay) neverShown(seq int64) bool {
	b := r.batch.batch
	if !r.batch.open() || seq > b.Last {
		b = layout.Batch{}
		for _, slot := range r.slots.waiting {
			if slot.Event != nil {
				b = slot.Event.Batch
				break
			}
		}
		if !b.IsBatch() || seq < b.Start || seq > b.Last {
			return false
		}
		if seq > max(b.Start, r.firstSeq) {
			return true
		}
	}
	for _, slot := range r.slots.waiting {
		if slot.SequenceNr <= b.Last && !slot.hole && (slot.Event == nil || slot.Event.Batch != b) {
			return true
		}
	}
	return false
}
