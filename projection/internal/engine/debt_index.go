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

// debtsPage is the maximum number of debts in a page of the index.
const debtsPage = 100

// debtSummary summarizes the debts of a projection that were last read: at most debtsPage debts.
type debtSummary struct {
	runs int
	// since is when the oldest debt was stored.
	since time.Time
}

// DebtEntry is an entry of the index of debts. Due is when the run is due. Since is when the debt
// was stored.
type DebtEntry struct {
	PersistenceID string
	Due, Since    time.Time
}

// Listed selects debts of a projection.
type Listed string

// ListedDue selects the debts that are due now or later. ListedStuck selects the debts of stuck
// persistence ids, which are never due.
const (
	ListedDue   Listed = attrDue + " < :never"
	ListedStuck Listed = attrDue + " = :never"
)

// Debts reads a page of the selected debts of a projection, ordered by due time. It also returns
// the start of the next page, nil after the last page. The index is eventually consistent.
func (t *Table) Debts(
	ctx context.Context, projection string, list Listed, from dynamo.Attributes,
) ([]DebtEntry, dynamo.Attributes, error) {
	var page dynamo.Page
	err := core.Of(t.Journal).Requests(ctx, dynamo.ForProjection, func(ctx context.Context, client *dynamo.Client) error {
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
	runs := make([]DebtEntry, len(page.Items))
	for i, item := range page.Items {
		d := Decoder{Table: t.Name, Item: item}
		debt := d.debt()
		runs[i] = DebtEntry{strings.TrimPrefix(d.Text(AttrPar), t.debtsOf(projection)+"\x00"), debt.Due, debt.Since}
	}
	return runs, page.Next, nil
}

// debts reads the first page of the debts of a projection, ordered by due time, and records whether
// the index of debts can be read.
func (g *Group) debts(ctx context.Context, of *Member) ([]DebtEntry, error) {
	page, _, err := g.Table.Debts(ctx, of.Name, ListedDue, nil)
	switch {
	case err == nil:
		g.indexed.Store(true)
		g.loggedNoIndex.Store(false)
	case ctx.Err() != nil:
		return nil, err
	case IsNoIndex(err):
		g.indexed.Store(false)
		if g.loggedNoIndex.CompareAndSwap(false, true) {
			g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "the index of debts can't be read: "+
				"an outage of one projection delays the whole group; run `dynajournal tables update`",
				slog.String("event", "projection.no_debt_index"), slog.String("group", g.Config.Name), slog.Any("error", err))
		}
		return nil, err
	default:
		g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "the debts of a projection could not be read",
			slog.String("event", "projection.debts_unreadable"), slog.String("projection", of.Name), slog.Any("error", err))
		return nil, err
	}
	seen := debtSummary{runs: len(page)}
	for i := range page {
		if i == 0 || page[i].Since.Before(seen.since) {
			seen.since = page[i].Since
		}
	}
	of.debts.Store(&seen)
	return page, nil
}

// findIndex finds out whether the index of debts can be read. A group can run without the index.
func (g *Group) findIndex(ctx context.Context) {
	_, _ = g.debts(ctx, g.Members[0]) // debts logs an error
}

// IsNoIndex reports whether err shows that the index of debts can't be read: an earlier version has
// created the table, the index is still being built, or a policy denies the read.
func IsNoIndex(err error) bool {
	return errors.Is(err, dynajournal.ErrInvalidRequest) || errors.Is(err, dynajournal.ErrDenied) ||
		errors.Is(err, dynajournal.ErrTableNotFound)
}
