package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy/migration"
)

type migrateCommand struct {
	PersistenceIDs []string `arg:"" optional:"" name:"pid" help:"Persistence ids to copy. Default: all."`
	All            bool     `help:"Copy all persistence ids, which a scan of the source finds. This is the default."`

	FromLayout         string `type:"layout" enum:"${enum_layouts}" required:"" placeholder:"L" help:"Layout of the source: one of ${layouts}. Required."`
	FromTable          string `required:"" placeholder:"NAME" help:"Table of events of the source. Required."`
	FromSnapshotTable  string `placeholder:"NAME" help:"Table of snapshots of the source. Default: no snapshots are copied, and an id that needs one is refused."`
	WithoutSnapshots   bool   `help:"Copy ids without the snapshots that they need: their entities lose the state from deleted events. Default: such an id is refused."`
	FromJournalName    string `placeholder:"NAME" help:"Name of the source's journal. Default: the name of the target's."`
	FromSequenceShards int    `placeholder:"N" help:"Number of shards of the source's marks. Default: the default of its layout."`

	ToEndpoint string `xor:"to" placeholder:"URL" help:"Endpoint of the target. Default: the endpoint of the source."`
	ToData     string `xor:"to" placeholder:"DIR" help:"Folder of an embedded engine as the target. Default: the location of the source."`
	ToAWS      bool   `xor:"to" name:"to-aws" help:"Use DynamoDB on AWS as the target. Default: the location of the source."`
	ToRegion   string `placeholder:"R" help:"Region of the target. Default: the region of the source."`
	ToProfile  string `placeholder:"NAME" help:"Profile of the AWS SDK for the target, for example of another account. Default: the SDK's default."`

	MarkedDeleted string  `enum:"skip,tombstones" default:"skip" help:"Events marked as deleted: skip keeps their numbers taken; tombstones also marks the first ones. Default: skip."`
	Live          bool    `help:"A JVM still writes to the source: an event that is missing near the end of a persistence id is left for a later run. Default: no."`
	CatchUp       bool    `help:"Copy only events after the last event of the target, without comparing the earlier ones. Default: compare all."`
	State         string  `placeholder:"FILE" help:"Record in this file which persistence ids are copied, and skip them in later runs. Default: every run compares all."`
	Notes         string  `placeholder:"FILE" help:"Write a line of JSON to this file for each event that has confirmations, is marked as deleted, or can't be read. Default: none."`
	Verify        bool    `default:"true" negatable:"" help:"Compare source and target afterwards, event by event. Default: yes."`
	VerifyOnly    bool    `help:"Only compare source and target. Default: copy first."`
	Parallel      int     `default:"10" placeholder:"N" help:"Copy N persistence ids at the same time. Default: ${default}."`
	ReadUnits     float64 `placeholder:"N" help:"Use at most N read capacity units per second on average. Default: no limit."`
	WriteUnits    float64 `placeholder:"N" help:"Use at most N write capacity units per second on average. Default: no limit."`
}

// Help returns the text below the help of the flags.
func (*migrateCommand) Help() string {
	return "The location flags select the source. Without --to-… they also select the target. The target's " +
		"tables are --journal-table and --snapshot-table. The source is only read. A migration can be " +
		"interrupted at any point and run again. A persistence id with different content in the target fails; " +
		"nothing is overwritten. With --from-layout pay and the table of the target as --from-table, events " +
		"are converted to the current form in place. On an embedded engine without tables, the command " +
		"first creates the tables of a native journal. Other commands also support the older layouts, with " +
		"--layout: append, events, highest, ids, list, delete, confirm, tables create and tables delete."
}

// Run runs the command.
func (c *migrateCommand) Run(ctx context.Context, s *session) (err error) {
	if err := c.usage(); err != nil {
		return err
	}
	m := &migrationRun{command: c, session: s}
	defer func() { err = errors.Join(err, m.close()) }()
	if err := m.open(ctx); err != nil {
		return err
	}
	if m.inPlace() {
		return m.upgrade(ctx)
	}
	return m.migrate(ctx)
}

func (c *migrateCommand) usage() error {
	switch {
	case c.All && len(c.PersistenceIDs) > 0:
		return usagef("give persistence ids, or --all")
	case c.Parallel < 1:
		return usagef("--parallel must be at least 1")
	case c.ReadUnits < 0 || c.WriteUnits < 0 || c.FromSequenceShards < 0:
		return usagef("--read-units, --write-units and --from-sequence-shards must not be negative")
	case c.WithoutSnapshots && c.FromSnapshotTable != "":
		return usagef("give --from-snapshot-table, or --without-snapshots")
	case c.VerifyOnly && (c.CatchUp || c.State != ""):
		return usagef("--verify-only copies nothing: remove --catch-up and --state")
	}
	return nil
}

