package projection

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

// table is the projections table of a journal.
type table struct {
	journal *dynajournal.Journal
	// name is the name of the table, journalName that of the journal.
	name, journalName string
}

func openTable(journal *dynajournal.Journal) *table {
	j := core.Of(journal)
	return &table{journal, provision.ProjectionsTable(j.Table), j.Name}
}

// check checks that the table exists and has the right key.
func (t *table) check(ctx context.Context) error {
	err := core.Of(t.journal).Requests(ctx, func(ctx context.Context, client *dynamo.Client) error {
		return provision.CheckProjectionsTable(ctx, client, core.Of(t.journal).Table)
	})
	switch {
	case errors.Is(err, dynajournal.ErrTableNotFound), errors.Is(err, dynajournal.ErrTableSchema):
		return fmt.Errorf("%w: %w; make it with TableOptions.Projections", ErrNoTable, err)
	case errors.Is(err, dynajournal.ErrDenied):
		return nil // the policy may lack DescribeTable
	}
	return err
}

// get reads an item, nil if there is none.
func (t *table) get(ctx context.Context, key dynamo.Attributes) (dynamo.Attributes, error) {
	var item dynamo.Attributes
	err := core.Of(t.journal).Requests(ctx, func(ctx context.Context, client *dynamo.Client) error {
		var err error
		item, err = client.Get(ctx, &dynamo.Meter{}, t.name, key)
		return err
	})
	return item, err
}

// batch reads items in the order of their keys: nil for one that there is not.
func (t *table) batch(ctx context.Context, keys []dynamo.Attributes) ([]dynamo.Attributes, error) {
	var items []dynamo.Attributes
	err := core.Of(t.journal).Requests(ctx, func(ctx context.Context, client *dynamo.Client) error {
		var err error
		items, err = client.BatchGet(ctx, &dynamo.Meter{}, t.name, keys)
		return err
	})
	if err != nil {
		return nil, err
	}
	stored := map[string]dynamo.Attributes{}
	for _, item := range items {
		stored[keyOf(item)] = item
	}
	ordered := make([]dynamo.Attributes, len(keys))
	for i, key := range keys {
		ordered[i] = stored[keyOf(key)]
	}
	return ordered, nil
}

// keyOf returns the text of the key of an item.
func keyOf(item dynamo.Attributes) string {
	par, _ := item[attrPar].(*types.AttributeValueMemberS) // its table's key is a text
	if par == nil {
		return ""
	}
	return par.Value
}

// row reads the row of a projection and a persistence id.
func (t *table) row(ctx context.Context, key dynamo.Attributes) (row, error) {
	item, err := t.get(ctx, key)
	if err != nil {
		return row{}, err
	}
	return decodeRow(t.name, item)
}

// condition is a condition on a row, with the values of all expressions of a request.
type condition struct {
	expression string
	values     dynamo.Attributes
}

// unchanged returns the condition that the offset of a row is still what it was, and that the
// persistence id has not become stuck. An offset in a SQL database is not in the row: the condition
// is then that the row is as stuck as it was.
func (r *row) unchanged() condition {
	if r.inSQL {
		return r.sameStuck()
	}
	only := condition{"attribute_not_exists(" + attrSeq + ")", dynamo.Attributes{}}
	if r.begun {
		only = condition{
			attrSeq + " = :oldseq AND " + attrWriter + " = :oldwriter",
			dynamo.Attributes{":oldseq": number(r.seq), ":oldwriter": text(r.writer)},
		}
	}
	if r.stuck == 0 {
		only.expression = "(" + only.expression + ") AND attribute_not_exists(" + attrStuck + ")"
	}
	return only
}

// sameStuck returns the condition that no trigger has come since a stuck row was read.
func (r *row) sameStuck() condition {
	if r.stuck == 0 {
		return condition{"attribute_not_exists(" + attrStuck + ")", dynamo.Attributes{}}
	}
	return condition{attrStuck + " = :oldstuck", dynamo.Attributes{":oldstuck": number(r.stuck)}}
}

// and returns the condition that both hold.
func (c condition) and(other condition) condition {
	both := condition{c.expression + " AND " + other.expression, dynamo.Attributes{}}
	for _, values := range []dynamo.Attributes{c.values, other.values} {
		maps.Copy(both.values, values)
	}
	return both
}

// change is a change of a row: what is set, and which attributes are removed.
type change struct {
	set     dynamo.Attributes
	removed []string
}

// moved is the change of a row to an offset.
func moved(to offset) change {
	return change{set: dynamo.Attributes{attrSeq: number(to.seq), attrWriter: text(to.writer)}}
}

// expression returns the update expression, and adds its values to those of the condition.
func (c change) expression(values dynamo.Attributes) string {
	set, remove := "", ""
	for _, name := range slices.Sorted(maps.Keys(c.set)) {
		set += ", " + name + " = :" + name
		values[":"+name] = c.set[name]
	}
	for _, name := range c.removed {
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

// update changes a row. The error is errAgain if the condition does not hold. That is so also if an
// attempt whose response was lost has made the change: the row shows it.
func (t *table) update(ctx context.Context, key dynamo.Attributes, c change, only condition) error {
	values := only.values
	update := dynamo.Update{
		Table: t.name, Key: key, Expression: c.expression(values), Condition: only.expression, Values: values,
	}
	return t.send(ctx, update)
}

// again raises the counter of a stuck row. To raise it twice does no harm.
func (t *table) again(ctx context.Context, key dynamo.Attributes) error {
	return t.send(ctx, dynamo.Update{
		Table: t.name, Key: key,
		Expression: "SET " + attrStuck + " = " + attrStuck + " + :one",
		Condition:  "attribute_exists(" + attrStuck + ")",
		Values:     dynamo.Attributes{":one": number(1)},
	})
}

func (t *table) send(ctx context.Context, update dynamo.Update) error {
	err := core.Of(t.journal).Requests(ctx, func(ctx context.Context, client *dynamo.Client) error {
		_, err := client.Update(ctx, &dynamo.Meter{}, update)
		return err
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return errAgain
	}
	return err
}

// transact writes items and the change of a row in one transaction. The error is errAgain if the
// condition of the row does not hold, and another one if one of the items can't be written.
func (t *table) transact(
	ctx context.Context, key dynamo.Attributes, items []types.TransactWriteItem, c change, only condition,
) error {
	values := only.values
	expression := c.expression(values)
	all := append([]types.TransactWriteItem{{Update: &types.Update{
		TableName: &t.name, Key: key, UpdateExpression: &expression,
		ConditionExpression: &only.expression, ExpressionAttributeValues: values,
	}}}, items...)
	return t.together(ctx, all)
}

// together writes items in one transaction. The error is errAgain if the condition of the first
// does not hold.
func (t *table) together(ctx context.Context, items []types.TransactWriteItem) error {
	err := core.Of(t.journal).Requests(ctx, func(ctx context.Context, client *dynamo.Client) error {
		return client.Transact(ctx, &dynamo.Meter{}, dynamo.Transaction{
			Table: t.name, Items: items, Token: uuid.NewString(),
		})
	})
	if codes := dynamo.CancellationReasons(err); len(codes) > 0 && codes[0] == "ConditionalCheckFailed" {
		return errAgain
	}
	return err
}
