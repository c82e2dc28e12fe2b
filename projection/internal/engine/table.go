package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// Table is the projections table of a journal.
type Table struct {
	Journal *dynajournal.Journal
	// Name is the name of the table. JournalName is the name of the journal.
	Name, JournalName string
}

// OpenTable returns the projections table of a journal. It sends no request.
func OpenTable(journal *dynajournal.Journal) *Table {
	j := core.Of(journal)
	return &Table{journal, provision.ProjectionsTable(j.Table), j.Name}
}

// check checks that the table exists and has the right key.
func (t *Table) check(ctx context.Context) error {
	err := core.Of(t.Journal).Requests(ctx, dynamo.ForProjection, func(ctx context.Context, client *dynamo.Client) error {
		return provision.CheckProjectionsTable(ctx, client, core.Of(t.Journal).Table)
	})
	switch {
	case errors.Is(err, dynajournal.ErrTableNotFound), errors.Is(err, dynajournal.ErrTableSchema):
		return fmt.Errorf("%w: %w; make it with TableOptions.Projections", ErrNoTable, err)
	case errors.Is(err, dynajournal.ErrDenied):
		return nil // the policy may lack DescribeTable
	}
	return err
}

// Get reads an item. It returns nil if the item does not exist.
func (t *Table) Get(ctx context.Context, key dynamo.Attributes) (dynamo.Attributes, error) {
	var item dynamo.Attributes
	err := core.Of(t.Journal).Requests(ctx, dynamo.ForProjection, func(ctx context.Context, client *dynamo.Client) error {
		var err error
		item, err = client.Get(ctx, &dynamo.Meter{}, t.Name, key)
		return err
	})
	return item, err
}

// Batch reads items, and returns them in the order of keys. It returns nil for an item that does
// not exist.
func (t *Table) Batch(ctx context.Context, keys []dynamo.Attributes) ([]dynamo.Attributes, error) {
	var items []dynamo.Attributes
	err := core.Of(t.Journal).Requests(ctx, dynamo.ForProjection, func(ctx context.Context, client *dynamo.Client) error {
		var err error
		items, err = client.BatchGet(ctx, &dynamo.Meter{}, t.Name, keys)
		return err
	})
	if err != nil {
		return nil, err
	}
	stored := map[string]dynamo.Attributes{}
	for _, item := range items {
		stored[KeyOf(item)] = item
	}
	ordered := make([]dynamo.Attributes, len(keys))
	for i, key := range keys {
		ordered[i] = stored[KeyOf(key)]
	}
	return ordered, nil
}

// KeyOf returns the partition key of an item. It is empty if it is missing.
func KeyOf(item dynamo.Attributes) string {
	par, _ := item[AttrPar].(*types.AttributeValueMemberS) // the key of the table is a text
	if par == nil {
		return ""
	}
	return par.Value
}

// Row reads and decodes the row with a key.
func (t *Table) Row(ctx context.Context, key dynamo.Attributes) (Row, error) {
	item, err := t.Get(ctx, key)
	if err != nil {
		return Row{}, err
	}
	return DecodeRow(t.Name, item)
}

// Condition is a condition on a row, with the values of all expressions of a request.
type Condition struct {
	Expression string
	Values     dynamo.Attributes
}

// Unchanged returns the condition that the offset of a row is unchanged, and that the row still has
// a debt, or still has no debt. It does not cover an offset in a SQL database, which is not in the
// row.
func (r *Row) Unchanged() Condition {
	if r.InSQL {
		return r.sameDebt()
	}
	if !r.Started {
		return Condition{"attribute_not_exists(" + AttrSeq + ")", dynamo.Attributes{}}.And(r.sameDebt())
	}
	return Condition{
		AttrSeq + " = :oldseq AND " + AttrWriter + " = :oldwriter",
		dynamo.Attributes{":oldseq": Number(r.Seq), ":oldwriter": Text(r.Writer)},
	}.And(r.sameDebt())
}

// sameDebt returns the condition that a row still has a debt, or still has no debt.
func (r *Row) sameDebt() Condition {
	if r.Debt.Exists {
		return Condition{"attribute_exists(" + attrDebt + ")", dynamo.Attributes{}}
	}
	return Condition{"attribute_not_exists(" + attrDebt + ")", dynamo.Attributes{}}
}

