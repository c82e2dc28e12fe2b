// Package dynajournal implements event sourcing on DynamoDB. It stores a journal of events for each
// entity, in the format of the Akka and Pekko persistence plug-ins for DynamoDB, and adds
// guarantees that these plug-ins lack.
//
// # Use
//
// [CreateTables] makes the tables, and [Open] opens a [Journal] on them, once in each process. Each
// entity has a persistence id. To write, recover first: [Journal.Recover] replays the stored events
// to a function that rebuilds the state, and returns the [Writer], which appends and deletes
// events. [Journal.Events] reads without a writer.
//
// # Guarantees
//
// Fencing: two writers of a persistence id never both succeed for one sequence number. Each event
// is put on the condition that nothing is stored at its key. The writer that comes second gets
// [ErrWriterConflict] and must recover again.
//
// Durability: every reader finds an acknowledged event until it is deleted, and no event appears
// later at a lower sequence number. A recovery seals missing numbers below the highest number.
//
// Atomic writes: every reader finds all events of an atomic write or none. This is true for any
// number of events, and for a reader of any part of the journal.
//
// Errors: after a rejected event or a failed request nothing is written. After [ErrOutcomeUnknown]
// the events may be written, and the next recovery finds out. [MaybeApplied] reports which applies,
// for every operation. Where a method documents request errors, these are [ErrThrottled],
// [ErrUnavailable], [ErrDenied] and the errors declared with them, or the error of the context.
//
// # Costs
//
// Appending an event takes one request. Recovering a small entity takes two requests, which are
// sent at the same time. Results report their [Cost] in requests and capacity units, and a [Hook]
// gets every request.
package dynajournal
