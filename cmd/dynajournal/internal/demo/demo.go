// Package demo shows the main job of a journal end to end, with a small bank on an embedded engine. It checks everything
// that it shows.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/serialization"
)

// Options say where the demo plays.
type Options struct {
	// AWS is the engine's configuration.
	AWS aws.Config
	// IDSuffix ends every persistence id, so that a second run on the same data begins with new entities.
	IDSuffix string
	// Out takes the text. Color adds the escapes of a terminal.
	Out   io.Writer
	Color bool
}

// steps are what the demo shows, in order. Each goes on from where the one before has left the stage.
var steps = []struct {
	title string
	play  func(*stage, context.Context) error
}{
	{"A bank opens: six accounts take commands at once", (*stage).openBank},
	{"The process dies: one answer never comes, one transfer is cut in half", (*stage).crash},
	{"Two writers, one account: only one can write", (*stage).fence},
	{"Transfers are atomic, however many and wherever they lie", (*stage).transfers},
	{"A snapshot spares a recovery the past", (*stage).saveState},
	{"Old events are deleted, their numbers stay taken", (*stage).deleteOld},
	{"Everything is listed and verified", (*stage).look},
}

// Run plays the demo, and fails if something that it shows does not hold.
func Run(ctx context.Context, o Options) (err error) {
	registry, err := newRegistry()
	if err != nil {
		return err
	}
	s := &stage{
		screen:   &screen{w: o.Out, color: o.Color},
		idSuffix: o.IDSuffix,
		registry: registry,
		engine:   o.AWS,
	}
	if err := dynajournal.CreateTables(ctx, dynajournal.Config{AWS: o.AWS}, dynajournal.TableOptions{}); err != nil {
		return fmt.Errorf("make the tables: %w", err)
	}
	if err := s.start(ctx, dynajournal.GroupCommitOff); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.journal.Close()) }()
	for i, step := range steps {
		s.screen.title(fmt.Sprintf("%d. %s", i+1, step.title))
		if err := step.play(s, ctx); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	s.screen.title("What it cost")
	s.screen.costs(s.costs)
	return s.screen.end()
}

// stage is what the steps work with.
type stage struct {
	screen   *screen
	idSuffix string
	registry *serialization.Registry
	engine   aws.Config

	// journal is that of the process that runs now, wire its way to the engine.
	journal *dynajournal.Journal
	wire    *wire

	accounts []*account
	ledger   *ledger
	costs    []costLine
}

// costLine is what an operation has cost.
type costLine struct {
	what string
	cost dynajournal.Cost
}

func (s *stage) spent(what string, c dynajournal.Cost) { s.costs = append(s.costs, costLine{what, c}) }

// start starts a process: a journal with a wire of its own, and no state. The one that is going to die puts each event by a
// request of its own, so that one leg of a transfer can get lost.
func (s *stage) start(ctx context.Context, groupCommit dynajournal.GroupCommit) error {
	w := newWire(s.engine.HTTPClient)
	config := dynajournal.Config{AWS: s.engine, Serialization: s.registry, GroupCommit: groupCommit, Retries: -1} // what dies does not try again
	config.AWS.HTTPClient = w
	j, err := dynajournal.Open(ctx, config)
	if err != nil {
		return fmt.Errorf("start a process: %w", err)
	}
	s.journal, s.wire = j, w
	return nil
}

// check shows a claim, or fails if it does not hold.
func (s *stage) check(holds bool, format string, args ...any) error {
	claim := fmt.Sprintf(format, args...)
	if !holds {
		return fmt.Errorf("this does not hold: %s", claim)
	}
	s.screen.checked(claim)
	return nil
}
