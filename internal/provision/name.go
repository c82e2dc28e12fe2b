package provision

import (
	"errors"
	"strings"
)

// errARN refuses a table that is named by its ARN. An ARN is only needed for a table of another
// account. PartiQL and UpdateTimeToLive do not work there, so group commit and the expiry of
// tombstones do not work either:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/rbac-iam-actions.html
var errARN = errors.New("it must be the name of the table, not its ARN: group commit (PartiQL) and the time to live " +
	"don't work across accounts. Use the name, the table's Region, and credentials of a role in its account")

// CheckName returns an error if table can't be used as the name of a table.
func CheckName(table string) error {
	if strings.HasPrefix(table, "arn:") {
		return errARN
	}
	return nil
}
