//go:build !mutants

package safeguard

// The safeguards, by what they keep. Each is in mutants.go as well, and in killers_test.go with a
// test that needs it.
const (
	// Conditional: an event is put only where nothing stands.
	Conditional = true
	// ConditionalMembers: so is every member of an atomic write.
	ConditionalMembers = true
	// Seal: a recovery seals the gaps that it finds.
	Seal = true
	// OwnItem: a put that meets its own item has succeeded.
	OwnItem = true
	// LeftOvers: what a batch leaves over is sent again.
	LeftOvers = true
	// TailChase: reading goes on behind a full partition, whatever the high mark says.
	TailChase = true
	// GapReread: a reader reads a gap once more before it believes it.
	GapReread = true
	// LowReread: what looks irregular is decided on a low mark that was read afterwards.
	LowReread = true
	// Tombstones: a deleted event leaves a tombstone.
	Tombstones = true
	// Cut: the low mark tells which atomic write it cuts.
	Cut = true
	// MarksRise: a mark never goes down.
	MarksRise = true
	// HighMark: an event is acknowledged only when the high mark that it needs stands.
	HighMark = true
	// LowMarkFirst: a deletion puts the low mark before it removes anything.
	LowMarkFirst = true
	// IdleLook: a writer that was idle for long looks at the journal before it writes.
	IdleLook = true
	// DeletedSince: a put that meets a deleted number after an earlier try without an answer does not say that it was never done.
	DeletedSince = true
	// Fence: the number after the highest is taken before the low mark is raised beyond it.
	Fence = true
	// FenceRaises: a recovery that meets a fence above the low mark raises that.
	FenceRaises = true
	// Hold: a tombstone that a recovery raises the low mark over can't vanish before.
	Hold = true
	// RenewMarks: who uses a purged persistence id again puts its marks anew.
	RenewMarks = true
	// RenewExisting: it does so only while they are there.
	RenewExisting = true
	// ExpiringReread: that marks expire is noticed also when the low mark is read again.
	ExpiringReread = true
	// StillLast: after the whole fence window a writer looks whether the last event is still the one it knows.
	StillLast = true
	// TakenOver: a purge goes on only while nobody has begun to use the persistence id again.
	TakenOver = true
	// PurgeLasts: the low mark of a purge does not expire before all is removed.
	PurgeLasts = true

	// An append and its writer.

	// WrittenUnknown: a write of which only the high mark was refused is not reported as failed.
	WrittenUnknown = true
	// PartEnds: a writer ends when a part of an atomic write was written.
	PartEnds = true
	// UnknownEnds: a writer ends when it does not know what became of a write.
	UnknownEnds = true
	// LowMoved: after a pause a writer ends if the low mark has moved.
	LowMoved = true
	// HighMarkMended: a recovery puts the high mark that is missing.
	HighMarkMended = true
	// OwnFence: who goes on after a snapshot does so only behind a fence of its own.
	OwnFence = true

	// Deletions.

	// SecondLook: that a deletion cuts nothing whole holds only while the low mark is the same.
	SecondLook = true
	// CutWhole: a deletion says that it cuts an atomic write only if all members up to there exist.
	CutWhole = true
	// CutBefore: an atomic write that begins below the low mark is cut again only if it was cut
	// before.
	CutBefore = true
	// TombstoneCut: in a shared journal the last number that is deleted says which atomic write was
	// cut.
	TombstoneCut = true
	// HighestStays: in a shared journal a deletion leaves a seal at the highest number.
	HighestStays = true

	// Purges.

	// FenceMet: a purge ends where something else than its fence stands.
	FenceMet = true
	// Orphans: a purge removes the events that exist below where removal has come.
	Orphans = true
	// EraseLooks: an erasing purge looks first whether another writer has written.
	EraseLooks = true
	// HoldExpiry: a recovery holds only the very tombstone that it has read.
	HoldExpiry = true
	// HoldVanished: where a tombstone has vanished before it was held, a recovery reads anew.
	HoldVanished = true
	// RenewedBefore: a low mark whose renewal was done by an attempt without an answer counts as
	// renewed.
	RenewedBefore = true

	// Reading.

	// LowStampedBefore: a low mark counts as read when its reading began, not when that was
	// answered.
	LowStampedBefore = true
	// SeenAfter: a low mark that was read beside the first page counts only for pages that were
	// read before it.
	SeenAfter = true
	// SeenCovers: such a low mark counts only if it was looked for wherever it can be.
	SeenCovers = true
	// CutJudged: a low mark that cuts something else judges differently.
	CutJudged = true
	// DeletedMeanwhile: a recovery ends if what it still had to hand out was deleted after it had
	// begun to.
	DeletedMeanwhile = true
	// SameBatch: an event continues an atomic write only if it names the same one.
	SameBatch = true
	// MembersOfBatch: so does a member that is looked up.
	MembersOfBatch = true
	// HeadThere: members before the first number that was read are looked up.
	HeadThere = true
	// HeadCut: an atomic write whose beginning was deleted counts only if the low mark says that it
	// was whole.
	HeadCut = true
	// HighestLooked: a recovery that finds nothing behind its snapshot looks for the highest number
	// before it.
	HighestLooked = true
	// LookBack: the highest number is looked for before an empty partition, too.
	LookBack = true
	// SealMeets: a seal that meets an event takes that.
	SealMeets = true

	// Repairs and upgrades.

	// ReplacesSame: a repair replaces an item only while it is what was read.
	ReplacesSame = true
	// StillExpired: a repair removes a tombstone only if it has expired as it is now.
	StillExpired = true
	// UnwrapUnchanged: an upgrade replaces an event only while it is what was read.
	UnwrapUnchanged = true

	// Listing, and the header.

	// FirstListed: the first event lists its persistence id.
	FirstListed = true
	// SealListed: so does a seal in its place.
	SealListed = true
	// LowMarkListed: so does a low mark.
	LowMarkListed = true
	// ListedOnce: a persistence id with several entries is listed once.
	ListedOnce = true
	// KnownVersion: a journal of a version that is not known is not opened.
	KnownVersion = true

	// Requests.

	// MaybeStays: that an earlier attempt may have done a write stays so, whatever a later one is
	// answered.
	MaybeStays = true
	// MemberMaybeStays: so it does of one event in a shared request.
	MemberMaybeStays = true
	// LostAmbiguous: a write without an answer may have been done.
	LostAmbiguous = true
	// Progress: a batch of which less and less is left over goes on as long as that is so.
	Progress = true
	// Checksum: an answer whose checksum is wrong is none.
	Checksum = true
	// TakenBack: a write that was taken back while it was waiting is not sent.
	TakenBack = true
	// AnswerOfEach: a shared request is answered only if there is an answer for each statement.
	AnswerOfEach = true
	// OneOfEachID: two writes of one persistence id never share a request.
	OneOfEachID = true

	// Snapshots.

	// PartsFirst: the parts of a snapshot are saved before the head that names them.
	PartsFirst = true
	// SnapshotSum: a snapshot whose parts are not those of its head does not count.
	SnapshotSum = true
	// OwnParts: each save of a snapshot has parts of its own.
	OwnParts = true
	// OwnHead: a save that finds its own head leaves the parts of that.
	OwnHead = true
	// ReplacedMeanwhile: a head whose parts are gone is looked at again before it counts as
	// damaged.
	ReplacedMeanwhile = true
	// HiddenHeads: a head that a whole snapshot hides is deleted with it.
	HiddenHeads = true

	// Time.

	// FreshAttempts: before each attempt of an append it is checked that what the writer knows is
	// not too old.
	FreshAttempts = true
	// FreshRemovals: so it is before each attempt of a deletion or purge.
	FreshRemovals = true
	// LateAnswer: an append that was answered too late is not acknowledged.
	LateAnswer = true
	// YoungExpiry: a tombstone that has waited to be put gets an expiry anew.
	YoungExpiry = true
	// LatestClock: an expiry is counted from the later of the local clock and the service's.
	LatestClock = true
	// ClockOff: a deletion ends before it writes anything if the clock is off.
	ClockOff = true
	// SleptUnsent: what was checked before the machine slept is not sent.
	SleptUnsent = true

	// Answers that are not the service's.

	// SumDemanded: of a service that sends checksums an answer without one is none.
	SumDemanded = true
	// CapacityDemanded: of a service that says what was consumed an answer that does not is none.
	CapacityDemanded = true

	// Copies.

	// CopyCompared: nothing is written before everything that the target holds was compared.
	CopyCompared = true
	// CopyUnchanged: a copy ends where somebody has written to or deleted in the target since.
	CopyUnchanged = true

	// Readers behind what was left out, and recoveries after a snapshot.

	// LateMembers: a reader looks at an atomic write that it left out again before what it read
	// later.
	LateMembers = true
	// SnapshotLooked: a recovery reads where the snapshot lies before it raises the low mark over
	// that.
	SnapshotLooked = true
	// Overrun: a fence that a JVM has written behind raises no low mark.
	Overrun = true
	// MarksWatched: a live query also reads marks.
	MarksWatched = true
	// MissingWatched: a live query also looks at the numbers that were missing.
	MissingWatched = true

	// Journals that are shared with a JVM.

	// JVMLowKept: the low mark that a JVM reads is not raised beyond the block of the highest number.
	JVMLowKept = true
	// LowMarkApart: a low mark that a JVM reads as less lies where a JVM does not replace it.
	LowMarkApart = true
	// LastTaken: what a low mark is raised over is taken first, where a JVM looks for it.
	LastTaken = true
	// EntombedIfThere: in the block of the highest number only what exists becomes a tombstone.
	EntombedIfThere = true
	// SealReplaced: a deletion begins at the seal of the one before.
	SealReplaced = true
	// EmptyBlockFirst: a purge leads a JVM to an empty block before it erases anything.
	EmptyBlockFirst = true
	// HighMarksLast: a purge erases the high marks when the low marks are gone.
	HighMarksLast = true
	// HandoverLookedBefore: a writer that was idle looks whether a JVM has taken over.
	HandoverLookedBefore = true
	// HandoverLookedAfter: a writer whose write took long looks before it acknowledges.
	HandoverLookedAfter = true
	// MarkFirst: in a shared journal a high mark is put before the events that need it.
	MarkFirst = true
	// LeftBeforeSeen: what a deletion that was cut short has left tells the look nothing.
	LeftBeforeSeen = true
	// AllLowMarks: what only a deletion explains is decided on the low marks of all shards.
	AllLowMarks = true
	// HoleAwaited: a live query of a shared journal waits for a number that is missing.
	HoleAwaited = true
	// PartsSealed: in a shared journal what is stored of an atomic write that was refused is sealed.
	PartsSealed = true
)
