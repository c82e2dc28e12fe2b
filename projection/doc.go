// Package projection delivers every event of a journal to handlers, for example to update a read
// model, an outbox or a search index. No event is missed, and the events of a persistence id are
// delivered in order.
//
//	group, err := projection.New(journal, projection.Config{Name: "billing"},
//		projection.AtLeastOnce("balances", balances),
//		projection.Transactional("outbox", outbox))
//	if err != nil {
//		return err
//	}
//	return group.Run(ctx) // until ctx ends
//
// # Terms
//
// A projection is a name and a handler. The projections of a group run in the same processes. A
// trigger reports that a persistence id may have new events. It carries no events: the group reads
// them from the journal after the trigger has arrived. So a trigger may arrive late, twice or in
// any order.
//
// The projections table has a row for each projection and persistence id. The row stores the
// offset: the sequence number up to which all events are handled or deleted, and the writer of the
// event at that number. A missing row means the offset 0, before the first event.
//
// # Guarantees
//
//   - A trigger is done when all events that were read after its arrival are handled, and the
//     offset is stored. A source repeats a trigger that is not done.
//   - Events of one persistence id are handled in ascending order, and none is skipped. Events that
//     were deleted before the projection read them are reported as a [Gap].
//   - The offset is stored on condition that no other process has stored one since it was read.
//   - A handler of [AtLeastOnce] runs under a claim in the row. One write stores the offset and
//     releases the claim. Other processes wait for the claim. If it does not change for
//     Config.ClaimTimeout, its process counts as dead. If the process is alive after all, events
//     are handled twice, and two handlers of one persistence id may run at once; no event is
//     missed.
//   - The items of a handler of [Transactional] and the offset are one transaction: they are
//     written once, even after a crash.
//   - If a purge covers the offset of a row, HandlePurge reports the [Purge], and the row continues
//     after the last number of the purge. A stream reports a purge when it happens, a [Sweep] when
//     the persistence id is used again.
//   - The journal may have no event at the offset, or an event of another writer, and no deletion
//     that explains it. Then everything was erased, or an older journal was restored. HandlePurge
//     reports this as a [Purge], and the projection handles the events of the journal again.
//   - For a persistence id that can't be handled for some seconds, the group stores a debt before
//     the trigger is done, so that nothing else waits for it. Any process of the group makes the
//     run later.
//   - A persistence id whose handler has failed Config.Attempts times, and for Config.StuckAfter,
//     becomes stuck. That is stored before its trigger is done. operator.Operator.Retry continues
//     it.
//   - A message of an outbox is sent at least once, with the same id each time. A message that the
//     target refuses is stored as a dead letter before the offset moves.
//
// There is no order between persistence ids.
//
// A projection starts with the first event of each persistence id, or after the existing events
// with [FromNow]. operator.Operator.Pause and operator.Operator.Continue work from any process, and
// apply to all processes.
//
// [OnlyIDs] limits a projection to some persistence ids, [OnlyTags] and [OnlyTypes] to some events.
// Events that OnlyTags and OnlyTypes leave out still move the offset.
//
// [Streams] and [Sweep] find new events while [Group.Run] runs. On AWS Lambda, package awslambda
// does.
//
// # Other packages
//
//   - operator pauses, resets, removes, repairs and measures projections.
//   - sqlprojection has projections whose effects are in a SQL database.
//   - outbox has projections that send messages to other systems.
//   - tags has an index that finds events by their tags.
//   - awslambda runs a group on AWS Lambda.
//
// # Journals that are shared with a JVM
//
// A JVM may store a later event before an earlier one, and may leave numbers empty forever. An
// event after a missing number is handled when the missing number is stored, sealed or deleted, or
// has been missing for Config.HoleWait. Its trigger is not done before. Each missing number that is
// passed is logged and counted. An event that is stored there later is also logged and counted, but
// never handled. See [Lag].
//
// # Limits
//
// The projection does not notice an erasure (by PurgeOptions.Now, or by a JVM) if the persistence
// id is used again, and its new events are deleted or purged up to the offset or beyond before the
// projection reads them. It continues as if nothing had been erased, and reports no Purge.
//
// The journal needs the projections table: see dynajournal.TableOptions.Projections. After a purge
// with PurgeOptions.Now, wait before the persistence id is used again: longer than a read can take,
// which is Config.OperationTimeout for each 100 events.
package projection
