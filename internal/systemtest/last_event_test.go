package systemtest

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/dynajournal/dynajournal"
)

// lastEvent is a persistence id with its last visible event, according to the results of its
// writers.
type lastEvent struct {
	*rapid.T

	test    *testing.T
	system  *system
	pid     string
	last    int64
	writers []*dynajournal.Writer
}

// The number of the last visible event does not depend on deletions, on seals and members of failed
// atomic writes above it, or on the part of the events that a recovery replays.
func TestLastVisibleEvent(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, id := setup(t, options), 0
			rapid.Check(t, func(r *rapid.T) {
				id++
				e := &lastEvent{T: r, test: t, system: s, pid: strconv.Itoa(id)}
				e.start()
				for range rapid.IntRange(1, 12).Draw(r, "steps") {
					rapid.SampledFrom([]func(){
						e.append, e.append, e.delete, e.leavePart, e.recoverPart, e.recoverAfter,
						e.recoverFromSnapshot, e.recoverExpecting,
					}).Draw(r, "step")()
				}
				e.recoverWith(dynajournal.RecoverOptions{}, "at the end")
			})
		})
	}
}

// start uses up the numbers up to a random place in the first two partitions.
func (e *lastEvent) start() {
	e.recoverWith(dynajournal.RecoverOptions{}, "of a new id")
	base := rapid.SampledFrom([]int64{0, 0, 96, 98, 99, 100, 198}).Draw(e.T, "base")
	if base == 0 {
		return
	}
	e.last = base
	e.recoverWith(dynajournal.RecoverOptions{Snapshot: base, JournalLost: true}, "after a lost journal")
}

// recoverWith recovers, and checks the number of the last event that the new writer returns.
func (e *lastEvent) recoverWith(o dynajournal.RecoverOptions, what string) {
	w, err := e.system.journal.Recover(e.test.Context(), e.pid, o, func(dynajournal.Event) error { return nil })
	if err != nil {
		e.Fatalf("Recover %s: %v", what, err)
	}
	e.writers = append(e.writers, w)
	e.wantLast(w, "recovered "+what)
}

func (e *lastEvent) wantLast(w *dynajournal.Writer, what string) {
	if got, err := w.Last(e.test.Context()); err != nil || got != e.last {
		e.Fatalf("%s: Last = %d, %v; want %d", what, got, err, e.last)
	}
}

func (e *lastEvent) writer() *dynajournal.Writer {
	return rapid.SampledFrom(e.writers).Draw(e.T, "writer")
}

// append writes with any writer. The writer may be stale; then only some members of an atomic write
// are stored.
func (e *lastEvent) append() {
	w, n := e.writer(), rapid.IntRange(1, 4).Draw(e.T, "events")
	events := make([]any, n)
	for i := range events {
		events[i] = "event"
	}
	switch result, err := w.Append(e.test.Context(), events...); {
	case err == nil:
		e.last = result.Last
		e.wantLast(w, "appended")
		e.wantOther(w)
	case !errors.Is(err, dynajournal.ErrWriterConflict) && !errors.Is(err, dynajournal.ErrWriterEnded):
		e.Fatalf("Append: %v", err)
	}
}

// wantOther checks that the newest writer refuses any other version, without a request.
func (e *lastEvent) wantOther(w *dynajournal.Writer) {
	other := rapid.Int64Range(0, e.last+3).Filter(func(n int64) bool { return n != e.last }).Draw(e.T, "other")
	before := e.system.requests.requests.Load()
	_, err := w.AppendAt(e.test.Context(), other, "event")
	e.wantVersion(err, other)
	if sent := e.system.requests.requests.Load() - before; sent > 0 {
		e.Fatalf("AppendAt of another version sent %d requests", sent)
	}
	result, err := w.AppendAt(e.test.Context(), e.last, "event")
	if err != nil {
		e.Fatalf("AppendAt after %d: %v", e.last, err)
	}
	e.last = result.Last
}

func (e *lastEvent) wantVersion(err error, expected int64) {
	want := dynajournal.VersionError{PersistenceID: e.pid, Expected: expected, Last: e.last}
	version, ok := errors.AsType[*dynajournal.VersionError](err)
	if !ok || *version != want || !errors.Is(err, dynajournal.ErrVersion) || dynajournal.MaybeApplied(err) {
		e.Fatalf("the error is %v, want %+v", err, want)
	}
}

