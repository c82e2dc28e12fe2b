package embedded

import "github.com/dynajournal/dynajournal/embedded/internal/attribute"

// The limits that a request can exceed, the last part of a reason.
const (
	provisionedLimit = "ProvisionedThroughputExceeded"
	keyRangeLimit    = "KeyRangeThroughputExceeded"
	accountLimit     = "AccountLimitExceeded"
)

// throttlingReason names the limit that a throttled request has exceeded, and the table or index of
// the limit.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html
type throttlingReason struct{ reason, resource string }

// newThrottlingReason returns the reason for a read or a write of a table, or of a global secondary
// index if index is not empty.
func newThrottlingReason(table, index string, reads bool, limit string) *throttlingReason {
	kind, resource, access := "Table", tableARN(table), "Write"
	if index != "" {
		kind, resource = "Index", indexARN(table, index)
	}
	if reads {
		access = "Read"
	}
	return &throttlingReason{kind + access + limit, resource}
}

// append appends the member with the reasons to the error with the name. The service's model spells
// the member of ThrottlingException in lower case.
func (r *throttlingReason) append(dst []byte, name string) []byte {
	member := "ThrottlingReasons"
	if name == "ThrottlingException" {
		member = "throttlingReasons"
	}
	dst = appendName(dst, member)
	dst = append(dst, `[{"reason":`...)
	dst = attribute.AppendText(dst, r.reason)
	dst = append(dst, `,"resource":`...)
	dst = attribute.AppendText(dst, r.resource)
	return append(dst, "}]"...)
}
