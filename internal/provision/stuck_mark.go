package provision

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// NeverDue is AttrDue of a stuck persistence id: the largest integer that a float64 distinguishes
// from its neighbors.
const NeverDue = 1<<53 - 1

// AttrStuckMark is in the row of a persistence id that has become stuck with version 0.1.0: the
// number of its triggers since then, plus 1.
const AttrStuckMark = "stuck"

// attrClaim is the claim of a run. A process of version 0.1.0 leaves it in the row if it is killed
// while it retries a stuck persistence id.
const attrClaim = "claim"

// ConvertMark returns the update of a row that replaces AttrStuckMark with a debt that is never
// due. now is the service's time.
func ConvertMark(table string, key dynamo.Attributes, debt string, now time.Time) dynamo.Update {
	number := func(n int64) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
	}
	return dynamo.Update{
		Table: table, Key: key,
		Expression: "SET " + AttrDebt + " = :debt, " + AttrDue + " = :never, " + AttrSince + " = :now REMOVE " + AttrStuckMark + ", " + attrClaim,
		Condition:  "attribute_exists(" + AttrStuckMark + ")",
		Values: dynamo.Attributes{
			":debt": &types.AttributeValueMemberS{Value: debt}, ":never": number(NeverDue), ":now": number(now.UnixMilli()),
		},
	}
}

// stuckMarks converts the marks of all rows of the journal, if the projections table exists.
// Nothing else in an update needs the permission to scan, so without the table it sends no scan.
func (u *updating) stuckMarks(ctx context.Context) error {
	if !u.projects {
		return nil
	}
	name := ProjectionsTable(u.Table)
	in := &dynamodb.ScanInput{
		TableName: &name, FilterExpression: aws.String("attribute_exists(" + AttrStuckMark + ")"),
		ProjectionExpression: aws.String(layout.AttrPar),
	}
	converted := 0
	for more := true; more; more = in.ExclusiveStartKey != nil {
		page, err := u.client.Scan(ctx, &dynamo.Meter{}, in)
		if err != nil {
			return fmt.Errorf("find persistence ids that became stuck with version 0.1.0: %w", err)
		}
		for _, key := range page.Items {
			done, err := u.convertMark(ctx, name, key)
			if err != nil {
				return err
			}
			if done {
				converted++
			}
		}
		in.ExclusiveStartKey = page.Next
	}
	if converted > 0 {
		u.added(name, fmt.Sprintf("the entries of %d stuck persistence ids to index %s", converted, DebtsIndex), "nothing")
	}
	return nil
}

// convertMark converts the mark of a row, and reports whether it has. The row may belong to another
// journal, or a process of the group may have already converted the mark.
func (u *updating) convertMark(ctx context.Context, table string, key dynamo.Attributes) (bool, error) {
	par, _ := key[layout.AttrPar].(*types.AttributeValueMemberS) // the key of the table
	journal, rest, _ := strings.Cut(par.Value, "\x00")
	projection, _, isRow := strings.Cut(rest, "\x00")
	if journal != u.Name || !isRow {
		return false, nil
	}
	now := u.client.Clock().ServiceOrWall()
	_, err := u.client.Update(ctx, &dynamo.Meter{}, ConvertMark(table, key, journal+"\x00"+projection, now))
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return false, nil
	}
	return err == nil, err
}
