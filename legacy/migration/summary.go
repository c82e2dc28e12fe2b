package migration

import (
	"errors"
	"fmt"
)

// Summary is what a run has done.
type Summary struct {
	// PersistenceIDs is how many were gone through, Skipped how many more the state says are copied.
	PersistenceIDs, Skipped int64
	// Events is how many events were gone through, Written how many of them were not in the target.
	Events, Written int64
	// Snapshots is how many snapshots were gone through, SnapshotsWritten how many were not in the target.
	Snapshots, SnapshotsWritten int64
	// MarkedDeleted, Confirmed and Unreadable count events that Options.Note was told of; Confirmations those of all of them.
	MarkedDeleted, Confirmed, Confirmations, Unreadable int64
	// Failures are the persistence ids that could not be copied, at most MaxFailures of them; Failed is how many.
	Failures []Failure
	Failed   int64
}

// MaxFailures bounds the failures that a summary names.
const MaxFailures = 100

// Failure is a persistence id that could not be copied as a whole, and why. What was copied of it stays, and is right.
type Failure struct {
	PersistenceID string
	Err           error
}

// Errors of this package, for errors.Is. Those of package dynajournal are returned besides, with the same meaning.
var (
	// ErrIncomplete: some persistence ids could not be copied; the error is an *IncompleteError. The others are.
	ErrIncomplete = errors.New("not everything was copied")
	// ErrDifferent: source and target differ; the error is a *DifferentError.
	ErrDifferent = errors.New("the target is not the same as the source")
)

// IncompleteError says how many persistence ids could not be copied, and why the first of them. errors.Is ErrIncomplete.
type IncompleteError struct {
	Failed int64
	First  Failure
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("%v: %d persistence ids failed, the first: %q: %v", ErrIncomplete, e.Failed, e.First.PersistenceID, e.First.Err)
}

// Is makes it ErrIncomplete.
func (e *IncompleteError) Is(target error) bool { return target == ErrIncomplete }

func (e *IncompleteError) Unwrap() error { return e.First.Err }
