package legacy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/legacy"
)

// inject makes requests fail until the returned function is called.
func (b *fixture) inject(f embedded.Fault) (stop func()) {
	b.Helper()
	stop, err := b.engine.Inject(f)
	if err != nil {
		b.Fatalf("inject %+v: %v", f, err)
	}
	return stop
}

// hook returns a hook that calls f after each attempt of a request.
func hook(f func(dynajournal.Request)) dynajournal.Hook {
	return dynajournal.Hook{OnRequest: func(_ context.Context, r dynajournal.Request) { f(r) }}
}

// span returns the numbers from first to last.
func span(first, last int64) []int64 {
	var all []int64
	for n := first; n <= last; n++ {
		all = append(all, n)
	}
	return all
}

// TestJournal_FaultsFixedByRetries writes, reads, deletes and recovers while requests fail in every
// way that a retry can fix.
func TestJournal_FaultsFixedByRetries(t *testing.T) {
	t.Parallel()
	const events, deleted = 130, 40
	// Layouts of one kind differ only in the names of tables and keys.
	for _, layout := range testsize.Of([]legacy.Layout{legacy.HashKey, legacy.Naive}, legacy.Layouts()) {
		for name, fault := range map[string]embedded.Fault{
			"unprocessed":  {Effect: embedded.EffectUnprocessed, Some: true, Every: 2},
			"throttling":   {Effect: embedded.EffectThroughputExceeded, Every: 3},
			"lost answers": {Effect: embedded.EffectReset, Applied: true, Operation: "BatchWriteItem", Every: 2},
			"lost reads":   {Effect: embedded.EffectReset, Operation: "*Get*", Every: 3},
			"lost queries": {Effect: embedded.EffectReset, Operation: "Query", Every: 2},
			"errors":       {Effect: embedded.EffectInternalError, Operation: "*Get*", Every: 2},
			"updates":      {Effect: embedded.EffectReset, Applied: true, Operation: "UpdateItem", Every: 2},
			"truncated":    {Effect: embedded.EffectTruncated, Operation: "*Get*", Every: 4},
		} {
			t.Run(layout.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				b := newFixture(t, layout)
				b.config.Journal.SequenceShards = 150 // two requests of marks
				b.config.Journal.Retries, b.config.Journal.BackoffCap = 60, 2*time.Millisecond
				j := b.open()
				defer b.inject(fault)()
				w := b.recovered(j, "a")
				b.write(w, events)
				if got := numbers(b.read(j, "a", dynajournal.Range{})); !slices.Equal(got, span(1, events)) {
					t.Errorf("read %v, want 1 to %d", got, events)
				}
				if got := b.bounds(b.open(), "a"); got.Highest != events {
					t.Errorf("the highest number is %d, want %d", got.Highest, events)
				}
				b.deleteTo(w, deleted, legacy.Permanent)
				var seen []int64
				again, err := b.open().Recover(t.Context(), "a", dynajournal.RecoverOptions{}, func(e legacy.Event) error {
					seen = append(seen, e.SequenceNumber)
					return nil
				})
				if err != nil || !slices.Equal(seen, span(deleted+1, events)) {
					t.Errorf("recovered %v, %v; want %d to %d", seen, err, deleted+1, events)
				}
				b.write(again, 1)
				if layout == legacy.Naive {
					return
				}
				b.deleteTo(again, deleted+10, legacy.Mark)
				marked := 0
				for _, e := range b.read(j, "a", dynajournal.Range{}) {
					if e.Deleted {
						marked++
					}
				}
				if marked != 10 {
					t.Errorf("%d events are marked, want 10", marked)
				}
			})
		}
	}
}

// TestPutWhoseAnswerWasLostIsAcknowledgedOnce loses the response to the put of the event, to the
// put of the mark, and to both.
func TestPutWhoseAnswerWasLostIsAcknowledgedOnce(t *testing.T) {
	t.Parallel()
	for _, layout := range legacy.Layouts() {
		for _, nth := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("%s put %d", layout, nth), func(t *testing.T) {
				t.Parallel()
				b := newFixture(t, layout)
				j := b.open()
				w := b.recovered(j, "a")
				stop := b.inject(embedded.Fault{Effect: embedded.EffectReset, Applied: true, Operation: "PutItem",
					Nth: nth})
				b.write(w, 3)
				stop()
				if got := numbers(b.read(b.open(), "a", dynajournal.Range{})); !slices.Equal(got, span(1, 3)) {
					t.Errorf("read %v, want 1 to 3", got)
				}
			})
		}
	}
}

