package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

// journal is an open journal of any layout.
type journal interface {
	Bounds(ctx context.Context, persistenceID string) (dynajournal.Bounds, error)
	CurrentPersistenceIDs(ctx context.Context, opts dynajournal.IDsOptions) iter.Seq2[string, error]

	// recover returns a writer of a persistence id. It replays no events.
	recover(ctx context.Context, pid string) (writer, error)
	events(ctx context.Context, pid string, window dynajournal.Range) iter.Seq2[eventResult, error]
	list(ctx context.Context, pid string) (listResult, error)
}

// writer writes to a persistence id of a journal of any layout.
type writer interface {
	Append(ctx context.Context, events ...any) (dynajournal.AppendResult, error)
	AppendEach(ctx context.Context, events ...any) ([]dynajournal.Outcome, error)
	NextSequenceNumber(ctx context.Context) (int64, error)
	WriterUUID() string

	// deleteTo deletes the events up to a sequence number. With mark it only marks them as deleted.
	deleteTo(ctx context.Context, seq int64, mark bool) (deletedResult, error)
}

// access is how a command uses a journal.
type access int

const (
	reading access = iota
	// checking reads, and may repair. The command shows its own progress.
	checking
	removing
	// copying creates missing tables, as appending does. The command shows its own progress.
	copying
	// appending creates the tables of a native journal on an embedded engine without tables: the
	// user can't mean anything else, and nothing is lost.
	appending
)

// Limits of the atomic writes that a copy accepts. They are larger than the defaults of Config,
// because another program may have written the history. A copy has a whole atomic write in memory,
// like every reader.
const (
	maxCopiedEvents = 1 << 20
	maxCopiedBytes  = 1 << 30
)

// takeLargeWrites raises the limits of atomic writes to the limits of a copy.
func (c *connection) takeLargeWrites() {
	c.config.MaxBatchEvents, c.config.MaxBatchBytes = maxCopiedEvents, maxCopiedBytes
}

// journal opens the journal, which may have any layout, and passes it to work.
func (s *session) journal(ctx context.Context, as access, work func(journal) error) error {
	if s.location.isLegacy() {
		return s.legacyJournal(ctx, as, func(j *legacy.Journal) error { return work(legacyJournal{j}) })
	}
	return s.currentJournal(ctx, as, func(j *dynajournal.Journal) error { return work(currentJournal{j}) })
}

// currentJournal opens the journal, which must have the current layout, and passes it to work.
func (s *session) currentJournal(ctx context.Context, as access, work func(*dynajournal.Journal) error) error {
	return s.connect(ctx, as, func(c *connection) (io.Closer, func() error, error) {
		if as == copying {
			c.takeLargeWrites()
		}
		j, err := dynajournal.Open(ctx, c.config)
		if lacksTables(err) {
			j, err = s.withoutTables(ctx, as, c, err)
		}
		return j, func() error { return work(j) }, err
	})
}

// legacyJournal opens the journal, which must have a legacy layout, and passes it to work.
func (s *session) legacyJournal(ctx context.Context, as access, work func(*legacy.Journal) error) error {
	layout, err := legacy.ParseLayout(s.location.Layout)
	if err != nil {
		return err
	}
	s.location.allowLegacy = true
	return s.connect(ctx, as, func(c *connection) (io.Closer, func() error, error) {
		j, err := legacy.Open(ctx, legacy.Config{Layout: layout, Journal: c.config})
		if errors.Is(err, dynajournal.ErrTableNotFound) {
			err = fmt.Errorf("%w: make it with `dynajournal tables create --layout %s`", err, layout)
		}
		return j, func() error { return work(j) }, err
	})
}

// connect connects to the location of the flags, opens a journal there and runs the work that open
// returns. Then it closes the journal and the connection.
func (s *session) connect(
	ctx context.Context, as access, open func(*connection) (journal io.Closer, work func() error, err error),
) (err error) {
	c, err := s.location.open(ctx, s.err)
	if err != nil {
		return err
	}
	defer func() { err = joinClosing(err, c.close()) }()
	s.opened = c
	if as == removing || as == appending { // the results that reading prints show its progress
		shown := newProgress(s.err, "requests")
		defer shown.stop()
		c.config.Hooks = append(c.config.Hooks, dynajournal.Hook{OnRequest: shown.OnRequest})
	}
	j, work, err := open(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	return work()
}

// lacksTables reports whether a journal can't be opened because its tables do not exist, or were
// not made completely.
func lacksTables(err error) bool {
	return errors.Is(err, dynajournal.ErrTableNotFound) || errors.Is(err, dynajournal.ErrNoHeader)
}

// withoutTables creates the tables if the command may do so, and opens the journal. Otherwise it
// adds to the error missing how to create them.
func (s *session) withoutTables(
	ctx context.Context, as access, c *connection, missing error,
) (*dynajournal.Journal, error) {
	switch {
	case c.engine == nil:
		return nil, fmt.Errorf("%w %s: make it with `dynajournal tables create`", missing, c.place)
	case as != appending && as != copying:
		return nil, fmt.Errorf("%w %s: `dynajournal append` or `dynajournal tables create` makes it", missing, c.place)
	}
	if err := dynajournal.CreateTables(ctx, c.config, dynajournal.TableOptions{}); err != nil {
		return nil, err
	}
	if err := errors.Join(s.printFolder(s.location), s.message("made the tables of a native journal")); err != nil {
		return nil, err
	}
	return dynajournal.Open(ctx, c.config)
}
