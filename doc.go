// Package dynajournal is event sourcing on DynamoDB: a journal of events for each entity, stored in
// the format of the Akka and Pekko persistence plug-ins for DynamoDB, with guarantees that they
// lack.
//
// # Use
//
// [Open] opens a [Journal], once for a process, on tables that [CreateTables] has made. Each entity
// has a persistence id. To write, recover first: [Journal.Recover] replays the events of the past
// to a function that rebuilds the state, and returns the [Writer], which appends and deletes.
// [Journal.Events] reads without a writer.
//
// # Guarantees
//
// Fencing: two writers of a persistence id never both succeed for one sequence number. Each event
// is put under the condition that nothing is stored at its key. The other writer gets
// [ErrWriterConflict] and recovers again.
//
// Durability: every reader finds an acknowledged event until it is deleted, and nothing appears
// before it later. A recovery seals the missing numbers below the highest one.
//
// Atomic writes: every reader finds all events of an atomic write or none, however many they are
// and whatever part of the journal it reads.
//
// Errors: after a rejected event or a failed request nothing is written; after [ErrOutcomeUnknown]
// the events may be written, and the next recovery finds out. [MaybeApplied] reports the difference
// for every operation.
//
// # Costs
//
// To append an event takes one request, to recover a small entity two, which are sent at the same
// time. Results have their [Cost] in requests and capacity units, and a [Hook] gets every request.
package dynajournal