// TestAppend_SameEventOfAnotherWriterBeforeRetry loses a put that was not applied. Before the
// retry another writer writes exactly the same event.
func TestAppend_SameEventOfAnotherWriterBeforeRetry(t *testing.T) {
	t.Parallel()
	for _, layout := range legacy.Layouts() {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, layout)
			other := b.recovered(b.open(), "a")
			var once atomic.Bool
			slow := *b
			slow.config.Journal.Hooks = []dynajournal.Hook{hook(func(r dynajournal.Request) {
				if r.Operation == "PutItem" && r.Err != nil && once.CompareAndSwap(false, true) {
					b.write(other, 1)
				}
			})}
			w := slow.recovered(slow.open(), "a")
			defer b.inject(embedded.Fault{Effect: embedded.EffectReset, Operation: "PutItem", Nth: 1})()
			_, err := w.Append(t.Context(), []byte("event"))
			if !errors.Is(err, dynajournal.ErrWriterConflict) && !errors.Is(err, dynajournal.ErrOutcomeUnknown) {
				t.Errorf("the writer whose put was lost gets %v, although the event is the other writer's", err)
			}
			if _, err := w.Append(t.Context(), []byte("event")); !errors.Is(err, dynajournal.ErrWriterEnded) {
				t.Errorf("then it gets %v, want that it has ended", err)
			}
			b.write(other, 1)
			if got := numbers(b.read(b.open(), "a", dynajournal.Range{})); !slices.Equal(got, span(1, 2)) {
				t.Errorf("read %v, want 1 and 2", got)
			}
		})
	}
}

// TestAppend_MarkRefused refuses the high mark. The outcome is unknown, every reader finds
// the event, and a recovery puts the mark.
func TestAppend_MarkRefused(t *testing.T) {
	t.Parallel()
	for _, layout := range []legacy.Layout{legacy.HashKey, legacy.HashKeyUnprefixed} {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, layout)
			b.config.Journal.Retries = -1
			j := b.open()
			w := b.recovered(j, "a")
			b.write(w, 2)
			stop := b.inject(embedded.Fault{Effect: embedded.EffectThrottling, Operation: "PutItem", Key: "*SH-a-3"})
			_, err := w.Append(t.Context(), []byte("event"))
			stop()
			if !errors.Is(err, dynajournal.ErrOutcomeUnknown) {
				t.Fatalf("Append without its mark returned %v, want an unknown outcome", err)
			}
			if got := b.bounds(j, "a"); got.Highest != 3 {
				t.Errorf("the highest number is %d, want 3", got.Highest)
			}
			if got := numbers(b.read(j, "a", dynajournal.Range{})); !slices.Equal(got, span(1, 3)) {
				t.Errorf("read %v, want 1 to 3", got)
			}
			l, err := j.List(t.Context(), "a")
			if err != nil || !slices.Equal(l.HighMarks, span(1, 2)) {
				t.Errorf("a reader has left the high marks at %v, %v; want 1 and 2", l.HighMarks, err)
			}
			again := b.recovered(j, "a")
			if l, err = j.List(t.Context(), "a"); err != nil || !slices.Equal(l.HighMarks, span(1, 3)) {
				t.Errorf("a recovery has left the high marks at %v, %v; want 1 to 3", l.HighMarks, err)
			}
			b.write(again, 1)
			if got := numbers(b.read(j, "a", dynajournal.Range{})); !slices.Equal(got, span(1, 4)) {
				t.Errorf("read %v, want 1 to 4", got)
			}
		})
	}
}

// TestAppend_RecoveryBeforeMark lets another writer recover between the put of the
// event and the put of the mark.
func TestAppend_RecoveryBeforeMark(t *testing.T) {
	t.Parallel()
	b := newFixture(t, legacy.HashKey)
	reader := b.open()
	var other *legacy.Writer
	slow := *b
	slow.config.Journal.Hooks = []dynajournal.Hook{hook(func(r dynajournal.Request) {
		if r.Operation == "PutItem" && other == nil {
			other = b.recovered(reader, "a")
		}
	})}
	w := slow.recovered(slow.open(), "a")
	if _, err := w.Append(t.Context(), []byte("event")); err != nil {
		t.Errorf("Append of an event that a recovery has found: %v", err)
	}
	if n, err := other.NextSequenceNumber(t.Context()); err != nil || n != 2 {
		t.Errorf("the other writer continues at %d, %v; want 2", n, err)
	}
	b.write(other, 1)
	if _, err := w.Append(t.Context(), []byte("late")); !errors.Is(err, dynajournal.ErrWriterConflict) {
		t.Errorf("the first writer gets %v, want a conflict", err)
	}
}

