package tags

import "errors"

// Errors for errors.Is. Errors of the journal are also returned, such as
// [dynajournal.ErrInvalidArgument] and [dynajournal.ErrThrottled].
var (
	// ErrNoIndex: the table does not exist, or has no index of tags. Make it with [Create].
	ErrNoIndex = errors.New("there is no index of tags")

	// ErrRestored: the table of the index is not the one that the index was made in. It was
	// restored from a backup, or copied. So it may lack entries that its projection does not add
	// again. Build the index again in another table, or call [AcceptRestored] if the projections
	// table was restored with it.
	ErrRestored = errors.New("the table of the index of tags was restored")
)
