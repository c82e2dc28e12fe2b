package core

import (
	"errors"
	"fmt"
)

// Errors of the root package, for errors.Is. The root documents them.
var (
	ErrClosed          = errors.New("the journal is closed")
	ErrInvalidArgument = errors.New("invalid argument")
)

// ErrManifestNotText rejects events and states whose manifest is not valid UTF-8: reading would not
// return the manifest that was written.
var ErrManifestNotText = errors.New("its manifest is not valid UTF-8")

// ErrNoMetadata rejects events with metadata or tags in a journal that does not store them.
var ErrNoMetadata = errors.New("the journal stores no metadata and tags: see Config.EventMetadata")

// MustNotBeNegative is a frequent Reason of an [ArgumentError].
const MustNotBeNegative = "it must not be negative"

// ArgumentError is the form of the root's ArgumentError in this package. It is an
// ErrInvalidArgument.
type ArgumentError struct {
	Argument string
	Value    any
	Reason   string
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("%v: %s = %v: %s", ErrInvalidArgument, e.Argument, quoted(e.Value), e.Reason)
}

// Is reports whether target is ErrInvalidArgument.
func (e *ArgumentError) Is(target error) bool { return target == ErrInvalidArgument }

// quoted returns a string in quotes, shortened if it is long, and any other value as it is.
func quoted(v any) any {
	const longest = 60
	s, ok := v.(string)
	if !ok {
		return v
	}
	if len(s) > longest {
		return fmt.Sprintf("%.*q… (%d bytes)", longest, s, len(s))
	}
	return fmt.Sprintf("%q", s)
}

// DamagedSnapshotError is the form of the root's DamagedSnapshotError in this package.
type DamagedSnapshotError struct {
	PersistenceID  string
	SequenceNumber int64
	Err            error
}

func (e *DamagedSnapshotError) Error() string {
	return fmt.Sprintf("the snapshot of %q at %d is damaged: %v", e.PersistenceID, e.SequenceNumber, e.Err)
}

func (e *DamagedSnapshotError) Unwrap() error { return e.Err }