// TestAppend_StaleWriterAtRemovedNumber lets a writer continue at numbers where events were written
// and removed meanwhile. The writer gets a conflict, and leaves nothing.
func TestAppend_StaleWriterAtRemovedNumber(t *testing.T) {
	t.Parallel()
	for _, layout := range legacy.Layouts() {
		for _, shards := range []int{1, 3, 1000} {
			t.Run(fmt.Sprintf("%s %d shards", layout, shards), func(t *testing.T) {
				t.Parallel()
				b := newFixture(t, layout)
				b.config.Journal.SequenceShards = shards
				stale := b.recovered(b.open(), "a")
				b.write(stale, 2)
				w := b.recovered(b.open(), "a")
				b.write(w, 5)
				b.deleteTo(w, 6, legacy.Permanent)
				before := b.items()
				if _, err := stale.Append(t.Context(), []byte("late")); !errors.Is(err, dynajournal.ErrWriterConflict) {
					t.Errorf("the stale writer gets %v, want a conflict", err)
				}
				if after := b.items(); len(after) != len(before) {
					t.Errorf("the stale writer has left %d items where %d were", len(after), len(before))
				}
				if got := numbers(b.read(b.open(), "a", dynajournal.Range{})); !slices.Equal(got, []int64{7}) {
					t.Errorf("read %v, want 7", got)
				}
				b.write(w, 1)
			})
		}
	}
}

// TestAppend_EventMarkedBeforeReturn lets a recovery find an event, and mark it as deleted, before
// the writer's append returns.
func TestAppend_EventMarkedBeforeReturn(t *testing.T) {
	t.Parallel()
	b := newFixture(t, legacy.HashKey)
	reader := b.open()
	var once bool
	slow := *b
	slow.config.Journal.Hooks = []dynajournal.Hook{hook(func(r dynajournal.Request) {
		if r.Operation == "PutItem" && !once {
			once = true
			other := b.recovered(reader, "a")
			b.deleteTo(other, 1, legacy.Mark)
		}
	})}
	w := slow.recovered(slow.open(), "a")
	if _, err := w.Append(t.Context(), []byte("event")); !errors.Is(err, dynajournal.ErrWriterConflict) {
		t.Errorf("Append of an event that was taken over and marked: %v, want a conflict", err)
	}
	if got := numbers(b.read(reader, "a", dynajournal.Range{})); !slices.Equal(got, []int64{-1}) {
		t.Errorf("read %v, want the marked event 1: it was taken over, so it stays", got)
	}
}

// TestSnapshotBeyondTheJournal recovers from a snapshot that is newer than the journal.
func TestSnapshotBeyondTheJournal(t *testing.T) {
	t.Parallel()
	for _, layout := range legacy.Layouts() {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, layout)
			stale := b.recovered(b.open(), "a")
			b.write(stale, 3)
			w, err := b.open().Recover(t.Context(), "a", dynajournal.RecoverOptions{Snapshot: 20},
				func(legacy.Event) error { return errors.New("there is nothing to replay") })
			if err != nil {
				t.Fatalf("Recover: %v", err)
			}
			// The naive layouts store the snapshot's number only with the next event.
			if layout == legacy.Naive || layout == legacy.NaiveProcessor {
				b.write(w, 1)
			}
			if _, err := stale.Append(t.Context(), []byte("late")); !errors.Is(err, dynajournal.ErrWriterConflict) {
				t.Errorf("the earlier writer gets %v, want a conflict", err)
			}
			b.write(w, 1)
			got := numbers(b.read(b.open(), "a", dynajournal.Range{From: 4}))
			if len(got) == 0 || got[0] != 21 {
				t.Errorf("the next events are %v, want 21 and so on", got)
			}
		})
	}
}

// TestDeleteTo_Interrupted stops a deletion at each of its requests.
func TestDeleteTo_Interrupted(t *testing.T) {
	t.Parallel()
	for _, layout := range legacy.Layouts() {
		for _, how := range []legacy.Deletion{legacy.Permanent, legacy.Mark} {
			if how == legacy.Mark && layout == legacy.Naive {
				continue
			}
			t.Run(fmt.Sprintf("%s %d", layout, how), func(t *testing.T) {
				t.Parallel()
				// Each request is once not applied, and once applied with a lost response.
				for try, cut := 2, true; cut; try += testsize.Of(3, 1) {
					nth, applied := try/2, try%2 == 1
					b := newFixture(t, layout)
					b.config.Journal.SequenceShards, b.config.Journal.Retries = 4, -1
					w := b.recovered(b.open(), "a")
					b.write(w, 11)
					b.deleteTo(w, 2, how)
					stop := b.inject(embedded.Fault{Effect: embedded.EffectReset, Applied: applied, Nth: nth})
					_, err := w.DeleteTo(t.Context(), 9, how)
					stop()
					cut = err != nil
					again := b.recovered(b.open(), "a")
					b.deleteTo(again, 9, how)
					for _, e := range b.read(b.open(), "a", dynajournal.Range{}) {
						if e.SequenceNumber <= 9 && !e.Deleted {
							t.Fatalf("cut at request %d, event %d is left after the next deletion", nth,
								e.SequenceNumber)
						}
					}
					if got := b.bounds(b.open(), "a").Highest; got != 11 {
						t.Fatalf("cut at request %d, the highest number is %d, want 11", nth, got)
					}
				}
			})
		}
	}
}

