// Package projection hands every event of a journal to whoever needs it: read models, outboxes,
// search indexes. No event is missed, and those of one persistence id come in their order.
//
//	group, err := projection.New(journal, projection.Config{Name: "billing"},
//		projection.AtLeastOnce("balances", balances),
//		projection.Transactional("outbox", outbox))
//	if err != nil {
//		return err
//	}
//	return group.Run(ctx) // until ctx ends
//
// # Words
//
// A projection is a name and a handler. The projections of a group run in the same processes. A
// trigger says that a persistence id may have new events. What there is, the journal says: it is
// read when the trigger has come. So a trigger may come late, twice or in any order.
//
// A row in the projections table holds for each projection and persistence id the offset: the
// sequence number up to which all events were handled or are deleted, and the writer of the event
// there. A row that does not exist is the offset 0, the beginning.
//
// # What holds
//
//   - A trigger is done when a reading that began after it has handled everything it found, and the
//     offset is stored. A source repeats a trigger that is not done.
//   - Events of one persistence id are handled in ascending order, and none is passed over. Events
//     that were deleted before they were read are told as a [Gap].
//   - The offset is stored under the condition that nobody else has stored one since it was read.
//   - A handler of [AtLeastOnce] runs under a claim in the row. The offset and the end of the claim
//     are one write. Other processes wait for the claim. If it does not move for
//     Config.ClaimTimeout, its process counts as dead. If that is wrong, events are handled twice,
//     and two handlers of one persistence id may run at once; none is missed.
//   - The items of a handler of [Transactional] and the offset are one transaction: they are
//     written once, whatever crashes.
//   - If a purge has taken the number of a row, the handler is told of the [Purge], and the row
//     continues after the last number of the purge. A stream shows a purge when it happens, a
//     [Sweep] when the persistence id is used again.
//   - An event at the offset of another writer, or none, and no deletion that explains it, shows
//     that everything was erased, or an older journal was restored. The handler is told of a
//     [Purge], too, and the projection handles again what the journal has.
//   - A persistence id that can't be handled for some seconds is owed a run: that is stored before
//     its trigger is done, so that nothing else waits for it. Any process of the group makes the
//     run later.
//   - A persistence id whose handler has failed Config.Attempts times, and for Config.StuckAfter,
//     is stuck: that is stored before its trigger is done. operator.Operator.Retry continues it.
//   - A message of an outbox is sent at least once, with the same id each time. One that the
//     target refuses is stored as a dead letter before the offset moves.
//
// Between persistence ids there is no order.
//
// A projection begins with the first event of each persistence id, or [FromNow].
// operator.Operator.Pause and operator.Operator.Continue work from any process, for all of them.
//
// [OnlyIDs], [OnlyTags] and [OnlyTypes] make a projection take a part of the events. The others
// move its offset all the same.
//
// [Streams] and [Sweep] find what is new while [Group.Run] runs. On AWS Lambda, package awslambda
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
// A JVM stores a later event before an earlier one, and leaves numbers empty for ever. An event
// after a missing number is handled when that number is there, closed or deleted, and at the
// latest when it was missing for Config.HoleWait. Its trigger is not done before. Each number that
// is passed is logged and counted, and so is an event that is stored there later: that is never
// handled. See [Lag].
//
// # Limits
//
// A persistence id that was erased (PurgeOptions.Now, or by a JVM) and is used again, and whose new
// events are deleted or purged up to the offset or beyond before the projection has read them,
// looks as if it had gone on: the erasure is not told.
//
// The journal needs the projections table: see dynajournal.TableOptions.Projections. After a purge
// with PurgeOptions.Now, wait longer than a reading can take, which is Config.OperationTimeout for
// each 100 events, before the persistence id is used again.
package projection
