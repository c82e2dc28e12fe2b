package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/filelock"
	"github.com/dynajournal/dynajournal/internal/private"
	"github.com/dynajournal/dynajournal/legacy"
	"github.com/dynajournal/dynajournal/legacy/migration"
)

type migrateCommand struct {
	PersistenceIDs []string `arg:"" optional:"" name:"pid" help:"Persistence ids. Default: all."`
	All            bool     `help:"All persistence ids, found by a scan of the source."`

	FromLayout         string `enum:"${enum_layouts}" required:"" placeholder:"L" help:"Layout of the source, one of ${layouts}."`
	FromTable          string `required:"" placeholder:"NAME" help:"Table of events of the source."`
	FromSnapshotTable  string `placeholder:"NAME" help:"Table of snapshots of the source. Default: none is copied."`
	FromJournalName    string `placeholder:"NAME" help:"Name of the source's journal. Default: that of the target."`
	FromSequenceShards int    `placeholder:"N" help:"Shards of the source's marks. Default: as its layout has them."`

	ToEndpoint string `xor:"to" placeholder:"URL" help:"Endpoint of the target. Default: the source's."`
	ToData     string `xor:"to" placeholder:"DIR" help:"Folder of an embedded engine as the target."`
	ToAWS      bool   `xor:"to" name:"to-aws" help:"DynamoDB of AWS as the target."`
	ToRegion   string `placeholder:"R" help:"Region of the target. Default: the source's."`
	ToProfile  string `placeholder:"NAME" help:"Profile of the AWS SDK for the target, which may be of another account."`

	MarkedDeleted string  `enum:"skip,tombstones" default:"skip" help:"Events marked as deleted: skip leaves their numbers taken, tombstones makes tombstones of a prefix besides."`
	Live          bool    `help:"A JVM still writes to the source: what is missing near the end of a persistence id may be on its way, and is left for a later run."`
	CatchUp       bool    `help:"Copy what is new behind what the target has, without comparing all before it."`
	State         string  `placeholder:"FILE" help:"Remember in this file what is copied; the same command passes over it. Default: what the target has is compared."`
	Notes         string  `placeholder:"FILE" help:"Write a line of JSON for each event with confirmations, marked as deleted, or unreadable."`
	Verify        bool    `default:"true" negatable:"" help:"Compare source and target afterwards, event by event."`
	VerifyOnly    bool    `help:"Copy nothing, only compare."`
	Parallel      int     `placeholder:"N" help:"Copy N persistence ids at the same time. Default: 10."`
	ReadUnits     float64 `placeholder:"N" help:"Use up N read capacity units a second at most, on average. Default: no limit."`
	WriteUnits    float64 `placeholder:"N" help:"Use up N write capacity units a second at most, on average. Default: no limit."`
}

// Help is shown below the flags' help.
func (*migrateCommand) Help() string {
	return "The flags of where it works say where the source is, and but for --to-… where the target is, whose tables are --journal-table and " +
		"--snapshot-table. The source is only read. It can be interrupted at any point and called again; a persistence id that has other content in the target " +
		"fails, and nothing of it is written over. Besides this, append, events, highest, ids, list, delete, confirm, and tables create and delete work on the older " +
		"layouts, with --layout. With --from-layout pay and the table of the target, events are given today's form in place. On an embedded " +
		"engine without tables, those of a native journal are made first."
}

// Run runs the command.
func (c *migrateCommand) Run(ctx context.Context, s *session) (err error) {
	if err := c.usage(); err != nil {
		return err
	}
	m := &migrating{command: c, session: s}
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
	case c.Parallel < 0 || c.ReadUnits < 0 || c.WriteUnits < 0 || c.FromSequenceShards < 0:
		return usagef("--parallel, --read-units, --write-units and --from-sequence-shards must not be negative")
	case c.VerifyOnly && (c.CatchUp || c.State != ""):
		return usagef("--verify-only copies nothing: leave --catch-up and --state out")
	}
	return nil
}

// migrating is a migration with all that is open for it.
type migrating struct {
	command *migrateCommand
	session *session
	closers []func() error // in the order of opening
	place   *location      // of the target

	from, to  dynajournal.Config
	elsewhere bool // the target is at another place than the source
	source    migration.Source
	target    *dynajournal.Journal
}

func (m *migrating) close() error {
	var err error
	for _, closing := range slices.Backward(m.closers) {
		err = errors.Join(err, closing())
	}
	return err
}

