package dynajournal

import "fmt"

// GroupCommit selects whether writers of different persistence ids share requests when many write
// at the same time, and whether an atomic write of several events is one request. Such requests are
// PartiQL's BatchExecuteStatement. Capacity, fencing and what is stored are the same either way.
type GroupCommit int

const (
	// GroupCommitAuto shares requests unless the service refuses them, because it lacks PartiQL or
	// denies access (dynamodb:PartiQLInsert). The journal then logs that once, and goes on with a
	// PutItem for each event.
	GroupCommitAuto GroupCommit = iota
	// GroupCommitOff sends a PutItem for each event.
	GroupCommitOff
)

// String returns auto or off, and another text for a value that is none of the constants.
func (g GroupCommit) String() string {
	switch g {
	case GroupCommitAuto:
		return "auto"
	case GroupCommitOff:
		return "off"
	}
	return fmt.Sprintf("GroupCommit(%d)", int(g))
}
