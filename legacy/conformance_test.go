package legacy_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"strconv"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/journaltest"
	"github.com/dynajournal/dynajournal/legacy"
)

const (
	newerSnapshot    = "a snapshot that is newer than the journal is taken for the truth"
	olderEventsStay  = "reading looks at no low mark in this layout, so events before the snapshot are read as before; TestSnapshotBeyondTheJournal has the rest"
	noAtomicWrites   = "the older layouts have no atomic writes of several events"
	noPurge          = "the older layouts have no purge"
	lastEventStays   = "the layout knows the highest number by the last event alone, so that can't be removed"
	snapshotsUnknown = "the layout has no mark that could remember a snapshot beyond the journal before the next event is written"
)

// TestJournalConforms runs the suite on every layout, once for each kind of deletion that the
// layout supports.
func TestJournalConforms(t *testing.T) {
	t.Parallel()
	purges := map[string]string{
		"purge leaves nothing to replay, and the id can be used again": noPurge,
		"purge of an id that was never written":                        noPurge,
		"a stale writer can't write after a purge":                     noPurge,
	}
	with := func(more map[string]string) map[string]string {
		maps.Copy(more, purges)
		return more
	}
	for i, run := range []struct {
		layout legacy.Layout
		how    legacy.Deletion
		skip   map[string]string
	}{
		{legacy.HashKey, legacy.Permanent, with(map[string]string{newerSnapshot: olderEventsStay})},
		{legacy.HashKey, legacy.Mark, with(map[string]string{newerSnapshot: olderEventsStay})},
		{legacy.HashKeyUnprefixed, legacy.Permanent, with(map[string]string{newerSnapshot: olderEventsStay})},
		{legacy.Naive, legacy.Permanent, with(map[string]string{
			"deletion keeps the highest number":                    lastEventStays,
			"deletion again, lower, and beyond the highest":        lastEventStays,
			"an emptied entity continues":                          lastEventStays,
			"a stale writer can't write where events were deleted": lastEventStays,
			newerSnapshot: snapshotsUnknown,
		})},
		{legacy.NaiveProcessor, legacy.Permanent, with(map[string]string{
			newerSnapshot: snapshotsUnknown,
		})},
		{legacy.NaiveProcessor, legacy.Mark, with(map[string]string{
			newerSnapshot: snapshotsUnknown,
		})},
	} {
		if !testsize.Long && i != 1 && i != 3 {
			continue // two of the six cover each kind of layout and each kind of deletion
		}
		how := "permanent"
		if run.how == legacy.Mark {
			how = "mark"
		}
		t.Run(run.layout.String()+" "+how, func(t *testing.T) {
			t.Parallel()
			journaltest.Run(t, journaltest.Suite{
				Open: func(tb testing.TB) journaltest.Store {
					tb.Helper()
					b := newFixture(tb, run.layout)
					b.config.Journal.SequenceShards = 7
					return journaltest.Store{Connect: func(tb testing.TB) journaltest.Journal {
						tb.Helper()
						c := *b
						c.TB = tb
						return adapter{c.open(), run.how}
					}}
				},
				LargestEvent:   func(pid string, seq int64) int { return largestEvent(run.layout, pid, seq) },
				LowestDiffers:  run.layout != legacy.Naive,
				NoAtomicWrites: noAtomicWrites,
				Skip:           run.skip,
			})
		})
	}
}

// largestEvent returns the size of the largest event whose item is within the limit.
func largestEvent(l legacy.Layout, pid string, seq int64) int {
	const uuid, lengthOfLong = 36, 3
	digits := len(strconv.FormatInt(seq, 10))
	taken := map[legacy.Layout]int{
		legacy.HashKey:           len("keyjournal-P--deletedfalse") + len(pid) + digits,
		legacy.HashKeyUnprefixed: len("keyP--deletedfalse") + len(pid) + digits,
		legacy.Naive:             len("persistenceIdsequenceNr") + len(pid) + (digits+1)/2 + 1 + 2 + uuid,
		legacy.NaiveProcessor:    len("processorIdsequenceNrdeletedfalse") + len(pid) + (digits+1)/2 + 1 + 2 + uuid,
	}[l]
	taken += len("payload") +
		1 + lengthOfLong + // the payload with its serializer
		1 + 1 + 1 + lengthOfLong +
		1 + 1 + // the sequence number
		1 + 1 + len(pid)
	if l != legacy.Naive {
		taken += 6 // three flags
	}
	return dynajournal.DefaultMaxItemSize - taken
}

// adapter adapts a journal of an older layout to the suite: it leaves out the events that are
// marked as deleted.
type adapter struct {
	journal *legacy.Journal
	how     legacy.Deletion
}

func (a adapter) Recover(
	ctx context.Context, pid string, r journaltest.Replay, handler func(journaltest.Event) error,
) (journaltest.Writer, error) {
	seen := int64(0)
	w, err := a.journal.Recover(ctx, pid, dynajournal.RecoverOptions{After: r.After, Snapshot: r.Snapshot, To: r.To}, func(e legacy.Event) error {
		if e.Deleted || r.Limit != nil && seen >= *r.Limit {
			return nil
		}
		seen++
		return handler(journaltest.Event{SequenceNumber: e.SequenceNumber, Payload: e.Bytes})
	})
	if err != nil {
		return nil, err
	}
	return adaptedWriter{w, a.how}, nil
}

func (a adapter) Events(
	ctx context.Context, pid string, window journaltest.Window,
) iter.Seq2[journaltest.Event, error] {
	return func(yield func(journaltest.Event, error) bool) {
		r := dynajournal.Range{From: window.From, To: window.To}
		if a.how == legacy.Permanent && a.journal.Layout() != legacy.NaiveProcessor {
			r.Limit = window.Limit
		}
		seen := int64(0)
		for e, err := range a.journal.Events(ctx, pid, r) {
			if err == nil && e.Deleted {
				continue
			}
			if window.Limit != nil && seen >= *window.Limit {
				return
			}
			seen++
			if !yield(journaltest.Event{SequenceNumber: e.SequenceNumber, Payload: e.Bytes}, err) {
				return
			}
		}
	}
}

func (a adapter) Bounds(ctx context.Context, pid string) (journaltest.Bounds, error) {
	b, err := a.journal.Bounds(ctx, pid)
	return journaltest.Bounds(b), err
}

type adaptedWriter struct {
	*legacy.Writer

	how legacy.Deletion
}

func (w adaptedWriter) Append(ctx context.Context, events ...[]byte) (first, last int64, err error) {
	result, err := w.Writer.Append(ctx, anyOf(events)...)
	return result.First, result.Last, err
}

func (w adaptedWriter) AppendEach(ctx context.Context, events ...[]byte) ([]int64, error) {
	outcomes, err := w.Writer.AppendEach(ctx, anyOf(events)...)
	all := make([]int64, len(outcomes))
	for i, o := range outcomes {
		all[i] = o.SequenceNumber
	}
	return all, err
}

func anyOf(events [][]byte) []any {
	values := make([]any, len(events))
	for i, e := range events {
		values[i] = e
	}
	return values
}

func (w adaptedWriter) DeleteTo(ctx context.Context, seq int64) error {
	_, err := w.Writer.DeleteTo(ctx, seq, w.how)
	return err
}

func (adaptedWriter) Purge(context.Context) error { return errors.New(noPurge) }