// delete deletes any prefix with any writer.
func (e *lastEvent) delete() {
	to := rapid.OneOf(rapid.Just(int64(math.MaxInt64)), rapid.Int64Range(0, e.last+5)).Draw(e.T, "to")
	_, err := e.writer().DeleteTo(e.test.Context(), to)
	if err != nil && !errors.Is(err, dynajournal.ErrWriterConflict) && !errors.Is(err, dynajournal.ErrWriterEnded) {
		e.Fatalf("DeleteTo(%d): %v", to, err)
	}
}

// leavePart stores one member of an atomic write whose writer has crashed, and its high mark. The
// next recovery seals the numbers below the member.
func (e *lastEvent) leavePart() {
	first := readBounds(e.test, e.system.journal, e.pid).Highest + 1
	b := modelBatch{first, first + rapid.Int64Range(1, 4).Draw(e.T, "lost"), modelWriters[0]}
	p := &planted{model: model{items: map[int64]modelItem{}}}
	left := rapid.Int64Range(b.start, b.last).Draw(e.T, "left")
	p.plantEvent(left, b, b.writer)
	if left >= modelBlock {
		p.highs = []int64{left / modelBlock * modelBlock}
	}
	putAll(e.test, e.system.table, p.attributes(e.pid, int64(e.system.journal.SequenceShards())))
	e.recoverWith(dynajournal.RecoverOptions{}, "after a crash")
}

// recoverPart replays a part of the events.
func (e *lastEvent) recoverPart() {
	o := dynajournal.RecoverOptions{
		To:    rapid.Int64Range(0, e.last+2).Draw(e.T, "replay to"),
		Limit: new(rapid.Int64Range(0, 5).Draw(e.T, "limit")),
	}
	e.recoverWith(o, fmt.Sprintf("to %d, at most %d", o.To, *o.Limit))
}

// recoverAfter replays the events after any number. The journal must reach it.
func (e *lastEvent) recoverAfter() {
	highest := readBounds(e.test, e.system.journal, e.pid).Highest
	after := rapid.Int64Range(0, highest+2).Draw(e.T, "after")
	if after <= highest {
		e.recoverWith(dynajournal.RecoverOptions{After: after}, fmt.Sprint("after ", after))
		return
	}
	_, err := e.system.journal.Recover(e.test.Context(), e.pid, dynajournal.RecoverOptions{After: after}, nil)
	e.wantVersion(err, after)
}

// recoverFromSnapshot replays the events after a snapshot. If the journal is shorter, the event of
// the snapshot is the last one.
func (e *lastEvent) recoverFromSnapshot() {
	snapshot := rapid.Int64Range(0, e.last).Draw(e.T, "snapshot")
	lost := rapid.IntRange(0, 9).Draw(e.T, "lost") == 0
	if lost {
		highest := readBounds(e.test, e.system.journal, e.pid).Highest
		snapshot = highest + rapid.Int64Range(1, 120).Draw(e.T, "beyond")
		e.last = snapshot
	}
	e.recoverWith(dynajournal.RecoverOptions{Snapshot: snapshot, JournalLost: lost}, fmt.Sprint("from a snapshot at ", snapshot))
}

// recoverExpecting recovers with a correct or a wrong expectation.
func (e *lastEvent) recoverExpecting() {
	expected := rapid.OneOf(rapid.Just(e.last), rapid.Int64Range(0, e.last+3)).Draw(e.T, "expected")
	if expected == e.last {
		e.recoverWith(dynajournal.RecoverOptions{Expect: &expected}, "as expected")
		return
	}
	_, err := e.system.journal.Recover(e.test.Context(), e.pid, dynajournal.RecoverOptions{Expect: &expected}, nil)
	e.wantVersion(err, expected)
}

// A number from a caller must not hide history: only a snapshot is evidence that the journal was
// lost. Nothing is written, so an earlier writer can continue.
func TestRecoveryAfterANumberThatTheJournalDoesNotReach(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		for _, events := range []int{0, 3, 99, 100, 250} {
			t.Run(fmt.Sprintf("%s, %d events", kind, events), func(t *testing.T) {
				t.Parallel()
				s := setup(t, options)
				w := written(t, s.journal, "a", events)
				before := items(t, s.table)
				for _, after := range []int64{1, 4, 200} {
					after += int64(events)
					_, err := s.journal.Recover(t.Context(), "a", dynajournal.RecoverOptions{After: after}, nil)
					want := dynajournal.VersionError{PersistenceID: "a", Expected: after, Last: int64(events)}
					version, ok := errors.AsType[*dynajournal.VersionError](err)
					if !ok || *version != want {
						t.Errorf("Recover after %d: %v, want %+v", after, err, want)
					}
				}
				if after := items(t, s.table); !reflect.DeepEqual(before, after) {
					t.Errorf("the recovery has changed stored items")
				}
				if _, err := w.AppendAt(t.Context(), int64(events), "next"); err != nil {
					t.Errorf("AppendAt of the earlier writer: %v", err)
				}
			})
		}
	}
}

