package verify

// Severity is the severity of a finding.
type Severity string

// The severities, the least first.
const (
	// LeftOver: an item is stored that no reader shows and that was never acknowledged. Nothing has
	// to be done.
	LeftOver Severity = "left-over"
	// Damage: the stored items are not as they should be. The consequences depend on the kind.
	Damage Severity = "damage"
	// DataLoss: acknowledged events are lost or hidden, or may be.
	DataLoss Severity = "data-loss"
)

// severity returns the severity of a finding whose check has not set it.
func (k *check) severity(f *Finding) Severity {
	switch f.Kind {
	case IncompleteBatch:
		// Every put of a native journal is conditional, so a number is taken by another item only
		// if the write was refused or interrupted. In a shared journal a JVM may have overwritten a
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
