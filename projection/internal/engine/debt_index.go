package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// debtsPage is how many debts of a projection are read at once.
const debtsPage = 100

// owedRuns are the debts of a projection that a look has found: at most debtsPage of them.
type owedRuns struct {
	runs int
	// since is when the oldest of them was stored.
	since time.Time
}

// OwedRun is an entry of the index of debts. Due is when the run is to be made, Since when the debt
// was stored.
type OwedRun struct {
	PersistenceID string
	Due, Since    time.Time
}

// Listed are the debts of a projection that a list has: those that are due some time, or those of
// stuck persistence ids.
type Listed string

// The conditions of both lists.
const (
	ListedDue   Listed = attrDue + " < :never"
	ListedStuck Listed = attrDue + " = :never"
)

// Debts reads a page of a list of the debts of a projection, in the order in which they are due. It
// returns where the next page begins, nil after the last. The index follows the table late.
func (t *Table) Debts(
	ctx context.Context, projection string, list Listed, from dynamo.Attributes,
) ([]OwedRun, dynamo.Attributes, error) {
	var page dynamo.Page
	err := core.Of(t.Journal).Requests(ctx, func(ctx context.Context, client *dynamo.Client) error {
		var err error
		page, err = client.Query(ctx, &dynamo.Meter{}, &dynamodb.QueryInput{
			TableName: &t.Name, IndexName: aws.String(provision.DebtsIndex), ExclusiveStartKey: from,
			KeyConditionExpression: aws.String(attrDebt + " = :debt AND " + string(list)),
			ExpressionAttributeValues: dynamo.Attributes{
				":debt": Text(t.debtsOf(projection)), ":never": Number(provision.NeverDue),
			},
			Limit: aws.Int32(debtsPage),
		})
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	runs := make([]OwedRun, len(page.Items))
	for i, item := range page.Items {
		d := Decoder{Table: t.Name, Item: item}
		debt := d.debt()
		runs[i] = OwedRun{strings.TrimPrefix(d.Text(AttrPar), t.debtsOf(projection)+"\x00"), debt.Due, debt.Since}
	}
	return runs, page.Next, nil
}

// debts reads the first page of the debts of a projection, in the order in which they are due, and
// notes whether the index of debts can be read.
func (g *Group) debts(ctx context.Context, of *Member) ([]OwedRun, error) {
	page, _, err := g.Table.Debts(ctx, of.Name, ListedDue, nil)
	switch {
	case err == nil:
		g.indexed.Store(true)
		g.toldOfIndex.Store(false)
	case ctx.Err() != nil:
		return nil, err
	case IsNoIndex(err):
		g.indexed.Store(false)
		if g.toldOfIndex.CompareAndSwap(false, true) {
			g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "the index of debts can't be read: "+
				"what a projection can't reach holds up the group; run `dynajournal tables update`",
				slog.String("group", g.Config.Name), slog.Any("error", err))
		}
		return nil, err
	default:
		g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "the debts of a projection could not be read",
			slog.String("projection", of.Name), slog.Any("error", err))
		return nil, err
	}
	seen := owedRuns{runs: len(page)}
	for i := range page {
		if i == 0 || page[i].Since.Before(seen.since) {
			seen.since = page[i].Since
		}
	}
	of.debts.Store(&seen)
	return page, nil
}

// findIndex finds out whether the index of debts can be read. A group runs without it, too.
func (g *Group) findIndex(ctx context.Context) {
	_, _ = g.debts(ctx, g.Members[0]) // that is logged
}

// IsNoIndex reports whether the table has no index of debts that can be read: an earlier version
// has made the table, the index is being filled, or a policy does not allow to read it.
func IsNoIndex(err error) bool {
	return errors.Is(err, dynajournal.ErrInvalidRequest) || errors.Is(err, dynajournal.ErrDenied) ||
		errors.Is(err, dynajournal.ErrTableNotFound)
}
