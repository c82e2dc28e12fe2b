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
)
