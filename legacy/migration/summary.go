package migration

import (
	"errors"
	"fmt"
)

// Summary is the result of a run.
type Summary struct {
	// PersistenceIDs is the number of ids that were copied or compared. Skipped is the number of
	// ids that the state file already contains.
	PersistenceIDs, Skipped int64
	// Events is the number of events in the source. Written is the number of those events that the
	// target lacked.
	Events, Written int64
	// Snapshots is the number of snapshots in the source. SnapshotsWritten is the number of those
	// snapshots that the target lacked.
	Snapshots, SnapshotsWritten int64
	// MarkedDeleted, Confirmed and Unreadable count the events that were passed to Options.Note.
	// Confirmations counts the confirmations of all of them.
	MarkedDeleted, Confirmed, Confirmations, Unreadable int64
	// Failures contains the first persistence ids that could not be copied, at most MaxFailures.
	// Failed is the number of all such ids.
	Failures []Failure
	Failed   int64
}

// MaxFailures is the largest number of failures in a [Summary], and of differences in a
// [Comparison].
const MaxFailures = 100

// Failure is a persistence id that could not be copied completely. The part that was copied stays,
// and is correct.
type Failure struct {
	PersistenceID string
	Err           error
}

// Errors of this package, for errors.Is. It also returns errors of package dynajournal, with the
// same meaning.
var (
	// ErrIncomplete: some persistence ids could not be copied. All others were copied. The error is
	// an *[IncompleteError].
	ErrIncomplete = errors.New("not everything was copied")
	// ErrDifferent: source and target differ. The error is a *[DifferentError].
	ErrDifferent = errors.New("the target is not the same as the source")
)

// IncompleteError reports the number of persistence ids that could not be copied, and the first
// failure. It matches [ErrIncomplete].
type IncompleteError struct {
	Failed int64
	First  Failure
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("%v: %d persistence ids failed, the first: %q: %v", ErrIncomplete, e.Failed,
		e.First.PersistenceID, e.First.Err)
}

// Is reports whether target is [ErrIncomplete].
func (e *IncompleteError) Is(target error) bool { return target == ErrIncomplete }

func (e *IncompleteError) Unwrap() error { return e.First.Err }
