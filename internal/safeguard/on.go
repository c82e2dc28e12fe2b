//go:build !mutants

package safeguard

// The safeguards, by what they keep.
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
)
