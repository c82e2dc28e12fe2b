package projection

// Claim is a change of the right to handle the events of a persistence id. Only projections that
// call a handler at least once have claims.
type Claim struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection    string
	PersistenceID string
	Change        ClaimChange
}

// ClaimChange is the kind of a change of a claim.
type ClaimChange string

const (
	// ClaimWaits means that a run has found the claim of another run, and waits for it. It is
	// reported for each time that the run finds the claim.
	ClaimWaits ClaimChange = "waits"
	// ClaimTakenOver means that a run has replaced the claim of a run that counts as dead. Events
	// of the dead run may be handled twice.
	ClaimTakenOver ClaimChange = "taken_over"
	// ClaimLost means that a run has found that its claim is gone when it wanted to store the
	// offset: its process was suspended for longer than Config.ClaimTimeout, or a response was lost
	// and the offset is stored.
	ClaimLost ClaimChange = "lost"
)
