package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
)

type projectionsCommand struct {
	Estimate projectionsEstimateCommand `cmd:"" help:"Estimate the work and cost of the first sweep of a new projection."`
	List     projectionsListCommand     `cmd:"" help:"List the projections of the journal, and whether they run."`
	Lag      projectionsLagCommand      `cmd:"" help:"Show how far projections are behind."`
	Stuck    projectionsStuckCommand    `cmd:"" help:"List the persistence ids that are stuck, and why."`
	Debts    projectionsDebtsCommand    `cmd:"" help:"List the persistence ids that wait for another attempt, and why."`
	Retry    projectionsRetryCommand    `cmd:"" help:"Make the processes of a projection handle a persistence id again."`
	Skip     projectionsSkipCommand     `cmd:"" help:"Skip the event at which a stuck persistence id fails."`
	Pause    projectionsPauseCommand    `cmd:"" help:"Pause a projection in all of its processes."`
	Continue projectionsContinueCommand `cmd:"" help:"Continue a projection that is paused."`
	Reset    projectionsResetCommand    `cmd:"" help:"Restart a projection from the first events."`
	Remove   projectionsRemoveCommand   `cmd:"" help:"Remove a projection that is no longer needed."`

	DeadLetters projectionsLettersCommand   `cmd:"" help:"List the messages that the target of an outbox has refused."`
	SendAgain   projectionsSendAgainCommand `cmd:"" help:"Make the processes of an outbox send a dead letter again."`
	Discard     projectionsDiscardCommand   `cmd:"" help:"Delete a dead letter, so that it is never sent."`

	Verify projectionsVerifyCommand `cmd:"" help:"Compare the offsets of projections with the journal."`
}

// projections opens the journal and passes it to work, which uses the table of projections.
func (s *session) projections(ctx context.Context, as access, work func(*dynajournal.Journal) error) error {
	return s.currentJournal(ctx, as, func(j *dynajournal.Journal) error {
		err := work(j)
		if errors.Is(err, dynajournal.ErrTableNotFound) {
			return fmt.Errorf("%w: make it with `dynajournal tables update --projections`", err)
		}
		if errors.Is(err, projection.ErrNoProjection) {
			return fmt.Errorf("%w: `dynajournal projections list` lists the projections", err)
		}
		return err
	})
}

type projectionsListCommand struct{}

// Help returns the text below the help of the flags.
func (*projectionsListCommand) Help() string {
	return "It lists every projection that has ever run, with the number of processes that run it now. A " +
		"process that has crashed counts for up to 3 minutes. It costs 1 read unit for each projection."
}

// projectionResult is a projection.
type projectionResult struct {
	Projection string    `json:"projection"`
	Kind       string    `json:"kind"`
	Source     string    `json:"source"`
	Processes  int       `json:"processes"`
	Seen       time.Time `json:"seen"`
	Resetting  bool      `json:"resetting"`
	// Paused is missing if the projection is not paused.
	Paused time.Time `json:"paused_since,omitzero"`
}

func (r projectionResult) text() string {
	text := fmt.Sprintf("%s: %s, by %s, ", printable(r.Projection), r.Kind, r.Source)
	if r.Processes > 0 {
		text += fmt.Sprintf("%d processes", r.Processes)
	} else {
		text += "not running, last seen " + r.Seen.Format(time.RFC3339)
	}
	if !r.Paused.IsZero() {
		text += ", paused since " + r.Paused.Format(time.RFC3339)
	}
	if r.Resetting {
		text += ", its reset or removal was interrupted: run it again"
	}
	return text
}

// Run runs the command.
func (*projectionsListCommand) Run(ctx context.Context, s *session) error {
	return s.projections(ctx, reading, func(j *dynajournal.Journal) error {
		all, err := operator.List(ctx, j)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return s.message("no projection of this journal has run yet")
		}
		for _, p := range all {
			r := projectionResult{p.Projection, p.Kind, p.Source, p.Processes, p.Seen.UTC(), p.Resetting, p.Paused.UTC()}
			if err := s.result.write(r); err != nil {
				return err
			}
		}
		return nil
	})
}

type projectionsStuckCommand struct {
	Projection string `arg:"" optional:"" help:"Projection, as group/name. Default: all."`
}

// Help returns the text below the help of the flags.
func (*projectionsStuckCommand) Help() string {
	return "The sequence number is the number of the event at which the handler has failed. It costs 1 read unit for each " +
		"persistence id that is stuck, half a read unit for each projection, and half a read unit for each 20 of these ids."
}

// stuckResult is a persistence id that is stuck.
type stuckResult struct {
	Projection    string `json:"projection"`
	PersistenceID string `json:"persistence_id"`
	SequenceNr    int64  `json:"sequence_nr"`
	Error         string `json:"error"`
}

func (r stuckResult) text() string {
	return fmt.Sprintf("%s: %s is stuck at %d: %s", printable(r.Projection), printable(r.PersistenceID),
		r.SequenceNr, oneLine(r.Error))
}

// Run runs the command.
func (c *projectionsStuckCommand) Run(ctx context.Context, s *session) error {
	return s.projections(ctx, reading, func(j *dynajournal.Journal) error {
		all := operator.New(j, c.Projection).Stuck(ctx)
		return withIndex(writeIDs(s, all, "no persistence id is stuck", func(of operator.StuckID) result {
			return stuckResult{of.Projection, of.PersistenceID, of.SequenceNumber, of.Reason}
		}))
	})
}

