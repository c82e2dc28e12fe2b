package protocol

import (
	"errors"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// ErrDeletedMeanwhile reports that events were deleted after a replay had handed out events before
// them, and before it could hand them out.
var ErrDeletedMeanwhile = errors.New("events were deleted while they were being replayed")

// ErrStop ends a replay without an error, when emit returns it.
var ErrStop = errors.New("stop")

// Unlimited is the Limit of a request for all events.
const Unlimited = -1

// Request selects what to replay.
type Request struct {
	PersistenceID string
	// From and To are the first and the last sequence number to hand out. From is at least 1.
	From, To int64
	// Limit is the maximum number of events to hand out, or Unlimited.
	Limit int64
	// Snapshot reports that From - 1 is the number of the snapshot from which the caller's state
	// was loaded. Without a snapshot the journal must reach From - 1.
	Snapshot bool
	// JournalLost lets a recovery continue after a snapshot that is ahead of the journal.
	JournalLost bool
	// SkipMissing lets a replay continue past numbers of a native journal at which an event is
	// missing. Without it, an *EventMissingError ends the replay. A recovery seals these numbers.
	SkipMissing bool
	// Recover continues after the window to the highest number, seals every gap, and hands out
	// batches whole or not at all.
	Recover bool
	// Latest lets a recovery skip the replay if the newest item shows everything that the recovery
	// returns. Then no event is handed out.
	Latest bool
	// Expect, if set, is the number that the last visible event must have. A recovery that finds
	// another one returns a *VersionError.
	Expect *int64
	// Low, if set, is called with the low mark that applies to the next events: before the first of
	// them, and again when it has moved.
	Low func(layout.LowMark)
	// Missing, if set, is called with the numbers at which nothing is stored, in order, before the
	// event that is handed out after them. Numbers that were deleted are not among them.
	Missing func(Span)
	// Started, if set, is called for every page, after the marks and the page were read and before
	// an event of the page is handed out. It is not called if the replay ends before that.
	Started func()
	// Wait ends the replay before a missing number that may still be written. If it is nil, the
	// replay does not wait.
	Wait *Wait
}

// checkLife returns a *PurgedError if a recovery continues from a state of an earlier life of the
// persistence id.
func (r *Request) checkLife(low layout.LowMark) error {
	if known := r.From - 1; r.Recover && known > 0 && known <= low.Purged {
		return &PurgedError{r.PersistenceID, known, low.Purged}
	}
	return nil
}

// Result is the result of a replay.
type Result struct {
	// Highest is the highest sequence number that is taken. If the replay did not recover, it is
	// the highest one that was read.
	Highest int64
	// Last is the writer of the event at Highest, or empty if no event is stored there.
	Last string
	// Visible is the number of the last visible event of a recovery, even if that event is deleted
	// or purged, or 0 if there never was one. It is at least the number of the snapshot.
	Visible int64
	Marks   layout.Marks
	// Time is the time of the last event that was read, in microseconds since 1970, or 0 if that
	// event does not have a time. Timed reports whether an event was read. Both are set if the
	// replay recovered.
	Time  int64
	Timed bool
	// Decided is the last number that is decided for good, by an event that counts, a tombstone or
	// a seal. It is set if the replay did not recover. After it, members of an atomic write that is
	// not whole may still come to count.
	Decided int64
	// FarMark is the highest high mark if it is damaged (see [End]), otherwise 0.
	FarMark int64
	// Behind is the number after the last one that was read. Missing are the numbers before Behind
	// at which nothing is stored, after the last event that counts. Both are set if the replay did
	// not recover.
	Behind  int64
	Missing []Span
	// Awaited are the missing numbers before which the replay ended because of Request.Wait. First
	// is 0 if it did not.
	Awaited Span
	// top is the last number that was read, or the last deleted one.
	top int64
	// part is the last number of an atomic write that is not whole and follows the last event that
	// counts. It is 0 if there is no such write, or if it can't become whole.
	part int64
	// over reports whether the pages were read to their end.
	over bool
}

// Closed reports whether no event can still appear up to the number to. wait is the Wait of the
// replay, which did not recover.
func (r *Result) Closed(to int64, wait *Wait) bool {
	if r.Behind <= to || r.Awaited.First > 0 || r.part > 0 {
		return false
	}
	for _, span := range r.Missing {
		for seq := span.First; seq <= min(span.Last, to); seq++ {
			if !wait.gaveUp(seq) {
				return false
			}
		}
	}
	return true
}
