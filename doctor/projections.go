package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/provision"
	"github.com/dynajournal/dynajournal/projection/operator"
)

// longPause is a pause that was probably forgotten.
const longPause = 12 * time.Hour

// stream checks that the journal table has a stream that projections can read.
func (e *examination) stream(context.Context) []Check {
	view := e.tables[e.names.journal].Stream
	c := Check{Name: "stream", Status: StatusOK, Found: view}
	switch view {
	case "NEW_IMAGE", "NEW_AND_OLD_IMAGES":
	case "":
		c.Status, c.Found, c.Want, c.Fix = StatusError, "no stream", "a stream of NEW_IMAGE", "dynajournal tables update --stream"
	default:
		c.Status, c.Want = StatusWarn, "NEW_IMAGE, which saves a read for each event"
		c.Fix = "create a stream of NEW_IMAGE in place of this one"
	}
	if c.Status != StatusOK {
		c.Docs = "projections.md"
	}
	return []Check{c}
}

// projections checks the registry of projections.
func (e *examination) projections(ctx context.Context) []Check {
	t, ok := e.tables[e.names.projections]
	if !ok {
		return nil // the check of the table says so
	}
	all := []Check{debtsIndex(&t)}
	j, err := dynajournal.Open(ctx, e.config)
	if err != nil {
		return all // the check of the header says so
	}
	defer func() { _ = j.Close() }()
	infos, err := operator.List(ctx, j)
	if err != nil {
		return append(all, failed("registry", "dynamodb:BatchGetItem on "+e.names.projections, err))
	}
	for _, of := range infos {
		all = append(all, registered(&of, time.Now()))
	}
	return append(all, offsets(ctx, j, len(infos)))
}

// offsets compares the offsets of some persistence ids with the journal. An offset after the last
// event means that only the journal table was restored, or that the tables do not belong together:
// the projection would not handle the next events.
func offsets(ctx context.Context, j *dynajournal.Journal, projections int) Check {
	c, checked := Check{Name: "restore.offsets", Status: StatusOK}, 0
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	options := operator.AuditOptions{MinAge: -1, PerSecond: -1, Progress: func(ids int) {
		if checked = ids; ids >= sampled {
			stop()
		}
	}}
	for f, err := range operator.New(j, "").Audit(ctx, options) {
		switch {
		case err != nil && checked >= sampled: // it was stopped
		case err != nil:
			return failed(c.Name, "dynamodb:GetItem", err)
		case f.Kind == operator.FindingAhead:
			c.Status = StatusError
			c.Found = fmt.Sprintf("projection %s has handled %q up to %d, and the journal ends before", f.Projection, f.PersistenceID, f.Offset)
			c.Want, c.Docs = "tables that belong together", "operations.md#after-a-restore"
			c.Fix = "do not start writers: a table was restored alone, or is the wrong one"
			return c
		}
	}
	c.Found = fmt.Sprintf("the offsets of %d persistence ids in %d projections are not ahead of the journal", checked, projections)
	return c
}

func debtsIndex(t *dynajournal.Table) Check {
	c := Check{Name: "index.debts", Status: StatusOK, Found: "debts is ACTIVE"}
	for _, i := range t.Indexes {
		if i.Name == provision.DebtsIndex && i.Status == "ACTIVE" {
			return c
		}
	}
	c.Status, c.Found, c.Want = StatusWarn, "the index debts is missing or not active", "ACTIVE: without it an outage of one projection delays its group"
	c.Fix, c.Docs = "dynajournal tables update", "projections-operate.md#debts"
	return c
}

// registered checks a projection in the registry.
func registered(of *operator.Info, now time.Time) Check {
	c := Check{Name: "projection." + of.Projection, Status: StatusOK, Found: fmt.Sprintf("%d processes", of.Processes), Docs: "projections-operate.md"}
	var wrong []string
	if of.Processes == 0 && of.Source != "lambda" {
		wrong = append(wrong, "no process runs it")
		c.Fix = "start it, or `dynajournal projections remove` it if it is not used any more"
	}
	if !of.Paused.IsZero() && now.Sub(of.Paused) > longPause {
		wrong = append(wrong, "paused for more than 12 hours")
		c.Fix = "dynajournal projections continue"
	}
	if of.Resetting {
		wrong = append(wrong, "a reset or a removal was interrupted")
		c.Fix = "repeat the reset or the removal"
	}
	if len(wrong) == 0 {
		c.Docs = ""
		return c
	}
	c.Status, c.Found, c.Want = StatusWarn, strings.Join(wrong, "; "), "processes that run it"
	return c
}