// options returns the options of the migration that the flags set.
func (m *migrationRun) options(shown *progress, notes *noteFile) (migration.Options, error) {
	c := m.command
	opts := migration.Options{
		PersistenceIDs:      c.PersistenceIDs,
		Parallelism:         c.Parallel,
		ReadUnitsPerSecond:  c.ReadUnits,
		WriteUnitsPerSecond: c.WriteUnits,
		CatchUp:             c.CatchUp,
		Progress:            func(p migration.Progress) { shown.set(p.Events) },
		Note:                notes.note,
	}
	if c.State != "" {
		of := fmt.Sprintf("%s %s %s at %s to %s %s at %s", c.FromLayout, m.from.JournalTable,
			first(m.from.JournalName, dynajournal.DefaultJournalName),
			m.session.location.describe(), m.to.JournalTable, first(m.to.JournalName, dynajournal.DefaultJournalName),
			m.toLocation.describe())
		state, err := migration.OpenState(c.State, of)
		if err != nil {
			return opts, err
		}
		m.closers = append(m.closers, state.Close)
		opts.State = state
	}
	return opts, nil
}

func (m *migrationRun) migrate(ctx context.Context) (err error) {
	s, c := m.session, m.command
	notes, err := openNotes(c.Notes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, notes.close()) }()
	total := m.estimate(ctx)
	shown := newProgressOf(s.err, "events copied", total)
	defer shown.stop()
	opts, err := m.options(shown, notes)
	if err != nil {
		return err
	}
	result := copiedResult{}
	start := time.Now()
	if !c.VerifyOnly {
		summary, err := migration.Run(ctx, m.source, m.target, opts)
		shown.stop()
		result = copiedResult{summary.PersistenceIDs, summary.Events, summary.Snapshots}
		if err := errors.Join(m.report(&summary, time.Since(start)), err); err != nil {
			return errors.Join(s.result.write(result), err)
		}
	}
	if c.Verify || c.VerifyOnly {
		comparing := newProgressOf(s.err, "events compared", total)
		defer comparing.stop()
		opts.SourceLive = c.Live && !c.VerifyOnly
		opts.Progress, opts.Note = func(p migration.Progress) { comparing.set(p.Events) }, nil
		compared, err := migration.Verify(ctx, m.source, m.target, opts)
		comparing.stop()
		if c.VerifyOnly {
			result = copiedResult{compared.PersistenceIDs, compared.Events, compared.Snapshots}
		}
		if err := errors.Join(m.reportCompared(&compared), err); err != nil {
			return errors.Join(s.result.write(result), err)
		}
	}
	return s.result.write(result)
}

// report prints the summary of the copy.
func (m *migrationRun) report(sum *migration.Summary, took time.Duration) error {
	s := m.session
	err := s.message("copied %d persistence ids: %d events, of which %d were new, and %d snapshots, of which %d were new, in %v",
		sum.PersistenceIDs, sum.Events, sum.Written, sum.Snapshots, sum.SnapshotsWritten, took.Round(time.Millisecond))
	if sum.Skipped > 0 {
		err = errors.Join(err, s.message("skipped %d persistence ids that %s lists as copied", sum.Skipped,
			m.command.State))
	}
	if sum.MarkedDeleted > 0 {
		err = errors.Join(err, s.message("%d events were marked as deleted: their numbers stay taken",
			sum.MarkedDeleted))
	}
	if sum.Confirmed > 0 {
		err = errors.Join(err, s.message("%d events had %d confirmations, which the current layout can't store",
			sum.Confirmed, sum.Confirmations))
	}
	if sum.Unreadable > 0 {
		err = errors.Join(err,
			s.message("%d events can't be read: their bytes are copied as they are, with serializer 7", sum.Unreadable))
	}
	for _, f := range sum.Failures {
		err = errors.Join(err, s.message("failed: %s: %s", printable(f.PersistenceID), oneLine(f.Err.Error())))
	}
	return err
}

// reportCompared prints the result of the comparison.
func (m *migrationRun) reportCompared(c *migration.Comparison) error {
	s := m.session
	err := s.message("compared: %d persistence ids, %d events and %d snapshots are the same", c.PersistenceIDs,
		c.Events, c.Snapshots)
	if c.Behind > 0 {
		err = errors.Join(err, s.message("%d persistence ids only lack the newest events of the source: run the command again with --catch-up", c.Behind))
	}
	for _, d := range c.Differences {
		err = errors.Join(err, s.message("different: %s at %d: %s", printable(d.PersistenceID), d.SequenceNumber,
			oneLine(d.Detail)))
	}
	return err
}

// estimate returns an approximate number of events in the source, or unknownTotal.
func (m *migrationRun) estimate(ctx context.Context) int64 {
	if len(m.command.PersistenceIDs) > 0 {
		return unknownTotal
	}
	return countItems(ctx, m.from)
}
