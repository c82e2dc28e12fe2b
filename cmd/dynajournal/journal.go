package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
)

// access is what a command does with a journal.
type access int

const (
	reading access = iota
	// checking is reading, and may be repairing; it shows a progress of its own.
	checking
	removing
	// copying makes native tables as appending does, and shows a progress of its own.
	copying
	// appending makes native tables on an embedded engine that has none: nothing else can be meant, and nothing is lost.
	appending
)

// journal opens the journal, works with it, and closes all that was opened.
func (s *session) journal(ctx context.Context, as access, work func(*dynajournal.Journal) error) (err error) {
	p, err := s.where.open(ctx, s.err)
	if err != nil {
		return err
	}
	defer func() { err = joinClosing(err, p.close()) }()
	if as == removing || as == appending { // results of reading come as it goes on, which shows progress enough
		shown := newProgress(s.err, "requests")
		defer shown.stop()
		p.config.Hooks = append(p.config.Hooks, dynajournal.Hook{OnRequest: shown.OnRequest})
	}
	j, err := dynajournal.Open(ctx, p.config)
	if lacksTables(err) {
		j, err = s.withoutTables(ctx, as, p, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	return work(j)
}

// lacksTables says whether a journal can't be opened because its tables have not been made, or not to the end.
func lacksTables(err error) bool {
	return errors.Is(err, dynajournal.ErrTableNotFound) || errors.Is(err, dynajournal.ErrNoHeader)
}

// withoutTables makes the tables where a command may, and says how to make them elsewhere.
func (s *session) withoutTables(ctx context.Context, as access, p *place, missing error) (*dynajournal.Journal, error) {
	switch {
	case p.engine == nil:
		return nil, fmt.Errorf("%w: make it with `dynajournal tables create`", missing)
	case as != appending && as != copying:
		return nil, fmt.Errorf("%w: `dynajournal append` or `dynajournal tables create` makes it", missing)
	}
	if err := dynajournal.CreateTables(ctx, p.config, dynajournal.TableOptions{}); err != nil {
		return nil, err //nolint:wrapcheck // says what it is
	}
	if err := s.message("made the tables of a native journal"); err != nil {
		return nil, err
	}
	return dynajournal.Open(ctx, p.config) //nolint:wrapcheck // says what it is
}
