//go:build !mutants

package safeguard

// The safeguards, by topic. Each is also in mutants.go, and in killers_test.go with a test that
// needs it.
const (
	// Conditional: an event is put only where nothing is stored.
	Conditional = true
	// ConditionalMembers: so is every member of an atomic write.
	ConditionalMembers = true
	// Seal: a recovery seals the gaps that it finds.
	Seal = true
	// OwnItem: a put that finds its own item has succeeded.
	OwnItem = true
	// UnprocessedSent: unprocessed items of a batch are sent again.
	UnprocessedSent = true
	// FullPartitionFollowed: reading continues after a full partition, whatever the high mark is.
	FullPartitionFollowed = true
	// GapReread: a reader reads a gap once more before it accepts it.
	GapReread = true
	// LowReread: an irregularity is judged by a low mark that was read afterwards.
	LowReread = true
	// Tombstones: a deleted event leaves a tombstone.
	Tombstones = true
	// Cut: the low mark names the atomic write that it cuts.
	Cut = true
	// MarksRise: a mark never goes down.
	MarksRise = true
	// HighMark: an event is acknowledged only when the high mark that it needs is stored.
	HighMark = true
	// LowMarkFirst: a deletion puts the low mark before it removes anything.
	LowMarkFirst = true
	// IdleCheck: a writer that was idle for long reads the journal before it writes.
	IdleCheck = true
	// DeletedSince: a put that finds a deleted number after an attempt without a response does not
	// report that it was never applied.
	DeletedSince = true
	// Fence: the number after the highest is taken before the low mark is raised beyond it.
	Fence = true
	// FenceRaises: a recovery that finds a fence above the low mark raises the low mark.
	FenceRaises = true
	// Hold: a tombstone over which a recovery raises the low mark can't expire before.
	Hold = true
	// RenewMarks: a writer that uses a purged persistence id again puts its marks again.
	RenewMarks = true
	// RenewExisting: it does so only while they exist.
	RenewExisting = true
	// ExpiringReread: a low mark that is read again also shows that the marks expire.
	ExpiringReread = true
	// StillLast: after the whole fence window a writer checks that the last event is still the one
	// it knows.
	StillLast = true
	// TakenOver: a purge continues only while the persistence id is not used again.
	TakenOver = true
	// PurgeLasts: the low mark of a purge does not expire before everything is removed.
	PurgeLasts = true

	// An append and its writer.

	// WrittenUnknown: a write of which only the high mark was rejected is not reported as failed.
	WrittenUnknown = true
	// PartEnds: a writer ends when a part of an atomic write was written.
	PartEnds = true
	// UnknownEnds: a writer ends when the outcome of a write is unknown.
	UnknownEnds = true
	// LowMoved: after a pause a writer ends if the low mark has moved.
	LowMoved = true
	// HighMarkRepaired: a recovery puts a missing high mark.
	HighMarkRepaired = true
	// OwnFence: a writer continues after a snapshot only after a fence of its own.
	OwnFence = true

	// Deletions.

	// CutReread: a deletion that cuts no whole atomic write reads the low mark again.
	CutReread = true
	// CutWhole: a deletion names the atomic write that it cuts only if all members up to there
	// exist.
	CutWhole = true
	// CutBefore: an atomic write that begins below the low mark is cut again only if it was cut
	// before.
	CutBefore = true
	// TombstoneCut: in a shared journal the tombstone of the last deleted number names the atomic
	// write that was cut.
	TombstoneCut = true
	// CutKept: a writer that checks late keeps the rest of a write that a deletion by Go has cut.
	CutKept = true
	// EachTombstoneCut: with one shard not only the tombstone of the last deleted number names it.
	EachTombstoneCut = true
	// HighestStays: in a shared journal a deletion leaves a seal at the highest number.
	HighestStays = true

	// Purges.

	// FenceChecked: a purge ends if something else than its fence is stored.
	FenceChecked = true
	// Orphans: a purge removes the events below the end of the removal.
	Orphans = true
	// LastWriteClosed: a recovery that goes on after a snapshot newer than the journal closes the
	// atomic write at the end.
	LastWriteClosed = true
	// FenceExpires: the fence of a snapshot newer than the journal expires when the low mark is
	// raised.
	FenceExpires = true
	// LeftoverIgnored: tombstones and high marks of a purge that have expired count as removed.
	LeftoverIgnored = true
	// LeftoverRemoved: what has expired is removed where it keeps a number taken.
	LeftoverRemoved = true
	// LowMarkOutlives: the low mark of a purge expires after everything else.
	LowMarkOutlives = true
	// HoldFence: a recovery holds a fence only, not the tombstone that has replaced it.
	HoldFence = true
	// TornPurged: a purge removes members of a torn atomic write in later partitions.
	TornPurged = true
	// PurgedSnapshots: a purge removes snapshots that are newer than the journal, too.
	PurgedSnapshots = true
	// EraseChecked: an erasing purge first checks whether another writer has written.
	EraseChecked = true
	// HoldExpiry: a recovery holds only the very tombstone that it has read.
	HoldExpiry = true
	// HoldVanished: if a tombstone has vanished before it was held, a recovery reads again.
	HoldVanished = true
	// RenewedBefore: a low mark that an attempt without a response has renewed counts as renewed.
	RenewedBefore = true

	// Reading.

	// LowStampedBefore: a low mark counts as read when its read began, not when that ended.
	LowStampedBefore = true
	// SeenAfter: a low mark that was read in parallel with the first page counts only for pages
	// that were read before it.
	SeenAfter = true
	// SeenCovers: such a low mark counts only if it was read wherever it can be.
	SeenCovers = true
	// CutJudged: a low mark that cuts another atomic write judges differently.
	CutJudged = true
	// DeletedMeanwhile: a recovery ends if events were deleted after it had begun to hand out, and
	// before it reached them.
	DeletedMeanwhile = true
	// SealConfirmed: at a seal of a shared journal a replay reads the low mark again.
	SealConfirmed = true
	// SameBatch: an event continues an atomic write only if it names the same one.
	SameBatch = true
	// MembersOfBatch: the same holds for members that are read separately.
	MembersOfBatch = true
	// HeadRead: members before the first number that was read are read separately.
	HeadRead = true
	// HeadCut: an atomic write whose beginning was deleted counts only if the low mark names it as
	// whole.
	HeadCut = true
	// HighestSearched: a recovery that finds nothing after its snapshot searches the highest number
	// before it.
	HighestSearched = true
	// SearchBack: the highest number is also searched before an empty partition.
	SearchBack = true
	// SealReturnsEvent: a seal that finds an event returns it.
	SealReturnsEvent = true

	// Repairs and upgrades.

	// ReplacedUnchanged: a repair replaces an item only if it is unchanged.
	ReplacedUnchanged = true
	// StillExpired: a repair removes a tombstone only if its present expiry is over.
	StillExpired = true
	// UnwrapUnchanged: an upgrade replaces an event only if it is unchanged.
	UnwrapUnchanged = true

	// Listing, and the header.

	// FirstListed: the first event lists its persistence id.
	FirstListed = true
	// SealListed: a seal in its place does so, too.
	SealListed = true
	// LowMarkListed: a low mark does so, too.
	LowMarkListed = true
	// ListedOnce: a persistence id with several entries is listed once.
	ListedOnce = true
	// KnownVersion: a journal of an unknown version is not opened.
	KnownVersion = true

	// Requests.

	// MaybeStays: a write that an earlier attempt may have applied may be applied, whatever a later
	// response is.
	MaybeStays = true
	// MemberMaybeStays: the same holds for one event in a shared request.
	MemberMaybeStays = true
	// WritesNotHedged: a request that writes is sent once for each attempt, also in a recovery.
	WritesNotHedged = true
	// LostAmbiguous: a write without a response may have been applied.
	LostAmbiguous = true
	// Progress: a batch with fewer and fewer unprocessed items continues.
	Progress = true
	// Checksum: a response with a wrong checksum counts as lost.
	Checksum = true
	// Withdrawn: a write that was taken back while it was waiting is not sent.
	Withdrawn = true
	// ResponseOfEach: the response to a shared request counts only if it has one for each
	// statement.
	ResponseOfEach = true
	// OneOfEachID: two writes of one persistence id never share a request.
	OneOfEachID = true

	// Snapshots.

	// PartsFirst: the parts of a snapshot are saved before the head that names them.
	PartsFirst = true
	// SnapshotSum: a snapshot whose parts do not match its head does not count.
	SnapshotSum = true
	// OwnParts: each save of a snapshot has parts of its own.
	OwnParts = true
	// OwnHead: a save that finds its own head keeps the parts of that.
	OwnHead = true
	// ReplacedMeanwhile: a head whose parts are gone is read again before it counts as damaged.
	ReplacedMeanwhile = true
	// HiddenHeads: a head that a whole snapshot hides is deleted with it.
	HiddenHeads = true

	// Time.

	// FreshAttempts: each attempt of an append checks that the writer's knowledge is recent enough.
	FreshAttempts = true
	// FreshRemovals: each attempt of a deletion or purge does so, too.
	FreshRemovals = true
	// LateResponse: an append whose response was too late is not acknowledged.
	LateResponse = true
	// ExpiryRenewed: a tombstone that has waited to be put gets a new expiry.
	ExpiryRenewed = true
	// LatestClock: an expiry is counted from the later of the local clock and the service's.
	LatestClock = true
	// ClockOff: a deletion ends before it writes anything if the clock is off.
	ClockOff = true
	// SleptUnsent: a request that was checked before the machine slept is not sent.
	SleptUnsent = true

	// Responses that are not the service's.

	// ChecksumRequired: from a service that sends checksums, a response without one counts as lost.
	ChecksumRequired = true
	// CapacityRequired: from a service that sends the consumed capacity, a response without it
	// counts as lost.
	CapacityRequired = true

	// Copies.

	// CopyCompared: nothing is written before everything in the target was compared.
	CopyCompared = true
	// CopyUnchanged: a copy ends if another writer has written to or deleted in the target since.
	CopyUnchanged = true
	// CopyRenews: a copy behind the low mark of a purge puts that again, without its expiry.
	CopyRenews = true
	// CutShortRefused: a copy does not go on behind a tombstone or a fence above the low mark.
	CutShortRefused = true

	// Readers after a batch that was left out, and recoveries after a snapshot.

	// LateMembers: a reader reads an atomic write that it left out again before it accepts later
	// reads.
	LateMembers = true
	// UnfinishedAgain: a reader that starts again begins at the atomic write that it has left out.
	UnfinishedAgain = true
	// SnapshotRead: a recovery reads the partition of the snapshot before it raises the low mark
	// over it.
	SnapshotRead = true
	// Overrun: a fence after which a JVM has written raises no low mark.
	Overrun = true
	// MarksPolled: a live query also reads marks.
	MarksPolled = true
	// MissingPolled: a live query also reads the numbers that were missing.
	MissingPolled = true

	// Journals that are shared with a JVM.

	// JVMLowKept: the low mark that a JVM reads is not raised beyond the block of the highest
	// number.
	JVMLowKept = true
	// LowMarkSeparate: a low mark above the value that a JVM reads is stored where a JVM does not
	// replace it.
	LowMarkSeparate = true
	// LastTaken: the last number below a raised low mark is taken first, where a JVM reads it.
	LastTaken = true
	// TombstoneIfStored: in the block of the highest number only existing items become tombstones.
	TombstoneIfStored = true
	// SealReplaced: a deletion begins at the seal of the previous one.
	SealReplaced = true
	// EmptyBlockFirst: a purge leads a JVM to an empty block before it erases anything.
	EmptyBlockFirst = true
	// HighMarksLast: a purge erases the high marks after the low marks.
	HighMarksLast = true
	// HandoverCheckedBefore: a writer that was idle checks whether a JVM has taken over.
	HandoverCheckedBefore = true
	// HandoverCheckedAfter: a writer whose write took long checks that before it acknowledges.
	HandoverCheckedAfter = true
	// MarkFirst: in a shared journal a high mark is put before the events that need it.
	MarkFirst = true
	// LeftBeforeSeen: an event that an interrupted deletion has left proves nothing to that check.
	LeftBeforeSeen = true
	// GoneSeen: an event that is gone without a low mark that explains it was deleted by a JVM.
	GoneSeen = true
	// AllLowMarks: what only a deletion explains is judged by the low marks of all shards.
	AllLowMarks = true
	// HoleAwaited: a live query of a shared journal waits for a missing number.
	HoleAwaited = true
	// IncompleteEndClosed: in a shared journal a recovery closes the number after an incomplete
	// atomic write at the end.
	IncompleteEndClosed = true
	// PartsSealed: the stored members of a refused atomic write are sealed.
	PartsSealed = true
	// VisibleSearched: a recovery from a number after the last visible event searches that event.
	VisibleSearched = true
	// DeletedVisible: a deletion ends at the last visible event.
	DeletedVisible = true
	// LatestNative: in a shared journal the newest item shows nothing.
	LatestNative = true
	// LatestEvent: nor does a newest item that is a seal, a tombstone or a fence.
	LatestEvent = true
	// LatestNotDeleted: nor does one that is below the low mark.
	LatestNotDeleted = true
	// LatestWhole: nor does a member of an atomic write that is not whole.
	LatestWhole = true
	// LatestEnds: nor does the last number of a partition, if something is stored in the next one.
	LatestEnds = true
	// JournalReaches: a recovery without a snapshot does not begin after the end of the journal.
	JournalReaches = true

	// VisibleTaken: the last visible event of a recovery is not above the highest number it has
	// found.
	VisibleTaken = true

	// Entities.

	// EntityTurn: one command of an entity is decided at a time.
	EntityTurn = true
	// EntityNotJoined: commands of a shared journal have writes of their own.
	EntityNotJoined = true
	// EntityDurable: a result is given when its events are durable.
	EntityDurable = true
	// EntityReaderWaits: a command without events waits for those that it has read.
	EntityReaderWaits = true
	// EntitySentBack: what was decided on a write that failed is decided again.
	EntitySentBack = true
	// EntityCopied: a state that others hold is copied before it is changed.
	EntityCopied = true
	// EntityUndone: a command that fails leaves nothing in the state of a write.
	EntityUndone = true
	// EntityLookedFor: a write whose response was lost is looked for.
	EntityLookedFor = true
	// EntityNextClosed: the number of a lost write is closed before its commands go on.
	EntityNextClosed = true
	// EntityIDs: a command with the id of one that was done is not done.
	EntityIDs = true
	// EntityIDsUnderWay: nor is one with the id of a command that is under way.
	EntityIDsUnderWay = true
	// EntityIDsSaved: snapshots keep the ids of commands.
	EntityIDsSaved = true
	// EntityIDLimitsKept: ids are kept by the limits that are stored with them, if these are
	// larger.
	EntityIDLimitsKept = true
	// EntityGivenUp: a state that a panic may have changed is loaded anew.
	EntityGivenUp = true
	// EntitySnapshotDurable: a snapshot has durable events only.
	EntitySnapshotDurable = true
	// EntitySnapshotNeeded: a snapshot that replaces deleted events must be readable.
	EntitySnapshotNeeded = true
	// EntityAuthor: a state is loaded anew if its last event is another one.
	EntityAuthor = true
	// EntityIdle: an entity in use is not dropped.
	EntityIdle = true
	// EntityDropNoticed: who waits for an entity that is dropped waits for the next one.
	EntityDropNoticed = true
	// EntityViewDurable: a view shows durable events only.
	EntityViewDurable = true
	// EntityFresh: a view finds what others have written.
	EntityFresh = true
	// TakenByJVM: a view looks for what a JVM has written and deleted.
	TakenByJVM = true
	// EntityGone: a state whose last event is gone without a low mark that explains it is found
	// from the start.
	EntityGone = true
	// EntityIDAsked: a command with an id that records nothing asks for the events of others.
	EntityIDAsked = true
	// EntitySnapshotNotPurged: a snapshot that was saved behind a purge is left out.
	EntitySnapshotNotPurged = true
	// EntityPurgedAlone: an entity is not read while it is being purged.
	EntityPurgedAlone = true
	// EntityLeaveNoticed: who waits for a purge that does not begin goes on.
	EntityLeaveNoticed = true
	// EntityVersionRises: the version that a view shows counts what is deleted, as for a command.
	EntityVersionRises = true
	// EntityAge: a state that is older than a view allows is looked for.
	EntityAge = true
	// EntityOldLooked: a look at a state that is older than half the fence window finds it anew.
	EntityOldLooked = true
	// EntityOldReplaced: no event is applied to a state that is older than half the fence window.
	EntityOldReplaced = true
	// EntitySnapshotFresh: a snapshot whose machine has slept deletes no older ones.
	EntitySnapshotFresh = true
	// StateConditional: a state is replaced only if it is what was read.
	StateConditional = true
	// StatePartsFirst: the parts of a state are stored before their head.
	StatePartsFirst = true
	// StateLookedFor: a put whose response was lost is looked for.
	StateLookedFor = true
	// StateFenced: a lost put that is not stored is made impossible before its commands go on.
	StateFenced = true
	// StateKnown: a put that is not found counts as not stored only if the item would show it.
	StateKnown = true
	// StateIDsKept: the item of a state keeps the ids of commands.
	StateIDsKept = true
	// StatePurgeCounts: a purged state leaves its version.
	StatePurgeCounts = true
	// StatePartsSwept: parts that a crash has left are deleted.
	StatePartsSwept = true
	// StateSweepFresh: no parts are swept when the state may have been purged and have expired.
	StateSweepFresh = true
	// StatePurgedKept: what a purge has left does not expire while another purge deletes parts.
	StatePurgedKept = true

	// Projections.

	// ProjectionAbsenceSwept: a stream that nobody has read for long owes a sweep.
	ProjectionAbsenceSwept = true
	// ProjectionCheckpointWaits: the checkpoint of a shard passes a record when it is done.
	ProjectionCheckpointWaits = true
	// ProjectionLeaseGuarded: a checkpoint is stored if the lease is unchanged.
	ProjectionLeaseGuarded = true
	// ProjectionSweepOwed: where records are trimmed a sweep is owed.
	ProjectionSweepOwed = true
	// ProjectionClaimed: a handler that runs at least once has a claim in the row.
	ProjectionClaimed = true
	// ProjectionClaimWaited: the claim of another run is waited for.
	ProjectionClaimWaited = true
	// ProjectionContinueOwes: a projection that is continued owes a sweep.
	ProjectionContinueOwes = true
	// ProjectionPauseConfirmed: a trigger of a paused projection is done when a later look finds it
	// paused.
	ProjectionPauseConfirmed = true
	// ProjectionMarkedBefore: rows of a beginning from now are put before the projection has begun.
	ProjectionMarkedBefore = true
	// ProjectionDamagedStuck: a row that can't be decoded is stuck.
	ProjectionDamagedStuck = true
	// ProjectionDeadTakenOver: a claim that does not move is taken over.
	ProjectionDeadTakenOver = true
	// ProjectionDeletionBounded: a deletion spares the events that are appended while it waits.
	ProjectionDeletionBounded = true
	// ProjectionDeletionOfLife: a deletion waits for an offset of the life whose events it deletes.
	ProjectionDeletionOfLife = true
	// ProjectionDeletionWaits: a deletion waits for the projections that it names.
	ProjectionDeletionWaits = true
	// ProjectionDoneAfterRead: a trigger is done by a run that began after it.
	ProjectionDoneAfterRead = true
	// ProjectionEffectOnce: effects are written if the offset is the one before.
	ProjectionEffectOnce = true
	// ProjectionGap: numbers that were deleted before they were read are told.
	ProjectionGap = true
	// ProjectionLeftOutStored: events that a filter leaves out move the offset.
	ProjectionLeftOutStored = true
	// ProjectionPlaceGivenAway: a handler that does not return holds up no other persistence id.
	ProjectionPlaceGivenAway = true
	// ProjectionPrefixSwept: a group whose projections take other persistence ids sweeps all.
	ProjectionPrefixSwept = true
	// ProjectionAgeBefore: the time of a missing number is that when the reading began.
	ProjectionAgeBefore = true
	// ProjectionHoleAwaited: a number that is missing before an event is waited for.
	ProjectionHoleAwaited = true
	// ProjectionHoleHeld: a trigger is not done while an event is behind a missing number.
	ProjectionHoleHeld = true
	// ProjectionHoleLife: the time of a missing number is that before an event of the same writer.
	ProjectionHoleLife = true
	// ProjectionLateTold: an event at a number that was passed is told.
	ProjectionLateTold = true
	// ProjectionLowLast: the low mark is read after the events.
	ProjectionLowLast = true
	// ProjectionOverwrittenRead: an item that a JVM overwrites is read.
	ProjectionOverwrittenRead = true
	// ProjectionImageSingle: a member of an atomic write is read before it is handled.
	ProjectionImageSingle = true
	// ProjectionImageWriter: a record counts without a reading if it is of the row's writer.
	ProjectionImageWriter = true
	// ProjectionKeptRowChecked: a row that was not read is written if it is still what it was.
	ProjectionKeptRowChecked = true
	// ProjectionFirstLife: a purge is told, too, if a process has died before it stored an offset.
	ProjectionFirstLife = true
	// ProjectionLife: a row whose event is gone without a deletion is reset.
	ProjectionLife = true
	// ProjectionOffsetDone: a run whose offset was refused is not done.
	ProjectionOffsetDone = true
	// ProjectionOffsetGuarded: the offset is stored if the row has the claim of the run.
	ProjectionOffsetGuarded = true
	// ProjectionSQLOnce: effects in SQL are written if the offset is the one before.
	ProjectionSQLOnce = true
	// ProjectionSQLWhole: an offset in SQL is stored by the transaction that has the effects.
	ProjectionSQLWhole = true
	// ProjectionSQLStuckOffset: who waits reads the offset again when the projection is stuck.
	ProjectionSQLStuckOffset = true
	// ProjectionOwedCounted: a sweep settles what was owed when it began.
	ProjectionOwedCounted = true
	// ProjectionServiceTime: how long nobody has read a stream is told by the service's clock.
	ProjectionServiceTime = true
	// ProjectionSetsApart: processes with other projections have leases of their own.
	ProjectionSetsApart = true
	// ProjectionUnreadSwept: a sweep is owed if a shard could not be read from its beginning for 12
	// hours.
	ProjectionUnreadSwept = true
	// FollowParentAwaited: Follow reads no shard before its parent, also if that is not listed yet.
	FollowParentAwaited = true
	// ProjectionStreamFollowed: a stream that is replaced while it is read is left for the new one.
	ProjectionStreamFollowed = true
	// ProjectionRequestKept: the request of an operator is removed when it was carried out.
	ProjectionRequestKept = true
	// ProjectionResetFinished: a projection does not run while a reset of it is not done.
	ProjectionResetFinished = true
	// ProjectionResetSwept: a reset owes a sweep.
	ProjectionResetSwept = true
	// ProjectionRemovedLast: the item of a projection is removed when nothing else of it is left.
	ProjectionRemovedLast = true
	// ProjectionRemovedAlone: it is removed if no process has begun to run it since it was read.
	ProjectionRemovedAlone = true
	// ProjectionSkipGuarded: an event is passed over if the row is as it was read.
	ProjectionSkipGuarded = true
	// ProjectionStuckMarked: a trigger of a stuck id is noted, and who resumes it reads again.
	ProjectionStuckMarked = true
	// ProjectionAttemptsCounted: attempts on Lambda are counted until the persistence id is stuck.
	ProjectionAttemptsCounted = true
	// ProjectionClaimOver: the claim of an invocation that was killed is taken over.
	ProjectionClaimOver = true
	// ProjectionFailuresApart: failures count from 1 again behind another offset.
	ProjectionFailuresApart = true
	// ProjectionFailureReported: what an invocation has not done is reported as a failure.
	ProjectionFailureReported = true
	// ProjectionAnswerInTime: an invocation answers before its deadline.
	ProjectionAnswerInTime = true
	// ProjectionJoinOwes: a projection that begins on Lambda owes a sweep.
	ProjectionJoinOwes = true
	// ProjectionOthersOwed: an invocation owes a sweep to the projections that it does not run.
	ProjectionOthersOwed = true
	// ProjectionLateCounted: attempts at late records on Lambda are counted before they begin.
	ProjectionLateCounted = true
	// ProjectionOldOwed: an invocation that gets old records owes a sweep.
	ProjectionOldOwed = true
	// ProjectionSweepWaits: the position of a sweep passes an id when it is done.
	ProjectionSweepWaits = true

	// Process managers.

	// ProcessCommandID: a command of a process has an id, so that it is not done twice.
	ProcessCommandID = true
	// ProcessWriterNamed: the id of a command names the writer of its event.
	ProcessWriterNamed = true
	// ProcessPartNamed: the id of a command names the place of its event among those of an adapter.
	ProcessPartNamed = true
	// ProcessOutageAwaited: an outage of the target of a command makes no persistence id stuck.
	ProcessOutageAwaited = true

	// The index of tags.

	// TagNumberFree: an entry is put only at a number at which nothing is.
	TagNumberFree = true
	// TagRepeatKnown: an event that is among the last entries of its lane is not added again.
	TagRepeatKnown = true
	// TagMissingAwaited: a reader does not pass a number at which it finds no entry.
	TagMissingAwaited = true
	// TagRepeatDropped: a reader drops entries of a persistence id that it has passed.
	TagRepeatDropped = true
	// TagWriterCompared: an entry is of the event of its writer, not of another life.
	TagWriterCompared = true
	// TagOffsetChecked: an offset must be one of the index.
	TagOffsetChecked = true
	// TagNumbersStay: an entry that is removed leaves its number taken.
	TagNumbersStay = true
	// TagOutageAwaited: an outage of the index makes no persistence id stuck.
	TagOutageAwaited = true

	// Outboxes.

	// OutboxRefusedStored: a message that is refused is stored before the offset moves.
	OutboxRefusedStored = true
	// OutboxOutageAwaited: an outage of the target makes no persistence id stuck.
	OutboxOutageAwaited = true
	// OutboxLifeInID: the id of a message is not that of one of another life.
	OutboxLifeInID = true
	// OutboxMadeStored: messages that are made once are stored before they are sent.
	OutboxMadeStored = true
	// OutboxMadeClaimed: they are stored under the claim.
	OutboxMadeClaimed = true
	// OutboxMadeMoves: the write that stores them moves the offset behind those that it replaces.
	OutboxMadeMoves = true
	// OutboxMadeUnchanged: a claim needs the stored messages to be those that were read.
	OutboxMadeUnchanged = true
	// OutboxLetterKept: a dead letter is deleted only when it is sent.
	OutboxLetterKept = true
	// OutboxRedirectNotFollowed: a redirect is not followed.
	OutboxRedirectNotFollowed = true
	// OutboxRetryAfter: nothing is sent before the time that the target has named.
	OutboxRetryAfter = true
	// OutboxHeaderEncoded: no text can end a header and begin another one.
	OutboxHeaderEncoded = true

	// Payloads in a store.

	// LeftoverAge: a payload that was put not long ago is no leftover.
	LeftoverAge = true
	// ReferenceUnpacked: a snapshot with a reference is not compressed.
	ReferenceUnpacked = true
)
