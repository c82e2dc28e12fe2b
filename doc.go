// Package dynajournal is event sourcing on DynamoDB: a journal of events for each entity, stored as the Akka and Pekko
// persistence plug-ins for DynamoDB store it, with guarantees that they lack.
//
// # Use
//
// A [Journal] is opened once, with [Open], on tables that [CreateTables] has made. An entity is named by its persistence id.
// Whoever wants to write recovers first: [Journal.Recover] hands the events of the past to a function that rebuilds the
// state, and then gives out the [Writer], the only thing that appends or deletes. [Journal.Events] reads without a writer.
//
// # Guarantees
//
// Two writers of one persistence id never both succeed for one sequence number: every event is put under the condition that
// nothing stands at its key. The loser gets [ErrWriterConflict] and recovers again.
//
// An acknowledged event is there for every reader until it is deleted. Nothing can appear before it later: a recovery seals
// the numbers that are missing below the highest.
//
// An atomic write, of any number of events, is there as a whole or not at all, for every reader and every window.
//
// An error says whether something was written: rejected events and failed requests were not, [ErrOutcomeUnknown] may have
// been, and the next recovery finds out.
//
// # Costs
//
// An append of one event is one request; the recovery of a small entity two at the same time. Every result carries its
// [Cost] in requests and capacity units, and a [RequestHook] sees each request.
package dynajournal
