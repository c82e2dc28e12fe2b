package tags

import "errors"

// Errors, for errors.Is. Those of the journal are returned as well, such as
// [dynajournal.ErrInvalidArgument] and [dynajournal.ErrThrottled].
var (
	// ErrNoIndex: the table does not exist, or has no index of tags. Make it with [Create].
	ErrNoIndex = errors.New("there is no index of tags")

	// ErrRestored: the table of an index of tags is not the one that the index was made in: it was
	// restored from a backup, or copied. So it may lack entries that its projection does not add
	// again. Build the index anew in another table, or call [AcceptRestored] if the projections
	// table was restored with it.
	ErrRestored = errors.New("the table of the index of tags was restored")
)
