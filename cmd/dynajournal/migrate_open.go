package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
	"github.com/dynajournal/dynajournal/legacy/migration"
)

// migrationRun is a migration and the resources that it has opened.
type migrationRun struct {
	command    *migrateCommand
	session    *session
	closers    []func() error // in the order of opening
	toLocation *location

	from, to  dynajournal.Config
	elsewhere bool // the target is at another location than the source
	source    migration.Source
	target    *dynajournal.Journal
}

func (m *migrationRun) close() error {
	var err error
	for _, closing := range slices.Backward(m.closers) {
		err = errors.Join(err, closing())
	}
	return err
}

// open opens source and target. If both are on the same embedded engine, it opens the engine once.
func (m *migrationRun) open(ctx context.Context) error {
	c, s := m.command, m.session
	to := *s.location
	m.toLocation = s.location
	from, err := s.location.open(ctx, s.err)
	if err != nil {
		return err
	}
	m.closers = append(m.closers, from.close)
	target := from
	m.elsewhere = c.ToEndpoint != "" || c.ToData != "" || c.ToAWS || c.ToRegion != "" || c.ToProfile != ""
	if m.elsewhere {
		to.Endpoint, to.Data, to.AWS, to.Memory = c.ToEndpoint, c.ToData, c.ToAWS, false
		if !to.isSet() { // another region or account
			to.Endpoint, to.AWS = s.location.Endpoint, s.location.Endpoint == ""
		}
		to.Region, to.profile = first(c.ToRegion, to.Region), c.ToProfile
		if target, err = to.open(ctx, s.err); err != nil {
			return err
		}
		m.closers = append(m.closers, target.close)
		m.toLocation = &to
		if err := s.printFolder(&to); err != nil {
			return err
		}
	}
	m.to, m.from = target.config, from.config
	m.to.JournalTable = first(m.to.JournalTable, dynajournal.DefaultJournalTable)
	m.from.JournalTable, m.from.SnapshotTable = c.FromTable, c.FromSnapshotTable
	m.from.JournalName = first(c.FromJournalName, m.from.JournalName)
	m.from.SequenceShards = c.FromSequenceShards
	if !m.elsewhere && m.from.JournalTable == m.to.JournalTable && c.FromLayout == layoutCurrent &&
		sameName(m.from.JournalName, m.to.JournalName) {
		return usagef("source and target are the same journal in table %s", m.from.JournalTable)
	}
	if !m.inPlace() {
		if err := m.openSource(ctx); err != nil {
			return fmt.Errorf("the source: %w", err)
		}
	}
	if m.target, err = m.openTarget(ctx, target); err != nil {
		return fmt.Errorf("the target: %w", err)
	}
	m.closers = append(m.closers, m.target.Close)
	return nil
}

func sameName(a, b string) bool {
	return first(a, dynajournal.DefaultJournalName) == first(b, dynajournal.DefaultJournalName)
}

// openTarget opens the target. On an embedded engine it creates missing tables, unless the
// migration is in place or only verifies.
func (m *migrationRun) openTarget(ctx context.Context, p *connection) (*dynajournal.Journal, error) {
	p.takeLargeWrites()
	j, err := dynajournal.Open(ctx, p.config)
	if lacksTables(err) && !m.command.VerifyOnly && !m.inPlace() {
		return m.session.withoutTables(ctx, copying, p, err)
	}
	return j, err
}

// inPlace reports whether source and target are the same journal, so that events are upgraded in
// its table.
func (m *migrationRun) inPlace() bool {
	return m.command.FromLayout == layoutPay && !m.elsewhere && m.command.FromTable == m.to.JournalTable &&
		sameName(m.from.JournalName, m.to.JournalName)
}

func (m *migrationRun) openSource(ctx context.Context) error {
	c := m.command
	if c.FromLayout == layoutCurrent || c.FromLayout == layoutPay {
		j, err := dynajournal.Open(ctx, m.from)
		if err != nil {
			return withLayoutHint(ctx, c.FromLayout, m.from, err)
		}
		m.closers = append(m.closers, j.Close)
		m.source = migration.Current{Journal: j, WithoutSnapshots: c.FromSnapshotTable == "",
			NeedsNoSnapshots: c.WithoutSnapshots, Live: c.Live}
		return nil
	}
	layout, err := legacy.ParseLayout(c.FromLayout)
	if err != nil {
		return err
	}
	usage := &migration.Usage{}
	m.from.Hooks = append(m.from.Hooks, usage.Hook())
	m.from.Adapter = nil
	j, err := legacy.Open(ctx, legacy.Config{Layout: layout, Journal: m.from})
	if err != nil {
		return err
	}
	m.closers = append(m.closers, j.Close)
	marked := migration.MarkedSkip
	if c.MarkedDeleted == "tombstones" {
		marked = migration.MarkedTombstones
	}
	m.source = migration.Legacy{Journal: j, Marked: marked, Live: c.Live, Usage: usage}
	return nil
}

// withLayoutHint adds the legacy layout that fits the table to the error of opening the table with
// a current layout.
func withLayoutHint(ctx context.Context, layout string, config dynajournal.Config, err error) error {
	if !errors.Is(err, dynajournal.ErrTableSchema) {
		return err
	}
	for _, l := range legacy.Layouts() {
		older := config
		older.Adapter = nil
		j, opening := legacy.Open(ctx, legacy.Config{Layout: l, Journal: older})
		if opening != nil {
			continue
		}
		return errors.Join(fmt.Errorf("%w: it looks like --from-layout %s, not %s", err, l, layout), j.Close())
	}
	return fmt.Errorf("%w: the table does not look like a journal", err)
}