// Of many calls at the same version, one writes: the writer compares the version when the call has
// its turn.
func TestOneOfManyAppendsAtTheSameVersionSucceeds(t *testing.T) {
	t.Parallel()
	s := setup(t, dynajournal.TableOptions{})
	w := written(t, s.journal, "a", 1)
	const callers = 20
	errs := make(chan error, callers)
	for range callers {
		go func() {
			_, err := w.AppendAt(t.Context(), 1, "saved", "saved")
			errs <- err
		}()
	}
	succeeded := 0
	for range callers {
		switch err := <-errs; {
		case err == nil:
			succeeded++
		case !errors.Is(err, dynajournal.ErrVersion):
			t.Errorf("AppendAt: %v", err)
		}
	}
	if succeeded != 1 {
		t.Errorf("%d of %d calls have succeeded", succeeded, callers)
	}
	wantNumbers(t, s.journal, "a", []int64{1, 2, 3})
}

// If another writer has taken the number, the append fails with a conflict, which ends the writer,
// and not with a version error.
func TestAppendAtMeetsAnotherWriter(t *testing.T) {
	t.Parallel()
	s := setup(t, dynajournal.TableOptions{})
	stale, w := recovered(t, s.journal, "a"), recovered(t, s.journal, "a")
	if _, err := w.AppendAt(t.Context(), 0, "first"); err != nil {
		t.Fatal(err)
	}
	if _, err := stale.AppendAt(t.Context(), 1, "second"); !errors.Is(err, dynajournal.ErrVersion) {
		t.Errorf("AppendAt of a version that the writer does not know: %v", err)
	}
	if _, err := stale.AppendAt(t.Context(), 0, "first"); !errors.Is(err, dynajournal.ErrWriterConflict) {
		t.Errorf("AppendAt of a number that is taken: %v", err)
	}
	if _, err := stale.AppendAt(t.Context(), 0, "first"); !errors.Is(err, dynajournal.ErrWriterEnded) {
		t.Errorf("AppendAt after a conflict: %v", err)
	}
}

func TestAppendAtChecksItsArguments(t *testing.T) {
	t.Parallel()
	s := setup(t, dynajournal.TableOptions{})
	w := recovered(t, s.journal, "a")
	if _, err := w.AppendAt(t.Context(), -1, "event"); !errors.Is(err, dynajournal.ErrInvalidArgument) {
		t.Errorf("AppendAt of version -1: %v", err)
	}
	if _, err := w.AppendAt(t.Context(), 0); !errors.Is(err, dynajournal.ErrInvalidArgument) {
		t.Errorf("AppendAt of no events: %v", err)
	}
	if _, err := w.AppendAt(t.Context(), 0, struct{}{}); !errors.Is(err, dynajournal.ErrRejected) {
		t.Errorf("AppendAt of an event without a serializer: %v", err)
	}
}

// While a recovery reads, other writers delete the events and write more. The last event must never
// be above the highest number.
func TestLastEventOfARecoveryIsOneThatItHasFound(t *testing.T) {
	t.Parallel()
	for at := range 8 {
		t.Run(fmt.Sprint("at request ", at), func(t *testing.T) {
			t.Parallel()
			engine := openEngine(t)
			config := dynajournal.Config{AWS: engine.AWSConfig()}
			createTables(t, config, dynajournal.TableOptions{})
			other := openJournal(t, config)
			w := written(t, other, "a", 1)
			if _, err := w.Append(t.Context(), "batch", "batch", "batch"); err != nil {
				t.Fatal(err)
			}
			var requests atomic.Int64
			config.AWS.HTTPClient = through(config.AWS.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
				if requests.Add(1) == int64(at+1) {
					if _, err := w.Append(r.Context(), "late", "late", "late"); err != nil {
						t.Error(err)
					}
					if _, err := w.DeleteTo(r.Context(), 7); err != nil {
						t.Error(err)
					}
				}
				return send(r)
			})
			config.ReplayParallelism = 1
			j := openJournal(t, config)
			requests.Store(0)
			mine, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{After: 4}, nil)
			if errors.Is(err, dynajournal.ErrDeletedMeanwhile) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			last, lastErr := mine.Last(t.Context())
			next, nextErr := mine.NextSequenceNumber(t.Context())
			if lastErr != nil || nextErr != nil || last >= next {
				t.Errorf("the last event is %d, and the next number %d (%v, %v)", last, next, lastErr, nextErr)
			}
		})
	}
}
