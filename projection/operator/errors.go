package operator

import "errors"

// Errors for errors.Is. Errors of the journal and of package projection are also returned.
var (
	// ErrClaimed: a process is handling the persistence id. Try again later.
	ErrClaimed = errors.New("a process is handling the persistence id")

	// ErrNotStuck: the persistence id is not stuck.
	ErrNotStuck = errors.New("the persistence id is not stuck")
	// ErrNoIndex: the projections table has no readable index of debts. Either an earlier version
	// has made the table, or the index is still being filled, or a policy denies reading it.
	ErrNoIndex = errors.New("the index of debts can't be read")
)
