package verify

// Severity is how bad a finding is.
type Severity string

// The severities, the least first.
const (
	// LeftOver: something is stored that no reader shows and nobody was told is stored. Nothing has
	// to be done.
	LeftOver Severity = "left-over"
	// Damage: the stored items are not as they should be. What it means depends on the kind.
	Damage Severity = "damage"
	// DataLoss: events that a writer was told are stored are lost or hidden, or may be.
	DataLoss Severity = "data-loss"
)

// severity returns how bad a finding is whose check has not said so.
func (k *check) severity(f *Finding) Severity {
	switch f.Kind {
	case IncompleteBatch:
		// Every put of a native journal is conditional, so a number is taken by another item only
		// if the write was refused or cut short. In a shared one a JVM may have overwritten a
		// member.
		if !k.Store.Shared() {
			return LeftOver
		}
	case MissingHighMark:
		if f.Option == RestoreHighMark { // events are hidden
			return DataLoss
		}
	case MarkBeyondEvents:
		if f.SequenceNr == k.highest+1 { // its writer ended before the event was put
			return LeftOver
		}
	case ExpiredTombstone:
		return LeftOver
	case ForeignWriter, SnapshotBeyondJournal, SnapshotMissing:
		return DataLoss
	}
	return Damage
}
