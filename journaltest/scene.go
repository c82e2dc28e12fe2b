package journaltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// scene is the state of a case: an empty store, and a first journal on it.
type scene struct {
	*testing.T

	suite   *Suite
	store   Store
	journal Journal
}

// connect opens another instance of the journal.
func (s *scene) connect() Journal {
	s.Helper()
	return s.store.Connect(s.T)
}

// payload returns the event that the suite writes at a sequence number.
func payload(seq int64) []byte { return fmt.Appendf(nil, "event-%d", seq) }

// payloads returns the events for n numbers from first on.
func payloads(first, n int64) [][]byte {
	events := make([][]byte, n)
	for i := range events {
		events[i] = payload(first + int64(i))
	}
	return events
}

// recovered recovers an id without checking what is replayed.
func (s *scene) recovered(j Journal, pid string) Writer {
	s.Helper()
	w, err := j.Recover(s.Context(), pid, Replay{}, func(Event) error { return nil })
	if err != nil {
		s.Fatalf("Recover(%q): %v", pid, err)
	}
	return w
}

// next returns the writer's next sequence number.
func (s *scene) next(w Writer) int64 {
	s.Helper()
	n, err := w.NextSequenceNumber(s.Context())
	if err != nil {
		s.Fatalf("NextSequenceNumber: %v", err)
	}
	return n
}

// singles writes n single events.
func (s *scene) singles(w Writer, n int64) {
	s.Helper()
	if n == 0 {
		return
	}
	first := s.next(w)
	numbers, err := w.AppendEach(s.Context(), payloads(first, n)...)
	if err != nil {
		s.Fatalf("AppendEach of %d events from %d on: %v", n, first, err)
	}
	if want := span(first, first+n-1); !slices.Equal(numbers, want) {
		s.Fatalf("AppendEach of %d events gave them the numbers %s, want %s", n, ranges(numbers), ranges(want))
	}
}

// batch writes n events as one atomic write, or one by one if the journal has no atomic writes.
func (s *scene) batch(w Writer, n int64) {
	s.Helper()
	if s.suite.NoAtomicWrites != "" {
		s.singles(w, n)
		return
	}
	want := s.next(w)
	first, last, err := w.Append(s.Context(), payloads(want, n)...)
	if err != nil {
		s.Fatalf("Append of %d events from %d on: %v", n, want, err)
	}
	if first != want || last != want+n-1 {
		s.Fatalf("Append of %d events gave them the numbers %d to %d, want %d to %d", n, first, last, want, want+n-1)
	}
}

// written recovers an id and writes n single events.
func (s *scene) written(pid string, n int64) Writer {
	s.Helper()
	w := s.recovered(s.journal, pid)
	s.singles(w, n)
	return w
}

// deleteTo deletes a prefix.
func (s *scene) deleteTo(w Writer, seq int64) {
	s.Helper()
	if err := w.DeleteTo(s.Context(), seq); err != nil {
		s.Fatalf("DeleteTo(%d): %v", seq, err)
	}
}

// wantEvents checks what Events returns for a window.
func (s *scene) wantEvents(j Journal, pid string, w Window, want ...int64) {
	s.Helper()
	var got []int64
	for e, err := range j.Events(s.Context(), pid, w) {
		if err != nil {
			s.Fatalf("Events(%s, %s): after %s: %v", name(pid), w, ranges(got), err)
		}
		s.checkPayload(pid, e)
		got = append(got, e.SequenceNumber)
	}
	if !slices.Equal(got, want) {
		s.Errorf("Events(%s, %s) returned %s, want %s", name(pid), w, ranges(got), ranges(want))
	}
}

// wantReplay checks what Recover replays, and returns the writer, whose next number must be next.
func (s *scene) wantReplay(j Journal, pid string, r Replay, next int64, want ...int64) Writer {
	s.Helper()
	var got []int64
	w, err := j.Recover(s.Context(), pid, r, func(e Event) error {
		s.checkPayload(pid, e)
		got = append(got, e.SequenceNumber)
		return nil
	})
	if err != nil {
		s.Fatalf("Recover(%s, %s): after %s: %v", name(pid), r, ranges(got), err)
	}
	if !slices.Equal(got, want) {
		s.Errorf("Recover(%s, %s) replayed %s, want %s", name(pid), r, ranges(got), ranges(want))
	}
	if n := s.next(w); n != next {
		s.Errorf("Recover(%s, %s): the writer continues at %d, want %d", name(pid), r, n, next)
	}
	return w
}

func (s *scene) checkPayload(pid string, e Event) {
	s.Helper()
	if want := payload(e.SequenceNumber); string(e.Payload) != string(want) {
		s.Errorf("event %d of %s is %.60q, want %q", e.SequenceNumber, name(pid), e.Payload, want)
	}
}

// wantBounds checks the bounds of an id.
func (s *scene) wantBounds(j Journal, pid string, lowest, highest int64) {
	s.Helper()
	got, err := j.Bounds(s.Context(), pid)
	if err != nil {
		s.Fatalf("Bounds(%s): %v", name(pid), err)
	}
	if s.suite.LowestDiffers {
		got.Lowest = lowest
	}
	if want := (Bounds{lowest, highest}); got != want {
		s.Errorf("Bounds(%s) = %+v, want %+v", name(pid), got, want)
	}
}

// wantConflict checks that a writer has lost to another: its append fails with a conflict.
func (s *scene) wantConflict(w Writer, events ...[]byte) {
	s.Helper()
	first, last, err := w.Append(s.Context(), events...)
	if err == nil {
		s.Fatalf("Append of a writer that another has overtaken wrote %d to %d", first, last)
	}
	if !s.suite.IsConflict(err) {
		s.Fatalf("Append of a writer that another has overtaken failed with %v, want a conflict", err)
	}
}

// atMost returns n, or less if an atomic write can't have as many events.
func (s *scene) atMost(n int) int {
	if s.suite.NoAtomicWrites != "" {
		return min(n, 1)
	}
	return n
}

// limit returns a limit.
func limit(n int64) *int64 { return new(n) }

// span returns the numbers from first to last.
func span(first, last int64) []int64 {
	var numbers []int64
	for n := first; n <= last; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

// name formats an id, shortened if it is long.
func name(pid string) string {
	const most = 40
	if len(pid) > most {
		return fmt.Sprintf("%.*q… of %d bytes", most, pid, len(pid))
	}
	return fmt.Sprintf("%q", pid)
}

// ranges formats numbers as ranges.
func ranges(numbers []int64) string {
	if len(numbers) == 0 {
		return "nothing"
	}
	var parts []string
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		if last == i {
			parts = append(parts, fmt.Sprint(numbers[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", numbers[i], numbers[last]))
		}
		i = last + 1
	}
	return strings.Join(parts, ",")
}

// String formats the window.
func (w Window) String() string { return bounded(w.From, w.To, w.Limit) }

// String formats the replay.
func (r Replay) String() string {
	text := fmt.Sprintf("after %d, %s", max(r.After, r.Snapshot), bounded(0, r.To, r.Limit))
	if r.Snapshot > 0 {
		text = "with a snapshot, " + text
	}
	return text
}

func bounded(from, to int64, most *int64) string {
	text := fmt.Sprintf("%d..%d", from, to)
	if most != nil {
		text += fmt.Sprintf(" at most %d", *most)
	}
	return text
}

// errStop is the error with which a handler stops a replay.
var errStop = errors.New("the handler has seen enough")