// And returns the condition that both conditions are met.
func (c Condition) And(other Condition) Condition {
	both := Condition{c.Expression + " AND " + other.Expression, dynamo.Attributes{}}
	for _, values := range []dynamo.Attributes{c.Values, other.Values} {
		maps.Copy(both.Values, values)
	}
	return both
}

// Always is a condition that is always met.
const Always = "attribute_exists(" + AttrPar + ") OR attribute_not_exists(" + AttrPar + ")"

// Change is a change of a row: attributes to set, and attributes to remove.
type Change struct {
	Set     dynamo.Attributes
	Removed []string
}

// Moved returns the change that moves a row to an offset.
func Moved(to Offset) Change {
	return Change{Set: dynamo.Attributes{AttrSeq: Number(to.Seq), AttrWriter: Text(to.Writer)}}
}

// expression returns the update expression, and adds its values to values.
func (c Change) expression(values dynamo.Attributes) string {
	set, remove := "", ""
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		set += ", " + name + " = :" + name
		values[":"+name] = c.Set[name]
	}
	for _, name := range c.Removed {
		remove += ", " + name
	}
	expression := ""
	if set != "" {
		expression = "SET " + set[2:]
	}
	if remove != "" {
		expression += " REMOVE " + remove[2:]
	}
	return expression
}

// Update changes a row. The error is ErrAgain if the condition is not met. This happens even if an
// earlier attempt, whose response was lost, has made the change: the row shows it.
func (t *Table) Update(ctx context.Context, key dynamo.Attributes, c Change, only Condition) error {
	update := dynamo.Update{
		Table: t.Name, Key: key, Expression: c.expression(only.Values), Condition: only.Expression, Values: only.Values,
	}
	if len(update.Values) == 0 {
		update.Values = nil // the service refuses an empty map
	}
	return t.Send(ctx, update)
}

// Send updates an item. The error is ErrAgain if the condition is not met.
func (t *Table) Send(ctx context.Context, update dynamo.Update) error {
	err := core.Of(t.Journal).Requests(ctx, dynamo.ForProjection, func(ctx context.Context, client *dynamo.Client) error {
		_, err := client.Update(ctx, &dynamo.Meter{}, update)
		return err
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return ErrAgain
	}
	return err
}

// Transact writes items and the change of a row in one transaction. The error is ErrAgain if the
// condition of the row is not met, and another error if an item can't be written.
func (t *Table) Transact(
	ctx context.Context, key dynamo.Attributes, items []types.TransactWriteItem, c Change, only Condition,
) error {
	values := only.Values
	expression := c.expression(values)
	all := append([]types.TransactWriteItem{{Update: &types.Update{
		TableName: &t.Name, Key: key, UpdateExpression: &expression,
		ConditionExpression: &only.Expression, ExpressionAttributeValues: values,
	}}}, items...)
	return t.together(ctx, all)
}

// together writes items in one transaction. The error is ErrAgain if the condition of the first
// item is not met.
func (t *Table) together(ctx context.Context, items []types.TransactWriteItem) error {
	err := core.Of(t.Journal).Requests(ctx, dynamo.ForProjection, func(ctx context.Context, client *dynamo.Client) error {
		return client.Transact(ctx, &dynamo.Meter{}, dynamo.Transaction{
			Table: t.Name, Items: items, Token: uuid.NewString(),
		})
	})
	if codes := dynamo.CancellationReasons(err); len(codes) > 0 && codes[0] == "ConditionalCheckFailed" {
		return ErrAgain
	}
	return err
}

// FindStream describes the stream of a journal's table.
func FindStream(ctx context.Context, journal *dynajournal.Journal) (provision.Stream, error) {
	var found provision.Stream
	err := core.Of(journal).Requests(ctx, dynamo.ForProjection, func(ctx context.Context, client *dynamo.Client) error {
		var err error
		found, err = provision.FindStream(ctx, client, core.Of(journal).Table)
		return err
	})
	return found, err
}
