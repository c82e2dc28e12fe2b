package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// one checks a persistence id for all projections.
func (a *auditor) one(ctx context.Context, pid string) ([]Finding, error) {
	var infos []engine.Info
	for _, info := range a.infos {
		if info.Takes(pid) {
			infos = append(infos, info)
		}
	}
	states, err := a.rows(ctx, pid, infos)
	if err != nil {
		return nil, err
	}
	var all []Finding
	for i, info := range infos {
		f, err := a.confirm(ctx, info, pid, states[i])
		if err != nil {
			return nil, err
		}
		if f != nil {
			all = append(all, *f)
		}
	}
	return all, nil
}

// confirm checks a persistence id for a projection. It repeats the check after a finding, until the
// row is the same twice: otherwise events may have been handled after the row was read and before
// the journal was read.
func (a *auditor) confirm(ctx context.Context, of engine.Info, pid string, state auditedRow) (*Finding, error) {
	for again := 0; ; again++ {
		f, err := a.compare(ctx, of, pid, state)
		if err != nil || f == nil {
			return nil, err
		}
		now, err := a.rows(ctx, pid, []engine.Info{of})
		if err != nil {
			return nil, err
		}
		same := now[0].Offset == state.Offset && now[0].Stuck() == state.Stuck()
		if same || again == engine.MostAgain {
			return f, nil
		}
		state = now[0]
	}
}

// auditedRow is a row, or the error of reading it.
type auditedRow struct {
	engine.Row

	err error
}

// rows reads the rows of a persistence id for projections.
func (a *auditor) rows(ctx context.Context, pid string, infos []engine.Info) ([]auditedRow, error) {
	keys := make([]dynamo.Attributes, len(infos))
	for i, info := range infos {
		keys[i] = engine.RowKey(a.table.JournalName, info.Projection, pid)
	}
	items, err := a.table.Batch(ctx, keys)
	if err != nil {
		return nil, err
	}
	states := make([]auditedRow, len(infos))
	for i, info := range infos {
		states[i].Row, states[i].err = engine.DecodeRow(a.table.Name, items[i])
		of := a.offsets[info.Projection]
		if of == nil || states[i].err != nil {
			continue
		}
		err := of.LookUp(ctx, pid, &states[i].Row)
		if errors.As(err, new(*engine.DamagedOffsetError)) {
			states[i].err, err = err, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return states, nil
}

// compare compares a row with the journal, and returns a finding, or nil if they agree.
func (a *auditor) compare(ctx context.Context, of engine.Info, pid string, state auditedRow) (*Finding, error) {
	f := &Finding{Projection: of.Projection, PersistenceID: pid, Offset: state.Seq}
	if state.err != nil {
		f.Kind, f.Detail = FindingUnreadable, state.err.Error()
		return f, nil //nolint:nilerr // the error is the finding
	}
	const both = 2 // the event at the offset, and the next
	page, err := core.Of(a.journal).ReadPage(ctx, pid, max(state.Seq, 1), both)
	if engine.IsUnreadable(err) {
		f.Kind, f.Detail = FindingUnreadable, err.Error()
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	steps := engine.Plan(state.Offset, state.Exists, page)
	switch {
	case state.Stuck():
		f.Kind, f.Detail = FindingStuck, state.Reason
	case len(steps) == 0:
		return nil, nil //nolint:nilnil // nothing is found
	case steps[0].Purge && state.Seq < page.Purged:
		f.Kind, f.Detail = FindingOtherLife, fmt.Sprintf("the purge up to %d is not handled", page.Purged)
	case steps[0].Purge && len(page.Events) == 0:
		f.Kind, f.Detail = FindingAhead, fmt.Sprintf("the journal has no event at %d or after it", state.Seq)
		return f, nil
	case steps[0].Purge:
		f.Kind = FindingOtherLife
		f.Detail = fmt.Sprintf("the journal has no event of writer %q at %d", state.Writer, state.Seq)
	case !state.Started:
		f.Kind, f.Detail = FindingNoRow, "no event is handled"
	default:
		f.Kind, f.Detail = FindingBehind, fmt.Sprintf("events after %d are not handled", state.Seq)
	}
	if f.Age = a.age(ctx, &page, steps); f.Age > 0 && f.Age < a.opts.MinAge && f.Kind != FindingStuck {
		return nil, nil //nolint:nilnil // it may be on its way
	}
	return f, a.count(ctx, f, steps)
}

// age returns the age of the first event that is not handled. It is 0 if the age is not known.
func (a *auditor) age(ctx context.Context, page *core.Page, steps []engine.Step) time.Duration {
	var at time.Time
	note := func(event dynajournal.Event) error {
		at = event.Time
		return nil
	}
	var event *core.StoredEvent
	switch {
	case len(steps) > 0 && steps[0].Event != nil:
		event = steps[0].Event
	case len(page.Events) > 0 && len(steps) > 0:
		event = &page.Events[len(page.Events)-1]
	default:
		return 0
	}
	if err := core.DeliverEvents(ctx, a.journal, event, note); err != nil || at.IsZero() {
		return 0 // the adapter refuses it
	}
	return max(core.Of(a.journal).Clock.Wall().Sub(at), 1)
}

// count counts the numbers after the offset, up to the highest number.
func (a *auditor) count(ctx context.Context, f *Finding, steps []engine.Step) error {
	if len(steps) == 0 {
		return nil
	}
	bounds, err := a.journal.Bounds(ctx, f.PersistenceID)
	if err != nil {
		return fmt.Errorf("check %q: %w", f.PersistenceID, err)
	}
	from := f.Offset
	if steps[0].Purge {
		from = steps[0].To.Seq
	}
	f.Events = max(bounds.Highest-max(from, bounds.Lowest-1), 0)
	return nil
}