// TestAppend_Cancelled ends the context before the event is sent, and between two attempts of its
// put.
func TestAppend_Cancelled(t *testing.T) {
	t.Parallel()
	for _, layout := range legacy.Layouts() {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, layout)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			returned := make(chan struct{})
			var once atomic.Bool
			b.config.Journal.Hooks = []dynajournal.Hook{hook(func(r dynajournal.Request) {
				if r.Operation == "PutItem" && r.Err != nil && once.CompareAndSwap(false, true) {
					cancel()
					<-returned // the next attempt begins when the caller has returned
				}
			})}
			w := b.recovered(b.open(), "a")
			ended, end := context.WithCancel(t.Context())
			end()
			if _, err := w.Append(ended, []byte("event")); !errors.Is(err, context.Canceled) ||
				errors.Is(err, dynajournal.ErrOutcomeUnknown) {
				t.Errorf("Append with a context that has ended: %v, want that nothing was sent", err)
			}
			b.write(w, 1)
			defer b.inject(embedded.Fault{Effect: embedded.EffectReset, Operation: "PutItem", Nth: 1})()
			_, err := w.Append(ctx, []byte("event"))
			close(returned)
			if !errors.Is(err, dynajournal.ErrOutcomeUnknown) {
				t.Errorf("Append whose context ends after it was sent: %v, want an unknown outcome", err)
			}
			if _, err := w.Append(t.Context(), []byte("event")); !errors.Is(err, dynajournal.ErrWriterEnded) {
				t.Errorf("then Append returns %v, want that the writer has ended", err)
			}
		})
	}
}

// TestAppend_SameEventOfAnotherWriter lets two writers write exactly the same event, without a
// fault.
func TestAppend_SameEventOfAnotherWriter(t *testing.T) {
	t.Parallel()
	for _, layout := range legacy.Layouts() {
		b := newFixture(t, layout)
		b.config.Journal.SequenceShards = 10
		j := b.open()
		w, other := b.recovered(j, "a"), b.recovered(j, "a")
		b.write(other, 1)
		if _, err := w.Append(t.Context(), []byte("event")); !errors.Is(err, dynajournal.ErrWriterConflict) {
			t.Errorf("%s: the second writer of an event gets %v, want a conflict", layout, err)
		}
	}
}

// TestDeleteTo_EventRemovedBeforeMark removes an event after a deletion has read
// it and before the deletion marks it.
func TestDeleteTo_EventRemovedBeforeMark(t *testing.T) {
	t.Parallel()
	for _, layout := range []legacy.Layout{legacy.HashKey, legacy.NaiveProcessor} {
		b := newFixture(t, layout)
		var armed atomic.Bool
		b.config.Journal.SequenceShards, b.config.Journal.ReplayParallelism = 10, 1
		b.config.Journal.Hooks = []dynajournal.Hook{hook(func(r dynajournal.Request) {
			// Event 1 is marked, event 2 was read.
			if r.Operation == "UpdateItem" && armed.CompareAndSwap(true, false) {
				_, err := b.table.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
					TableName: aws.String(dynajournal.DefaultJournalTable), Key: eventKey(layout, "a", 2),
				})
				if err != nil {
					t.Error(err)
				}
			}
		})}
		j := b.open()
		w := b.recovered(j, "a")
		b.write(w, 3)
		armed.Store(true)
		b.deleteTo(w, 2, legacy.Mark)
		l, err := j.List(t.Context(), "a")
		if err != nil || len(l.WithoutPayload) > 0 || !slices.Equal(l.SequenceNumbers, []int64{1, 3}) ||
			!slices.Equal(l.Deleted, []int64{1}) {
			t.Errorf("%s: List gives %+v, %v; want event 1, marked, and 3", layout, l, err)
		}
	}
}
