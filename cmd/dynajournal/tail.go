package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
)

type tailCommand struct {
	PersistenceID string `arg:"" optional:"" name:"pid" help:"Persistence id."`
	All           bool   `help:"Follow all persistence ids, including new ones."`
	Prefix        string `placeholder:"P" help:"With --all: follow only persistence ids that begin with P. Default: all."`
	MaxIDs        int    `name:"max-ids" default:"1000" placeholder:"N" help:"With --all: fail if there are more than N persistence ids. Default: ${default}."`
	From          int64  `placeholder:"N" help:"First sequence number. Default: the first that is stored."`
}

// Help returns the text below the help of the flags.
func (*tailCommand) Help() string {
	return "The command shows the stored events and then new ones: each event once, and the events of " +
		"a persistence id in order. An interrupt or SIGTERM stops it, with exit status 0. Each " +
		"persistence id is polled after a pause of at most 3 seconds.\n\nWith --all, if the journal table " +
		"has a stream, it reads the stream and shows only events that are written from now on. The " +
		"stream costs writers nothing, and persistence ids without new events are not read. With " +
		"--from, or without a stream, it also shows the stored events, and polls each persistence id. " +
		"Every search for new persistence ids then lists all of them, and costs as much as a list."
}

// Run runs the command.
func (c *tailCommand) Run(ctx context.Context, s *session) error {
	switch {
	case c.All == (c.PersistenceID != ""):
		return usagef("give either a persistence id or --all")
	case !c.All && c.Prefix != "":
		return usagef("--prefix needs --all")
	case c.MaxIDs < 1:
		return usagef("--max-ids must be at least 1")
	}
	return s.currentJournal(ctx, reading, func(j *dynajournal.Journal) error {
		f := &follower{session: s, journal: j, from: c.From, named: c.All}
		var err error
		switch {
		case !c.All:
			err = f.follow(ctx, c.PersistenceID)
		case c.From == 0:
			err = f.stream(ctx, c.Prefix, c.MaxIDs)
		default:
			err = f.all(ctx, c.Prefix, c.MaxIDs)
		}
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	})
}

// follower shows events as they are written.
type follower struct {
	*session

	journal *dynajournal.Journal
	from    int64
	// named reports whether the persistence id is shown with each event.
	named bool

	mu       sync.Mutex // guards the following fields and the output
	payloads payloadDecoder
}

// stream shows the events that are written from now on, from the stream of the table. If the stream
// can't be read, it follows every persistence id.
func (f *follower) stream(ctx context.Context, prefix string, most int) error {
	started := false
	opts := projection.FollowOptions{Started: func() {
		started = true
		// a message that can't be written must not stop the command
		_ = f.message("reading the stream of the table: showing events that are written from now on")
	}}
	for e, err := range projection.Follow(ctx, f.journal, f.opened.streams(), opts) {
		if err != nil && (started || ctx.Err() != nil) {
			return err
		}
		if err != nil {
			if err := f.message("polling each persistence id: %s", oneLine(err.Error())); err != nil {
				return err
			}
			return f.all(ctx, prefix, most)
		}
		if !strings.HasPrefix(e.PersistenceID, prefix) {
			continue
		}
		if err := f.show(e); err != nil {
			return err
		}
	}
	return nil
}

// all follows all persistence ids, including new ones. It fails if there are more than most.
func (f *follower) all(ctx context.Context, prefix string, most int) error {
	group, ctx := errgroup.WithContext(ctx)
	followed := 0
	for pid, err := range f.journal.PersistenceIDs(ctx, dynajournal.IDsOptions{Prefix: prefix}, dynajournal.Poll{}) {
		if followed++; err == nil && followed > most {
			err = fmt.Errorf("there are more than %d persistence ids: raise --max-ids, or narrow them by --prefix",
				most)
		}
		if err != nil {
			group.Go(func() error { return err })
			break
		}
		group.Go(func() error { return f.follow(ctx, pid) })
	}
	return group.Wait()
}

// follow follows one persistence id.
func (f *follower) follow(ctx context.Context, pid string) error {
	for e, err := range f.journal.EventsByPersistenceID(ctx, pid, f.from, 0, dynajournal.Poll{}) {
		if err != nil {
			return err
		}
		if err := f.show(e.Event); err != nil {
			return err
		}
	}
	return nil
}

// show prints an event and flushes the output: the next event may come much later.
func (f *follower) show(e dynajournal.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.result.write(followedResult{newEventResult(e, &f.payloads), f.named}); err != nil {
		return err
	}
	return f.result.flush()
}

// followedResult is an event. Its text begins with the persistence id if named is set.
type followedResult struct {
	eventResult

	named bool
}

func (r followedResult) text() string {
	if !r.named {
		return r.eventResult.text()
	}
	return printable(r.PersistenceID) + r.eventResult.text()
}
