package projection

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

// FromNow is an option with which a projection that has never run begins behind the events that
// there are. See [Group.Start]. To a projection that has run before it means nothing.
func FromNow() Option { return func(p *Projection) { p.fromNow = true } }

// Start prepares the projections that have never run, and returns. [Group.Run] does it too, if it
// was not done.
//
// For a projection with [FromNow] it stores for each persistence id how far its events are decided.
// An event that is committed after Start has returned is handled; one that was committed before may
// be: where an earlier number was still undecided, and where the persistence id is so new that its
// index does not list it yet. It reads at most Config.Source's PerSecond ids a second. An id with
// few events costs 6 read units and 2 write units. It goes on where it was interrupted, in
// any process, and no handler is called before it is done.
//
// Errors: [ErrNoTable], [ErrReplicated], those of a listing, and those of requests.
func (g *Group) Start(ctx context.Context) error {
	err := g.check(ctx)
	if err == nil {
		err = g.start(ctx)
	}
	if err != nil {
		return fmt.Errorf("projections %q: %w", g.config.Name, err)
	}
	return nil
}

// check checks that the tables can be used.
func (g *Group) check(ctx context.Context) error {
	if err := g.table.check(ctx); err != nil || g.config.AllowReplicas {
		return err
	}
	found, err := findStream(ctx, g.journal)
	switch {
	case errors.Is(err, dynajournal.ErrDenied):
		return nil // the policy may lack DescribeTable
	case err == nil && found.Replicas > 0:
		return fmt.Errorf("table %q: %w", core.Of(g.journal).Table, ErrReplicated)
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
		for i, of := range g.members {
			of.see(all[i])
			if all[i].started {
				continue
			}
			switch err := g.startOne(ctx, of, all[i]); {
			case errors.Is(err, errAgain): // another process does the same
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

// startOne stores that a projection has begun. With FromNow the rows come before. No row is written
// once the projection has begun, or one for an id that appears then would hide its events.
func (g *Group) startOne(ctx context.Context, of *member, now standing) error {
	if of.fromNow {
		if err := g.markAll(ctx, of, now); err != nil {
			return err
		}
	}
	set, values := "SET "+attrStarted+" = :now", dynamo.Attributes{":now": number(time.Now().Unix())}
	if g.config.Source.kind() == sourceLambda && !of.fromNow {
		set += owing // a stream has the records of a day
		values[":none"], values[":one"] = number(0), number(1)
	}
	return g.table.send(ctx, dynamo.Update{
		Table: g.table.name, Key: g.table.standingKey(of.name),
		Expression: set + " REMOVE " + attrMarked,
		Condition:  "attribute_not_exists(" + attrStarted + ")",
		Values:     values,
	})
}

// maxMarked is how many rows are written at once: a transaction has 100 items, and one says how far
// the marking has come.
const maxMarked = 99

// maxEnds is how many ends of persistence ids are read at the same time.
const maxEnds = 16

// markAll puts a row at the decided end of each persistence id that the projection takes.
func (g *Group) markAll(ctx context.Context, of *member, now standing) error {
	limit := pace(g.config.Source.perSecond())
	var pids []string
	listed := dynajournal.IDsOptions{After: now.marked, Sorted: true}
	for pid, err := range g.journal.CurrentPersistenceIDs(ctx, listed) {
		if err != nil {
			return err
		}
		if !of.only.takes(pid) {
			continue
		}
		if err := waitFor(ctx, limit); err != nil {
			return fmt.Errorf("begin from now: %w", err)
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

// mark puts rows of persistence ids, and stores in the same transaction how far the marking has
// come: under the condition that nobody else has, and that the projection has not begun.
func (g *Group) mark(ctx context.Context, of *member, now *standing, pids []string) error {
	ends := make([]offset, len(pids))
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
	items := []types.TransactWriteItem{g.table.progress(of, now, pids[len(pids)-1])}
	for i, pid := range pids {
		if ends[i].seq > 0 {
			items = append(items, g.table.marked(of, pid, ends[i]))
		}
	}
	if err := g.table.together(ctx, items); err != nil {
		return err
	}
	now.marking, now.marked = true, pids[len(pids)-1]
	return nil
}

// progress returns the write of how far a marking has come.
func (t *table) progress(of *member, now *standing, to string) types.TransactWriteItem {
	expression := "SET " + attrMarked + " = :to"
	only := "attribute_not_exists(" + attrStarted + ") AND attribute_not_exists(" + attrMarked + ")"
	values := dynamo.Attributes{":to": text(to)}
	if now.marking {
		only = attrMarked + " = :old"
		values[":old"] = text(now.marked)
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &t.name, Key: t.standingKey(of.name), UpdateExpression: &expression,
		ConditionExpression: &only, ExpressionAttributeValues: values,
	}}
}

// marked returns the write of a row at an offset. A row that has one stays what it is.
func (t *table) marked(of *member, pid string, end offset) types.TransactWriteItem {
	expression := "SET " + attrSeq + " = if_not_exists(" + attrSeq + ", :seq), " +
		attrWriter + " = if_not_exists(" + attrWriter + ", :writer)"
	if !of.offsets.inRows() {
		expression += ", " + attrBegins + " = if_not_exists(" + attrBegins + ", :seq)"
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &t.name, Key: rowKey(t.journalName, of.name, pid), UpdateExpression: &expression,
		ExpressionAttributeValues: dynamo.Attributes{":seq": number(end.seq), ":writer": text(end.writer)},
	}}
}
