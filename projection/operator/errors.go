package operator

import "errors"

// Errors, for errors.Is. Those of the journal and of package projection are returned as well.
var (
	// ErrClaimed: a process is handling the persistence id. Try again later.
	ErrClaimed = errors.New("a process is handling the persistence id")

	// ErrNotStuck: the persistence id is not stuck.
	ErrNotStuck = errors.New("the persistence id is not stuck")
	// ErrNoIndex reports that the projections table has no index of debts that can be read: an
	// earlier version has made the table, the index is being filled, or a policy does not allow to
	// read it.
	ErrNoIndex = errors.New("the index of debts can't be read")
)
