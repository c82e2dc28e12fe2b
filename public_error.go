package dynajournal

import (
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/errorform"
	"github.com/dynajournal/dynajournal/internal/protocol"
)

// public returns the public form of an error of the protocol. An error that wraps such an error
// keeps its text and its chain.
func public(err error) error { return errorform.Public(err, publicForm) }

// publicForm returns the public form of an error, or nil if the error is public itself.
func publicForm(err error) error {
	switch e := err.(type) { //nolint:errorlint // the chain is walked by errorform
	case *protocol.ConflictError:
		return (*ConflictError)(e)
	case *protocol.OutcomeUnknownError:
		return &OutcomeUnknownError{e.PersistenceID, e.First, e.Last, public(e.Err)}
	case *protocol.VersionError:
		return (*VersionError)(e)
	case *protocol.SnapshotMissingError:
		return (*SnapshotMissingError)(e)
	case *protocol.PurgedError:
		return (*PurgedError)(e)
	case *protocol.SnapshotAheadError:
		return (*SnapshotAheadError)(e)
	case *protocol.ClockError:
		return (*ClockError)(e)
	case *protocol.RejectedError:
		return (*RejectedError)(e)
	case *protocol.ContentConflictError:
		return (*ContentConflictError)(e)
	case *core.ArgumentError:
		return (*ArgumentError)(e)
	case *core.DamagedSnapshotError:
		return (*DamagedSnapshotError)(e)
	case *protocol.RecordError:
		return &ArgumentError{"records", e.SequenceNumber, e.Reason}
	case *protocol.EventMissingError:
		return (*EventMissingError)(e)
	case *protocol.HoleError:
		return (*HoleError)(e)
	case *protocol.ItemError:
		return (*ItemError)(e)
	}
	return nil
}
