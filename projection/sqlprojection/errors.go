package sqlprojection

import (
	"errors"

	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// Errors for errors.Is. Errors of the journal and of package projection are also returned.
var (
	// ErrNoOffsetsTable: the table dynajournal_offsets of a SQL database can't be used. It could
	// not be created, has other columns, or a permission is missing.
	ErrNoOffsetsTable = engine.ErrNoOffsetsTable

	// ErrTransactionEnded: the transaction of a handler of [New] ended before the offset was
	// stored. The handler has ended it, or the database has ended it after an error that the
	// handler did not return.
	ErrTransactionEnded = errors.New("the transaction has ended within the handler")
)
