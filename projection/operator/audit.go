package operator

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// AuditOptions are the options of [Operator.Audit] and [Operator.MeasureLag]. The zero value has
// the defaults.
type AuditOptions struct {
	// MinAge is the minimum age of the next event to count as not handled: a younger event may
	// still be on its way. An event without a stored time counts. MeasureLag ignores MinAge.
	//
	// Negative means no minimum. Defaults to 1 minute.
	MinAge time.Duration

	// PerSecond is the maximum number of persistence ids that are checked in a second.
	//
	// Negative means no limit. Defaults to 100.
	PerSecond float64

	// Progress, if set, is called with the number of persistence ids that were checked so far.
	Progress func(ids int)
}

func (o *AuditOptions) complete() error {
	if o.MinAge == 0 {
		o.MinAge = time.Minute
	}
	if o.PerSecond == 0 {
		o.PerSecond = engine.DefaultPerSecond
	}
	if math.IsNaN(o.PerSecond) {
		return engine.Argument("AuditOptions.PerSecond", o.PerSecond, "it is not a number")
	}
	return nil
}

// FindingKind is the kind of a finding of an audit.
type FindingKind string

// The kinds of findings.
const (
	// FindingBehind: events after the offset are not handled.
	FindingBehind FindingKind = "behind"
	// FindingNoRow: there are events, but no row: no event is handled.
	FindingNoRow FindingKind = "no-row"
	// FindingAhead: the offset is after the last event.
	FindingAhead FindingKind = "ahead"
	// FindingOtherLife: a purge is not handled, or the event at the offset is missing, or has
	// another writer than the row. Everything was erased, an older journal was restored, or the row
	// is wrong.
	FindingOtherLife FindingKind = "other-life"
	// FindingStuck: the persistence id is stuck.
	FindingStuck FindingKind = "stuck"
	// FindingUnreadable: the row or the journal can't be read.
	FindingUnreadable FindingKind = "unreadable"
)

// Finding is a problem that an audit has found.
type Finding struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection    string
	PersistenceID string
	Kind          FindingKind
	// Offset is the number up to which events were handled, according to the row.
	Offset int64
	// Events counts the numbers after the offset that may have events.
	Events int64
	// Age is the age of the next event. It is 0 if the event's time is not stored.
	Age    time.Duration
	Detail string
}

// Audit compares the row of each persistence id with the journal, for the projection, or for all
// projections except projections of package sqlprojection if the operator has no name. It changes
// nothing. It finds events that were not handled because a trigger was lost, rows that were changed
// by hand or are damaged, and persistence ids that are stuck. It can't find a row whose offset was
// set by hand to the number and the writer of a later event.
//
// Audit lists all persistence ids. Each costs 1 read unit for each row, and 3 more for each offset,
// as in a sweep. Findings are confirmed before they are returned.
//
// Errors: a *dynajournal.ArgumentError, [projection.ErrNoProjection], errors of a listing, and
// errors of requests. After an error the sequence ends.
func (o *Operator) Audit(ctx context.Context, opts AuditOptions) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		err := o.audit(ctx, opts, func(f Finding) bool { return yield(f, nil) })
		if err != nil {
			yield(Finding{}, fmt.Errorf("audit projections: %w", err))
		}
	}
}

// Backlog is the backlog of a projection in the journal.
type Backlog struct {
	// Projection is the name of the group and of the projection, such as billing/balances.
	Projection string
	// IDs counts persistence ids with events that are not handled. Stuck counts stuck persistence
	// ids.
	IDs, Stuck int
	// Events counts numbers that may have events and are not handled.
	Events int64
	// Oldest is the age of the oldest event that is the next one of its persistence id. It is 0 if
	// there is none, or if the times of events are not stored.
	Oldest time.Duration
}

// MeasureLag returns the backlog of the projection, or of all projections except projections of
// package sqlprojection if the operator has no name. It checks all persistence ids as
// [Operator.Audit] does, and costs as much. For projections that read a stream,
// [Operator.Positions] is cheaper. The function [MeasureLag] also measures projections of package
// sqlprojection.
//
// Errors: as for Audit.
func (o *Operator) MeasureLag(ctx context.Context, opts AuditOptions) ([]Backlog, error) {
	a, err := o.auditor(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("measure the lag of projections: %w", err)
	}
	return a.measure(ctx)
}

