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
	if e.tables[e.names.journal].Status == "" {
		return nil // the check of the table says so
	}
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
	var all []Check
	if t.Status != "" {
		all = append(all, debtsIndex(&t))
	}
	units := &readUnits{}
	j, err := dynajournal.Open(ctx, units.counting(e.config))
	if err != nil {
		return all // the check of the header says so
	}
	defer func() { _ = j.Close() }()
	infos, err := operator.List(ctx, j)
	if err != nil {
		return append(all, failed("registry", "dynamodb:BatchGetItem on "+e.names.projections, err))
	}
	var names []string
	for _, of := range infos {
		all = append(all, registered(&of, time.Now()))
		if of.Kind != "sql" {
			names = append(names, of.Projection)
		}
	}
	return append(all, e.offsets(ctx, j, names, units))
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
	var wrong, want, fix []string
	finds := func(found, wanted, remedy string) {
		wrong, want, fix = append(wrong, found), append(want, wanted), append(fix, remedy)
	}
	if of.Processes == 0 && of.Source != "lambda" {
		finds("no process runs it", "a process", "start it, or `dynajournal projections remove` it if it is not used any more")
	}
	if !of.Paused.IsZero() && now.Sub(of.Paused) > longPause {
		finds("paused for more than 12 hours", "a short pause", "dynajournal projections continue")
	}
	if of.Resetting {
		finds("a reset or a removal was interrupted", "a complete one", "repeat the reset or the removal")
	}
	if len(wrong) == 0 {
		c.Docs = ""
		return c
	}
	c.Status, c.Found, c.Want, c.Fix = StatusWarn, strings.Join(wrong, "; "), strings.Join(want, "; "), strings.Join(fix, "; ")
	return c
}
