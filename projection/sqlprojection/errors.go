package sqlprojection

import (
	"errors"

	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Errors, for errors.Is. Those of the journal and of package projection are returned as well.
var (
	// ErrNoOffsetsTable: the table dynajournal_offsets of a SQL database can't be used. It could
	// not be made, has other columns, or a permission is missing.
	ErrNoOffsetsTable = engine.ErrNoOffsetsTable

	// ErrTransactionEnded: the transaction that a handler of [New] was called with has ended before
	// the offset was stored: the handler has ended it, or the database has after an error that the
	// handler did not return.
	ErrTransactionEnded = errors.New("the transaction has ended within the handler")
)