// MeasureLag returns the backlog of the projections of a group, including projections of package
// sqlprojection: it reads the offsets of these in their database, with one statement for each
// persistence id. Otherwise it works like [Operator.MeasureLag]. The group need not run.
func MeasureLag(ctx context.Context, g *projection.Group, opts AuditOptions) ([]Backlog, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	of := engine.GroupOf(g)
	a := &auditor{journal: of.Journal, table: of.Table, opts: opts, offsets: map[string]engine.OffsetStore{}}
	var names []string
	for _, member := range of.Members {
		names = append(names, member.Name)
		a.offsets[member.Name] = member.Offsets
	}
	var err error
	if a.infos, err = of.Table.Infos(ctx, names); err != nil {
		return nil, fmt.Errorf("measure the lag of projections: %w", err)
	}
	return a.measure(ctx)
}

// measure checks all persistence ids, and returns the sums for each projection.
func (a *auditor) measure(ctx context.Context) ([]Backlog, error) {
	a.opts.MinAge = -1
	all := make([]Backlog, len(a.infos))
	place := map[string]*Backlog{}
	for i, info := range a.infos {
		all[i].Projection = info.Projection
		place[info.Projection] = &all[i]
	}
	err := a.all(ctx, func(f Finding) bool {
		b := place[f.Projection]
		if f.Kind == FindingStuck {
			b.Stuck++
		}
		if f.Events > 0 {
			b.IDs++
		}
		b.Events += f.Events
		b.Oldest = max(b.Oldest, f.Age)
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("measure the lag of projections: %w", err)
	}
	return all, nil
}

// auditor checks the persistence ids of a journal for projections.
type auditor struct {
	journal *dynajournal.Journal
	table   *engine.Table
	infos   []engine.Info
	opts    AuditOptions
	// offsets has the offset store of each projection of a group, by name.
	offsets map[string]engine.OffsetStore
}

func (o *Operator) audit(ctx context.Context, opts AuditOptions, found func(Finding) bool) error {
	a, err := o.auditor(ctx, opts)
	if err != nil {
		return err
	}
	return a.all(ctx, found)
}

func (o *Operator) auditor(ctx context.Context, opts AuditOptions) (*auditor, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	infos, err := o.selected(ctx)
	if err != nil {
		return nil, err
	}
	a := &auditor{journal: o.journal, table: engine.OpenTable(o.journal), opts: opts}
	for _, of := range infos {
		err := (&engine.Registered{Info: of, Table: a.table}).StoresRows()
		if err != nil && o.projection != "" {
			return nil, err
		}
		if err == nil {
			a.infos = append(a.infos, of)
		}
	}
	return a, nil
}

// auditedAtOnce is the number of persistence ids that are checked concurrently.
const auditedAtOnce = 8

// all checks all persistence ids, in their order, until found returns false.
func (a *auditor) all(ctx context.Context, found func(Finding) bool) error {
	seen := 0
	for pids, err := range a.chunks(ctx) {
		if err != nil {
			return err
		}
		findings, err := a.together(ctx, pids)
		if err != nil {
			return err
		}
		for _, ofID := range findings {
			for _, f := range ofID {
				if !found(f) {
					return nil
				}
			}
			if seen++; a.opts.Progress != nil {
				a.opts.Progress(seen)
			}
		}
	}
	return nil
}

// chunks lists the persistence ids of the journal, auditedAtOnce at a time, within the limit
// PerSecond. A chunk is valid until the next one. After an error the sequence ends.
func (a *auditor) chunks(ctx context.Context) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		limit := rate.NewLimiter(rate.Inf, 1)
		if a.opts.PerSecond > 0 {
			limit = rate.NewLimiter(rate.Limit(a.opts.PerSecond), auditedAtOnce)
		}
		var pids []string
		for pid, err := range a.journal.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{}) {
			if err != nil {
				yield(nil, err)
				return
			}
			if err := limit.Wait(ctx); err != nil {
				yield(nil, fmt.Errorf("check %q: %w", pid, err))
				return
			}
			if pids = append(pids, pid); len(pids) < auditedAtOnce {
				continue
			}
			if !yield(pids, nil) {
				return
			}
			pids = pids[:0]
		}
		if len(pids) > 0 {
			yield(pids, nil)
		}
	}
}

// together checks persistence ids concurrently, and returns the findings of each.
func (a *auditor) together(ctx context.Context, pids []string) ([][]Finding, error) {
	findings := make([][]Finding, len(pids))
	group, ctx := errgroup.WithContext(ctx)
	for i, pid := range pids {
		group.Go(func() error {
			var err error
			findings[i], err = a.one(ctx, pid)
			return err
		})
	}
	return findings, group.Wait()
}