// open opens source and target. An embedded engine that has both is opened once.
func (m *migrating) open(ctx context.Context) error {
	c, s := m.command, m.session
	to := *s.location
	m.place = s.location
	from, err := s.location.open(ctx, s.err)
	if err != nil {
		return err
	}
	m.closers = append(m.closers, from.close)
	target := from
	if m.elsewhere = c.ToEndpoint != "" || c.ToData != "" || c.ToAWS || c.ToRegion != "" || c.ToProfile != ""; m.elsewhere {
		if to.Endpoint, to.Data, to.AWS, to.Memory = c.ToEndpoint, c.ToData, c.ToAWS, false; !to.isSet() { // another region or account
			to.Endpoint, to.AWS = s.location.Endpoint, s.location.Endpoint == ""
		}
		to.Region, to.profile = first(c.ToRegion, to.Region), c.ToProfile
		if target, err = to.open(ctx, s.err); err != nil {
			return err
		}
		m.closers = append(m.closers, target.close)
		m.place = &to
	}
	m.to, m.from = target.config, from.config
	m.to.JournalTable = first(m.to.JournalTable, dynajournal.DefaultJournalTable)
	m.from.JournalTable, m.from.SnapshotTable = c.FromTable, c.FromSnapshotTable
	m.from.JournalName = first(c.FromJournalName, m.from.JournalName)
	m.from.SequenceShards = c.FromSequenceShards
	if !m.elsewhere && m.from.JournalTable == m.to.JournalTable && c.FromLayout == layoutCurrent && sameName(m.from.JournalName, m.to.JournalName) {
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

// openTarget opens the target, and makes its tables on an embedded engine, unless the source's table is it.
func (m *migrating) openTarget(ctx context.Context, p *connection) (*dynajournal.Journal, error) {
	j, err := dynajournal.Open(ctx, p.config)
	if lacksTables(err) && !m.command.VerifyOnly && !m.inPlace() {
		return m.session.withoutTables(ctx, copying, p, err)
	}
	return j, err //nolint:wrapcheck // says what it is
}

// inPlace says whether events are to be given today's form where they stand.
func (m *migrating) inPlace() bool {
	return m.command.FromLayout == layoutPay && !m.elsewhere && m.command.FromTable == m.to.JournalTable &&
		sameName(m.from.JournalName, m.to.JournalName)
}

func (m *migrating) openSource(ctx context.Context) error {
	c := m.command
	if c.FromLayout == layoutCurrent || c.FromLayout == layoutPay {
		j, err := dynajournal.Open(ctx, m.from)
		if err != nil {
			return lookedAt(ctx, c.FromLayout, m.from, err)
		}
		m.closers = append(m.closers, j.Close)
		m.source = migration.Current{Journal: j, WithoutSnapshots: c.FromSnapshotTable == "", Live: c.Live}
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
	m.source = migration.Older{Journal: j, Marked: marked, Live: c.Live, Usage: usage}
	return nil
}

// lookedAt says of which older layouts a table looks that is none of today's.
func lookedAt(ctx context.Context, layout string, config dynajournal.Config, err error) error {
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
	return fmt.Errorf("%w: it looks like no journal", err)
}

// options are what the flags say of a migration.
func (m *migrating) options(shown *progress, notes *noteFile) (migration.Options, error) {
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
		of := fmt.Sprintf("%s %s %s at %s to %s %s at %s", c.FromLayout, m.from.JournalTable, first(m.from.JournalName, dynajournal.DefaultJournalName),
			m.session.location.describe(), m.to.JournalTable, first(m.to.JournalName, dynajournal.DefaultJournalName), m.place.describe())
		state, err := migration.OpenState(c.State, of)
		if err != nil {
			return opts, err
		}
		m.closers = append(m.closers, state.Close)
		opts.State = state
	}
	return opts, nil
}

func (m *migrating) migrate(ctx context.Context) (err error) {
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
	began := time.Now()
	if !c.VerifyOnly {
		summary, err := migration.Run(ctx, m.source, m.target, opts)
		shown.stop()
		result = copiedResult{summary.PersistenceIDs, summary.Events, summary.Snapshots}
		if err := errors.Join(m.tell(&summary, time.Since(began)), err); err != nil {
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
		if err := errors.Join(m.tellCompared(&compared), err); err != nil {
			return errors.Join(s.result.write(result), err)
		}
	}
	return s.result.write(result)
}

// tell says what was copied.
func (m *migrating) tell(sum *migration.Summary, took time.Duration) error {
	s := m.session
	err := s.message("copied %d persistence ids: %d events, of which %d were not there, and %d snapshots, of which %d were not there, in %v",
		sum.PersistenceIDs, sum.Events, sum.Written, sum.Snapshots, sum.SnapshotsWritten, took.Round(time.Millisecond))
	if sum.Skipped > 0 {
		err = errors.Join(err, s.message("passed over %d persistence ids that %s says are copied", sum.Skipped, m.command.State))
	}
	if sum.MarkedDeleted > 0 {
		err = errors.Join(err, s.message("%d events were marked as deleted: their numbers stay taken", sum.MarkedDeleted))
	}
	if sum.Confirmed > 0 {
		err = errors.Join(err, s.message("%d events had %d confirmations, which today's layout has no place for", sum.Confirmed, sum.Confirmations))
	}
	if sum.Unreadable > 0 {
		err = errors.Join(err, s.message("%d events can't be read: their bytes are copied as they are, with serializer 7", sum.Unreadable))
	}
	for _, f := range sum.Failures {
		err = errors.Join(err, s.message("failed: %s: %s", printable(f.PersistenceID), oneLine(f.Err.Error())))
	}
	return err
}

// tellCompared says what a comparison has found.
func (m *migrating) tellCompared(c *migration.Comparison) error {
	s := m.session
	err := s.message("compared: %d persistence ids, %d events and %d snapshots are the same", c.PersistenceIDs, c.Events, c.Snapshots)
	if c.Behind > 0 {
		err = errors.Join(err, s.message("%d persistence ids only lack what is newest in the source: call it again with --catch-up", c.Behind))
	}
	for _, d := range c.Differences {
		err = errors.Join(err, s.message("different: %s at %d: %s", printable(d.PersistenceID), d.SequenceNumber, oneLine(d.Detail)))
	}
	return err
}

// estimate is about how many events the source has: DynamoDB counts items every few hours.
func (m *migrating) estimate(ctx context.Context) int64 {
	if len(m.command.PersistenceIDs) > 0 {
		return unknownTotal
	}
	config := m.from
	client, err := private.Connect(&config)
	if err != nil {
		return unknownTotal
	}
	defer client.Close()
	table, err := client.DescribeTable(ctx, config.JournalTable)
	if err != nil || table.ItemCount == nil || *table.ItemCount == 0 {
		return unknownTotal
	}
	return *table.ItemCount
}

// upgrade gives events today's form in place.
func (m *migrating) upgrade(ctx context.Context) error {
	s, c := m.session, m.command
	shown := newProgressOf(s.err, "persistence ids", unknownTotal)
	defer shown.stop()
	usage := migration.Pace(c.ReadUnits, c.WriteUnits)
	var mu sync.Mutex
	var ids, upgraded int64
	var left []string
	opts := dynajournal.UpgradeOptions{Pace: usage, Left: func(pid string, seq int64, reason error) {
		mu.Lock()
		defer mu.Unlock()
		left = append(left, fmt.Sprintf("left as it is: %s at %d: %s", printable(pid), seq, oneLine(reason.Error())))
	}}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(c.Parallel, 1))
	one := func(pid string) {
		group.Go(func() error {
			result, err := m.target.UpgradeEvents(ctx, pid, opts)
			mu.Lock()
			defer mu.Unlock()
			upgraded += result.Upgraded
			if err == nil {
				ids++
				shown.count()
			}
			return err //nolint:wrapcheck // says what it is
		})
	}
	var listing error
	for _, pid := range c.PersistenceIDs {
		one(pid)
	}
	if len(c.PersistenceIDs) == 0 {
		for pid, err := range m.target.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{Scan: true}) {
			if listing = err; err != nil {
				break
			}
			one(pid)
		}
	}
	err := errors.Join(group.Wait(), listing)
	for _, line := range left {
		err = errors.Join(err, s.message("%s", line))
	}
	if err == nil {
		err = s.message("gave %d events of %d persistence ids today's form in place", upgraded, ids)
	}
	return errors.Join(err, s.result.write(copiedResult{PersistenceIDs: ids, Events: upgraded}))
}

// noteFile is where notes are written, a line of JSON each; nil writes none.
type noteFile struct {
	file io.Closer
	out  *bufio.Writer
	err  error
}

type noteLine struct {
	PersistenceID string   `json:"persistence_id"`
	SequenceNr    int64    `json:"sequence_nr"`
	MarkedDeleted bool     `json:"marked_deleted"`
	Confirmations []string `json:"confirmations"`
	Unreadable    string   `json:"unreadable,omitempty"`
}

func openNotes(path string) (*noteFile, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // none is a file that nothing is written to
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600) //nolint:gosec // the file that the user names
	if err != nil {
		return nil, fmt.Errorf("write the notes: %w", err)
	}
	if err := filelock.Lock(f); err != nil { // lines of two migrations would be mixed
		return nil, errors.Join(fmt.Errorf("write the notes: %w", err), f.Close())
	}
	return &noteFile{file: f, out: bufio.NewWriter(f)}, nil
}

func (f *noteFile) note(n migration.Note) {
	if f == nil || f.err != nil {
		return
	}
	l := noteLine{PersistenceID: n.PersistenceID, SequenceNr: n.SequenceNumber, MarkedDeleted: n.MarkedDeleted, Confirmations: n.Confirmations}
	if l.Confirmations == nil {
		l.Confirmations = []string{}
	}
	if n.Unreadable != nil {
		l.Unreadable = n.Unreadable.Error()
	}
	line, err := json.Marshal(l)
	if err == nil {
		_, err = f.out.Write(append(line, '\n'))
	}
	f.err = err
}

func (f *noteFile) close() error {
	if f == nil {
		return nil
	}
	if err := errors.Join(f.err, f.out.Flush(), f.file.Close()); err != nil {
		return fmt.Errorf("write the notes: %w", err)
	}
	return nil
}
