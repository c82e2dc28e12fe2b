package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Prepare checks the tables, and prepares the projections that have never run.
func (g *Group) Prepare(ctx context.Context) error {
	ctx = g.serving(ctx)
	err := g.check(ctx)
	if err == nil {
		err = g.start(ctx)
	}
	if err != nil {
		return fmt.Errorf("projections %q: %w", g.Config.Name, err)
	}
	return nil
}

// check checks that the tables can be used.
func (g *Group) check(ctx context.Context) error {
	if err := g.Table.check(ctx); err != nil || g.Config.AllowReplicas {
		return err
	}
	found, err := FindStream(ctx, g.Journal)
	switch {
	case errors.Is(err, dynajournal.ErrDenied):
		return nil // the policy may lack DescribeTable
	case err == nil && found.Replicas > 0:
		return fmt.Errorf("table %q: %w", core.Of(g.Journal).Table, ErrReplicated)
	}
	return err
}

func (g *Group) start(ctx context.Context) error {
	for {
		all, err := g.standings(ctx)
		if err != nil {
			return err
		}
		again := false
		for i, of := range g.Members {
			of.see(all[i])
			if all[i].started {
				continue
			}
			switch err := g.startOne(ctx, of, all[i]); {
			case errors.Is(err, ErrAgain): // another process does the same
				again = true
			case err != nil:
				return err
			}
		}
		if !again {
			return nil
		}
	}
}

// startOne stores that a projection has started. With FromNow it first writes a row for each
// existing persistence id. It writes no row after the projection has started: the row of a new
// persistence id would hide its events.
func (g *Group) startOne(ctx context.Context, of *Member, now standing) error {
	if of.FromNow {
		if err := g.markAll(ctx, of, now); err != nil {
			return err
		}
	}
	set, values := "SET "+AttrStarted+" = :now", dynamo.Attributes{":now": Number(time.Now().Unix())}
	if g.Config.Source.Kind() == SourceLambda && !of.FromNow {
		set += SetSweepRequest // a stream has only the records of a day
		values[":none"], values[":one"] = Number(0), Number(1)
	}
	return g.Table.Send(ctx, dynamo.Update{
		Table: g.Table.Name, Key: g.Table.StandingKey(of.Name),
		Expression: set + " REMOVE " + attrMarked,
		Condition:  "attribute_not_exists(" + AttrStarted + ")",
		Values:     values,
	})
}

// maxMarked is how many rows are written in one transaction, which has at most 100 items: one item
// is the progress.
const maxMarked = 99

// maxEnds limits how many ends of persistence ids are read at the same time.
const maxEnds = 16

// markAll writes a row at the decided end of each persistence id that the projection takes.
func (g *Group) markAll(ctx context.Context, of *Member, now standing) error {
	limit := LimitOf(g.Config.Source.PerSecond())
	var pids []string
	listed := dynajournal.IDsOptions{After: now.marked, Sorted: true}
	for pid, err := range g.Journal.CurrentPersistenceIDs(ctx, listed) {
		if err != nil {
			return err
		}
		if !of.Only.Takes(pid) {
			continue
		}
		if err := WaitFor(ctx, limit); err != nil {
			return fmt.Errorf("write the rows of FromNow: %w", err)
		}
		if pids = append(pids, pid); len(pids) < maxMarked {
			continue
		}
		if err := g.mark(ctx, of, &now, pids); err != nil {
			return err
		}
		pids = pids[:0]
	}
	if len(pids) == 0 {
		return nil
	}
	return g.mark(ctx, of, &now, pids)
}

// mark writes the rows of persistence ids and, in the same transaction, the last of these ids as
// the progress. The condition is that no other process has changed the progress, and that the
// projection has not started.
func (g *Group) mark(ctx context.Context, of *Member, now *standing, pids []string) error {
	ends := make([]Offset, len(pids))
	reading, readingCtx := errgroup.WithContext(ctx)
	reading.SetLimit(maxEnds)
	for i, pid := range pids {
		reading.Go(func() error {
			var err error
			ends[i], err = g.decidedEnd(readingCtx, pid)
			return err
		})
	}
	if err := reading.Wait(); err != nil {
		return err
	}
	items := []types.TransactWriteItem{g.Table.progress(of, now, pids[len(pids)-1])}
	for i, pid := range pids {
		if ends[i].Seq > 0 {
			items = append(items, g.Table.marked(of, pid, ends[i]))
		}
	}
	if err := g.Table.together(ctx, items); err != nil {
		return err
	}
	now.marking, now.marked = true, pids[len(pids)-1]
	return nil
}

// progress returns the write of the last persistence id that has a row.
func (t *Table) progress(of *Member, now *standing, to string) types.TransactWriteItem {
	expression := "SET " + attrMarked + " = :to"
	only := "attribute_not_exists(" + AttrStarted + ") AND attribute_not_exists(" + attrMarked + ")"
	values := dynamo.Attributes{":to": Text(to)}
	if now.marking {
		only = attrMarked + " = :old"
		values[":old"] = Text(now.marked)
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &t.Name, Key: t.StandingKey(of.Name), UpdateExpression: &expression,
		ConditionExpression: &only, ExpressionAttributeValues: values,
	}}
}

// marked returns the write of a row at an offset. It does not change an offset that the row already
// has.
func (t *Table) marked(of *Member, pid string, end Offset) types.TransactWriteItem {
	expression := "SET " + AttrSeq + " = if_not_exists(" + AttrSeq + ", :seq), " +
		AttrWriter + " = if_not_exists(" + AttrWriter + ", :writer)"
	if !of.Offsets.InRows() {
		expression += ", " + attrFromNow + " = if_not_exists(" + attrFromNow + ", :seq)"
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &t.Name, Key: RowKey(t.JournalName, of.Name, pid), UpdateExpression: &expression,
		ExpressionAttributeValues: dynamo.Attributes{":seq": Number(end.Seq), ":writer": Text(end.Writer)},
	}}
}
