package dynajournal

import "slices"

// MaybeApplied reports whether the call that returned err may have changed what readers find: its
// change, or a part of it, is stored, or may be, or may still come to be stored. A caller then
// looks at what is stored before it repeats a change that is not idempotent. If MaybeApplied
// returns false, the call has changed nothing that a reader finds, and may be repeated as it is.
//
// A call that sends several writes at the same time, such as the parts of a snapshot, may report
// true although all were refused: the first refusal cancels the others in flight.
//
// The methods and functions that change what is stored:
//
//   - [Writer.Append], [Writer.AppendAt]: true for [ErrOutcomeUnknown] alone. Recover the
//     persistence id to find out. For all other errors, [ErrWriterConflict] and [ErrVersion] among
//     them, nobody will ever read any of the events.
//   - [Writer.AppendEach]: for the error of an [Outcome], as for Append. For the error of the call,
//     true also if any of the events was written: append only those that were not.
//   - [Writer.DeleteTo], [Writer.Purge], [Journal.DeleteSnapshots], [DeleteTables]: true if any
//     request that deletes or marks was done or may have been. All may be repeated: they go on
//     where they stopped. After an error of Purge, recover first.
//   - [Journal.SaveSnapshot], [Journal.CopySnapshot], [Journal.PutRecords],
//     [Journal.UpgradeEvents], [Journal.Repair], [Journal.RepairAll], [CreateTables],
//     [UpdateTables]: true if any request that writes was done or may have been. All are
//     idempotent.
//   - [Journal.Recover] and the reading methods: false. What a recovery stores (seals and marks) is
//     no change to a reader, and it may always be repeated.
//
// The methods of package legacy that have the same name return errors with the same meaning. Of an
// error of the caller's own code, such as a Recover handler, MaybeApplied reports what the errors
// that it wraps report. [ErrWriterEnded], [ErrClosed], [ErrInvalidArgument], [ErrRejected] and
// [ErrVersion] alone are false: nothing was sent.
func MaybeApplied(err error) bool {
	if known, ok := err.(interface{ MaybeApplied() bool }); ok {
		return known.MaybeApplied()
	}
	switch e := err.(type) { //nolint:errorlint // the chain is walked here
	case interface{ Unwrap() error }:
		return MaybeApplied(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), MaybeApplied)
	}
	return false
}
