// Package demo demonstrates a journal end to end, with a small bank on an embedded engine. It
// checks everything that it shows.
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

// Options select where the demo runs.
type Options struct {
	// AWS is the engine's configuration.
	AWS aws.Config
	// IDSuffix is the suffix of every persistence id, so that a second run on the same data uses
	// new entities.
	IDSuffix string
	// Out receives the text. If Color is set, the text has the escapes of a terminal.
	Out   io.Writer
	Color bool
	// Next are commands to try next. They are shown at the end.
	Next []string
}

// steps are the parts of the demo, in order. Each step continues with the state of the previous
// one.
var steps = []struct {
	title string
	run   func(*scene, context.Context) error
}{
	{"A bank opens: six accounts take commands at the same time", (*scene).openBank},
	{"The process crashes: one response is lost, one transfer is half written", (*scene).crash},
	{"Two writers, one account: only one can write", (*scene).fence},
	{"Transfers are atomic, even many at once and across partitions", (*scene).transfers},
	{"A snapshot shortens a recovery", (*scene).saveState},
	{"Old events are deleted, but their numbers are not reused", (*scene).deleteOld},
	{"A projection follows all accounts", (*scene).project},
	{"Everything is listed and verified", (*scene).verify},
}

// Run runs the demo. It fails if a claim that it shows is not true.
func Run(ctx context.Context, o Options) (err error) {
	registry, err := newRegistry()
	if err != nil {
		return err
	}
	s := &scene{
		screen:   &screen{w: o.Out, color: o.Color},
		idSuffix: o.IDSuffix,
		registry: registry,
		engine:   o.AWS,
	}
	if err := dynajournal.CreateTables(ctx, dynajournal.Config{AWS: o.AWS}, dynajournal.TableOptions{
		Stream: true, Projections: true,
	}); err != nil {
		return fmt.Errorf("create the tables: %w", err)
	}
	if err := s.start(ctx, dynajournal.GroupCommitOff); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.journal.Close()) }()
	for i, step := range steps {
		s.screen.title(fmt.Sprintf("%d. %s", i+1, step.title))
		if err := step.run(s, ctx); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	s.screen.title("What it cost")
	s.screen.costs(s.costs)
	s.screen.title("What to try next")
	for _, command := range o.Next {
		s.screen.printf("  %s\n", command) // not wrapped, so that it can be copied
	}
	return s.screen.end()
}

// scene is the state of the demo.
type scene struct {
	screen   *screen
	idSuffix string
	registry *serialization.Registry
	engine   aws.Config

	// journal belongs to the current process.
	// network is the connection between the current process and the engine.
	journal *dynajournal.Journal
	network *network

	accounts []*account
	ledger   *ledger
	costs    []costLine
}

// costLine is the cost of an operation.
type costLine struct {
	what string
	cost dynajournal.Cost
}

func (s *scene) spent(what string, c dynajournal.Cost) { s.costs = append(s.costs, costLine{what, c}) }

// start starts a process: a journal with its own network, and no state. With GroupCommitOff, each
// event is put with its own request, so that one leg of a transfer can get lost in the crash.
func (s *scene) start(ctx context.Context, groupCommit dynajournal.GroupCommit) error {
	n := newNetwork(s.engine.HTTPClient)
	// A process that crashes does not retry.
	config := dynajournal.Config{AWS: s.engine, Serialization: s.registry, GroupCommit: groupCommit, Retries: -1}
	config.AWS.HTTPClient = n
	j, err := dynajournal.Open(ctx, config)
	if err != nil {
		return fmt.Errorf("start a process: %w", err)
	}
	s.journal, s.network = j, n
	return nil
}

// check shows a claim if it is true, and otherwise fails.
func (s *scene) check(ok bool, format string, args ...any) error {
	claim := fmt.Sprintf(format, args...)
	if !ok {
		return fmt.Errorf("this is not true: %s", claim)
	}
	s.screen.checked(claim)
	return nil
}