// writeIDs writes the persistence ids of a sequence, or a message if there are none.
func writeIDs[T any](s *session, all iter.Seq2[T, error], none string, resultOf func(T) result) error {
	found := false
	for of, err := range all {
		if err != nil {
			return err
		}
		found = true
		if err := s.result.write(resultOf(of)); err != nil {
			return err
		}
	}
	if !found {
		return s.message(none)
	}
	return nil
}

type projectionsDebtsCommand struct {
	Projection string `arg:"" optional:"" help:"Projection, as group/name. Default: all."`
}

// Help returns the text below the help of the flags.
func (*projectionsDebtsCommand) Help() string {
	return "It lists persistence ids whose events could not be handled for some seconds, because something is down " +
		"or the handler fails. The processes of the group try again. It costs 1 read unit for each of these " +
		"persistence ids, half a read unit for each projection, and half a read unit for each 20 of these ids."
}

// debtResult is a persistence id that has a debt, with the cause and the time of the next
// attempt.
type debtResult struct {
	Projection    string    `json:"projection"`
	PersistenceID string    `json:"persistence_id"`
	Since         time.Time `json:"since"`
	Due           time.Time `json:"due"`
	Error         string    `json:"error"`
}

func (r debtResult) text() string {
	return fmt.Sprintf("%s: %s waits since %s, next attempt at %s: %s", printable(r.Projection), printable(r.PersistenceID),
		r.Since.UTC().Format(time.RFC3339), r.Due.UTC().Format(time.RFC3339), oneLine(r.Error))
}

// Run runs the command.
func (c *projectionsDebtsCommand) Run(ctx context.Context, s *session) error {
	return s.projections(ctx, reading, func(j *dynajournal.Journal) error {
		all := operator.New(j, c.Projection).Debts(ctx)
		return withIndex(writeIDs(s, all, "no persistence id has a debt", func(of operator.Debt) result {
			return debtResult{of.Projection, of.PersistenceID, of.Since.UTC(), of.Due.UTC(), of.Reason}
		}))
	})
}

// withIndex adds the command that creates the index of debts to the error that the index is
// missing.
func withIndex(err error) error {
	if errors.Is(err, operator.ErrNoIndex) {
		return fmt.Errorf("%w: add it with `dynajournal tables update`", err)
	}
	return err
}

// subject has the arguments of a command for a persistence id of a projection.
type subject struct {
	Projection    string `arg:"" help:"Projection, as group/name."`
	PersistenceID string `arg:"" name:"pid" help:"Persistence id."`
}

type projectionsRetryCommand struct{ subject }

// Help returns the text below the help of the flags.
func (*projectionsRetryCommand) Help() string {
	return "Run it after the cause of the failure is fixed. A process of the projection handles the persistence id again " +
		"within 10 seconds, even a process that starts later. If the handler fails again, its attempts are counted " +
		"from zero, and `dynajournal projections debts` lists the persistence id until the attempts are used up."
}

// requestedResult is a persistence id that will be handled again.
type requestedResult struct {
	Projection    string `json:"projection"`
	PersistenceID string `json:"persistence_id"`
}

func (r requestedResult) text() string {
	return fmt.Sprintf("%s: %s will be handled again", printable(r.Projection), printable(r.PersistenceID))
}

// Run runs the command.
func (c *projectionsRetryCommand) Run(ctx context.Context, s *session) error {
	return s.projections(ctx, reading, func(j *dynajournal.Journal) error {
		if err := operator.New(j, c.Projection).Retry(ctx, c.PersistenceID); err != nil {
			return withIndex(err)
		}
		return s.result.write(requestedResult(c.subject))
	})
}

type projectionsSkipCommand struct {
	subject

	Seq int64 `default:"-1" placeholder:"N" help:"Only skip the event N, or a gap or a purge that ends at N. Default: skip whatever comes next."`
	Yes bool  `help:"Confirm that the event is never handled. Required."`
}

// Help returns the text below the help of the flags.
func (*projectionsSkipCommand) Help() string {
	return "A process of the projection then continues after the event, as with retry. With --seq the command " +
		"can be repeated: it never skips a second event. `dynajournal projections stuck` shows the number."
}

// skippedResult is the event, gap or purge that a projection skips.
type skippedResult struct {
	Projection    string `json:"projection"`
	PersistenceID string `json:"persistence_id"`
	SequenceNr    int64  `json:"sequence_nr"`
	// First is the first number of a gap, otherwise SequenceNr.
	First int64 `json:"first"`
	Purge bool  `json:"purge,omitempty"`
}

func (r skippedResult) text() string {
	what := fmt.Sprintf("event %d", r.SequenceNr)
	switch {
	case r.Purge && r.SequenceNr == 0:
		what = "the purge"
	case r.Purge:
		what = fmt.Sprintf("the purge of the events up to %d", r.SequenceNr)
	case r.First < r.SequenceNr:
		what = fmt.Sprintf("the deleted events %d to %d", r.First, r.SequenceNr)
	}
	return fmt.Sprintf("%s: %s: skipped %s", printable(r.Projection), printable(r.PersistenceID), what)
}

// Run runs the command.
func (c *projectionsSkipCommand) Run(ctx context.Context, s *session) error {
	if !c.Yes {
		return usagef("projection %s would never handle the event of %q: confirm with --yes", c.Projection, c.PersistenceID)
	}
	return s.projections(ctx, reading, func(j *dynajournal.Journal) error {
		skipped, err := operator.New(j, c.Projection).Skip(ctx, c.PersistenceID, c.Seq)
		if err != nil {
			return withIndex(err)
		}
		return s.result.write(skippedResult{c.Projection, c.PersistenceID, skipped.Last, skipped.First, skipped.Purge})
	})
}
