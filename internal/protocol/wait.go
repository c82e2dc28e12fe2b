package protocol

import (
	"context"
	"time"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// Wait makes a reader end before a number at which nothing is stored though something is behind it,
// and keeps how long that has been so: from one reading of a live query to the next. A JVM has
// several writes of a persistence id under way at once, so a later number can be stored before an
// earlier one. A writer of this package seals what is missing before it goes on.
//
// A nil Wait waits for nothing.
type Wait struct {
	// Most is how long a number is waited for, from when a reading first found it missing.
	Most time.Duration
	// Window is how many of the last numbers may be under way. One that is farther behind the
	// highest is not waited for.
	Window int64
	// Ended is called when the wait for some numbers has ended.
	Ended func(ctx context.Context, ended Waited)

	// seen is when each number was first found missing, of those that are not handed out.
	seen map[int64]time.Time
	// passed are those of them that were given up.
	passed map[int64]bool
	// awaited are the numbers that the last reading ended before, none where First is 0.
	awaited Span
}

// Waited are numbers that were waited for.
type Waited struct {
	Span
	// For is how long it was since they were first found missing.
	For time.Duration
	// Passed reports whether reading went on though something may still come there. If not, that
	// was stored, or deleted, or no reader will be shown it.
	Passed bool
}

// Left is how long the numbers are still waited for that the last reading ended before. It reports
// false where the last reading did not end before any.
func (w *Wait) Left() (time.Duration, bool) {
	if w == nil || w.awaited.First == 0 {
		return 0, false
	}
	return w.Most - time.Since(w.seen[w.awaited.First]), true
}

// Read is called with what a reading has returned, and the number that the next one begins with. It
// reports whether that reading was the first to end before the numbers that are waited for now.
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

// see keeps that the numbers of a span are missing. What is behind them tells that those before the
// window are not waited for.
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

// gaveUp reports whether a number is no longer waited for, though nothing is stored there.
func (w *Wait) gaveUp(seq int64) bool { return w != nil && w.passed[seq] }

// over reports whether a number was waited for long enough. span are the missing numbers from it
// on.
func (w *Wait) over(ctx context.Context, span Span) bool {
	began, known := w.seen[span.First]
	if !known || w.passed[span.First] {
		return true
	}
	if time.Since(began) < w.Most {
		return false
	}
	w.pass(ctx, span)
	return true
}

// pass gives the numbers of a span up.
func (w *Wait) pass(ctx context.Context, span Span) {
	for seq := max(span.First, span.Last-w.Window+1); seq <= span.Last; seq++ {
		w.passed[seq] = true
	}
	w.Ended(ctx, Waited{span, time.Since(w.seen[span.First]), true})
}

// awaits reports whether the reading ends before seq, which is missing.
func (r *run) awaits(ctx context.Context, seq int64) (bool, error) {
	w := r.req.Wait
	if w == nil || !safeguard.HoleAwaited || len(r.queue) == 0 {
		return false, nil
	}
	r.taken = max(r.taken, r.queue[len(r.queue)-1].SequenceNr)
	farBehind := func() bool { return r.taken-seq >= w.Window }
	if farBehind() && w.awaited.First != seq || r.neverShown(seq) {
		return false, nil
	}
	holes := r.holes(seq)
	for _, span := range holes { // all that are known, so that they are not waited for one after the other
		w.see(span)
	}
	if w.over(ctx, holes[0]) {
		return false, nil
	}
	if !farBehind() {
		end, err := r.store.End(ctx, r.meter, r.req.PersistenceID, r.marks, r.farMark)
		if err != nil {
			return false, err
		}
		r.taken = max(r.taken, end.Highest)
	}
	if farBehind() {
		if w.awaited.First == seq {
			w.pass(ctx, holes[0])
		}
		return false, nil
	}
	r.awaited = holes[0]
	return true, nil
}

// holes are the spans of missing numbers from seq on, which is one, as far as slots were read.
func (r *run) holes(seq int64) []Span {
	holes, next := []Span{{seq, seq}}, seq+1
	add := func(first, last int64) {
		if end := &holes[len(holes)-1]; end.Last == first-1 {
			end.Last = last
		} else {
			holes = append(holes, Span{first, last})
		}
	}
	for _, slot := range r.queue {
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

// neverShown reports whether a missing number is that of an atomic write which can't become whole,
// as it lacks a member before, or something else is stored in the place of one.
func (r *run) neverShown(seq int64) bool {
	b := r.batch.batch
	if !r.batch.open() || seq > b.Last {
		b = layout.Batch{}
		for _, slot := range r.queue {
			if slot.Event != nil {
				b = slot.Event.Batch
				break
			}
		}
		if !b.IsBatch() || seq < b.Start || seq > b.Last {
			return false
		}
		if seq > max(b.Start, r.began) {
			return true
		}
	}
	for _, slot := range r.queue {
		if slot.SequenceNr <= b.Last && !slot.hole && (slot.Event == nil || slot.Event.Batch != b) {
			return true
		}
	}
	return false
}
