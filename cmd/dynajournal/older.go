package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

// isOlder says whether --layout names one of the older layouts, which only some commands work on.
func (w *where) isOlder() bool { return w.Layout != layoutCurrent && w.Layout != layoutPay }

// olderConfig is the configuration of a journal of an older layout, where the flags say it is.
func (s *session) olderConfig(ctx context.Context) (legacy.Config, *place, error) {
	layout, err := legacy.ParseLayout(s.where.Layout)
	if err != nil {
		return legacy.Config{}, nil, err
	}
	s.where.allowOlder = true
	p, err := s.where.open(ctx, s.err)
	if err != nil {
		return legacy.Config{}, nil, err
	}
	return legacy.Config{Layout: layout, Journal: p.config}, p, nil
}

// older opens the journal of an older layout, works with it, and closes all that was opened.
func (s *session) older(ctx context.Context, as access, work func(*legacy.Journal) error) (err error) {
	config, p, err := s.olderConfig(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if as == removing || as == appending {
		shown := newProgress(s.err, "requests")
		defer shown.stop()
		config.Journal.Hooks = append(config.Journal.Hooks, dynajournal.Hook{OnRequest: shown.OnRequest})
	}
	j, err := legacy.Open(ctx, config)
	if errors.Is(err, dynajournal.ErrTableNotFound) {
		err = fmt.Errorf("%w: make it with `dynajournal tables create --layout %s`", err, s.where.Layout)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	return work(j)
}

// olderEventResult is an event of an older layout.
type olderEventResult struct {
	eventResult

	Deleted       bool     `json:"deleted"`
	Confirmations []string `json:"confirmations"`
}

func (r olderEventResult) text() string {
	text := r.eventResult.text()
	if r.Deleted {
		text += "  marked as deleted"
	}
	if len(r.Confirmations) > 0 {
		text += fmt.Sprintf("  confirmed by %q", r.Confirmations)
	}
	return text
}

func (c *eventsCommand) older(ctx context.Context, s *session) error {
	return s.older(ctx, reading, func(j *legacy.Journal) error {
		var payloads payloadDecoder
		for e, err := range j.Events(ctx, c.PersistenceID, legacy.Range{From: c.From, To: c.To, Limit: c.Max}) {
			if err != nil {
				return err
			}
			if err := s.result.write(olderEventResult{newEventResult(e.Event, &payloads), e.Deleted, present(e.Confirmations)}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *highestCommand) older(ctx context.Context, s *session) error {
	return s.older(ctx, reading, func(j *legacy.Journal) error {
		b, err := j.Bounds(ctx, c.PersistenceID)
		if err != nil {
			return err
		}
		return s.result.write(boundsResult{c.PersistenceID, b.Lowest, b.Highest})
	})
}

// older lists what stands in the table; tombstones are the numbers of events that are marked as deleted.
func (c *listCommand) older(ctx context.Context, s *session) error {
	return s.older(ctx, reading, func(j *legacy.Journal) error {
		l, err := j.List(ctx, c.PersistenceID)
		if err != nil {
			return err
		}
		return s.result.write(listResult{
			PersistenceID: c.PersistenceID,
			LowMarks:      present(l.LowMarks),
			HighMarks:     present(l.HighMarks),
			SequenceNrs:   present(l.SequenceNumbers),
			Tombstones:    present(l.Deleted),
			Seals:         []int64{},
		})
	})
}

func (c *idsCommand) older(ctx context.Context, s *session) error {
	if c.After != "" || c.Prefix != "" || c.Sorted {
		return usagef("--layout %s lists its persistence ids by a scan, in no order: --after, --prefix and --sorted are for %s", s.where.Layout, layoutCurrent)
	}
	return s.older(ctx, reading, func(j *legacy.Journal) error {
		listed := 0
		for pid, err := range j.PersistenceIDs(ctx, c.Segments) {
			if err == nil {
				err = s.result.write(idResult{pid})
			}
			if listed++; err != nil || c.Limit != nil && listed >= *c.Limit {
				return err
			}
		}
		return nil
	})
}

func (c *deleteCommand) older(ctx context.Context, s *session) error {
	return s.older(ctx, removing, func(j *legacy.Journal) error {
		w, err := j.Recover(ctx, c.PersistenceID, legacy.RecoverOptions{}, nil)
		if err != nil {
			return err
		}
		how := legacy.Permanent
		if c.Mark {
			how = legacy.Mark
		}
		deleted, err := w.DeleteTo(ctx, c.To, how)
		if err != nil {
			return err
		}
		b, err := j.Bounds(ctx, c.PersistenceID)
		if err != nil {
			return err
		}
		return s.result.write(deletedResult{c.PersistenceID, b.Lowest, b.Highest, deleted.Deleted})
	})
}

func (c *appendCommand) older(ctx context.Context, s *session, events []any) error {
	return s.older(ctx, appending, func(j *legacy.Journal) error {
		w, err := j.Recover(ctx, c.PersistenceID, legacy.RecoverOptions{}, nil)
		if err != nil {
			return err
		}
		return c.write(ctx, s, w, events)
	})
}

type confirmCommand struct {
	PersistenceID string `arg:"" name:"pid" help:"Persistence id."`
	Seq           int64  `required:"" placeholder:"N" help:"Sequence number of the event."`
	Channel       string `required:"" placeholder:"C" help:"Channel that confirms it."`
}

// Help is shown below the flags' help.
func (*confirmCommand) Help() string {
	return "Only the older layouts have confirmations: give --layout. It recovers the persistence id first."
}

// confirmedResult is an event with its confirmations.
type confirmedResult struct {
	PersistenceID string   `json:"persistence_id"`
	SequenceNr    int64    `json:"sequence_nr"`
	Confirmations []string `json:"confirmations"`
}

func (r confirmedResult) text() string {
	return fmt.Sprintf("%s: event %d is confirmed by %q", printable(r.PersistenceID), r.SequenceNr, r.Confirmations)
}

// Run runs the command.
func (c *confirmCommand) Run(ctx context.Context, s *session) error {
	if !s.where.isOlder() {
		return usagef("--layout %s has no confirmations", s.where.Layout)
	}
	return s.older(ctx, removing, func(j *legacy.Journal) error {
		w, err := j.Recover(ctx, c.PersistenceID, legacy.RecoverOptions{}, nil)
		if err != nil {
			return err
		}
		channels, err := w.Confirm(ctx, c.Seq, c.Channel)
		if err != nil {
			return err
		}
		return s.result.write(confirmedResult{c.PersistenceID, c.Seq, channels})
	})
}

// olderTable does something with the table of an older layout, and says what it is then.
func (s *session) olderTable(ctx context.Context, status string, do func(context.Context, legacy.Config) error) (err error) {
	config, p, err := s.olderConfig(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := do(ctx, config); err != nil {
		return err
	}
	name := first(config.Journal.JournalTable, dynajournal.DefaultJournalTable)
	result := bareTable(name, status)
	result.Kind = s.where.Layout
	return s.result.write(result)
}
