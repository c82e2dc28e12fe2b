// Package bench measures a journal. Every figure stands beside its base: what the bare AWS SDK needs for the same, or for a layout
// what today's does, on the same endpoint, in the same run. Those that are compared take turns, several rounds of them, so that
// what else the machine does slows all; a figure is the median of the rounds, a percentile is that of all operations of all
// rounds.
package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
)

// Figure is one result. Ratio is Value / Base.
type Figure struct {
	// Name is the workload's, a slash, and what was measured.
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Base is what the bare SDK needs, or does, in the same unit; in the workload layouts what a native journal does.
	Base  float64 `json:"base"`
	Ratio float64 `json:"ratio"`
}

// Step is how far a run has come.
type Step struct {
	// Workload is the one being measured.
	Workload string
	// Done of Total turns are over.
	Done, Total int
}

// Options say what to measure, and where. The zero value of each field but Config is its default.
type Options struct {
	// Config is the journal's. The names of its tables do not count: a run makes tables of its own, and deletes them.
	Config dynajournal.Config
	// Only has the names of workloads, or beginnings of several. Empty is all.
	Only []string
	// Quick measures for a shorter time, and with less data where the workload does not name its size.
	Quick bool
	// Events and Entities are how many stored events, and entities, the workloads scale-events and scale-entities go up to.
	// Default to DefaultEvents and DefaultEntities, or a tenth of them if Quick.
	Events, Entities int
	// Report takes the figures of a workload as soon as it is done. Required.
	Report func(Figure) error
	// Progress is told of every turn, if set.
	Progress func(Step)
}

// Defaults of Options.
const (
	DefaultEvents   = 100_000
	DefaultEntities = 10_000
)

// ErrUnknownWorkload is the error of a name in Options.Only that no workload begins with.
var ErrUnknownWorkload = errors.New("there is no such workload")

// workload is what is measured together.
type workload struct {
	name string
	// turns is how many turns a round has: one for each contender.
	turns int
	run   func(ctx context.Context, s *session) error
}

// Workloads are the names of all workloads, in the order in which they are run.
func Workloads() []string {
	var names []string
	for _, w := range workloads(Options{}.withDefaults()) {
		names = append(names, w.name)
	}
	return names
}

func workloads(o Options) []workload {
	return slices.Concat(writes(), replays(), recoveries(), layouts(), scales(o))
}

func (o Options) withDefaults() Options {
	events, entities := DefaultEvents, DefaultEntities
	if o.Quick {
		events, entities = events/10, entities/10
	}
	if o.Events == 0 {
		o.Events = events
	}
	if o.Entities == 0 {
		o.Entities = entities
	}
	return o
}

// selected are the workloads that are wanted.
func (o Options) selected() ([]workload, error) {
	all := workloads(o)
	if len(o.Only) == 0 {
		return all, nil
	}
	chosen := map[string]bool{}
	for _, name := range o.Only {
		begins := func(w workload) bool { return strings.HasPrefix(w.name, name) }
		if slices.ContainsFunc(all, func(w workload) bool { return w.name == name }) {
			begins = func(w workload) bool { return w.name == name }
		}
		if name == "" || !slices.ContainsFunc(all, begins) {
			return nil, fmt.Errorf("%w: %q; there are %s", ErrUnknownWorkload, name, strings.Join(Workloads(), ", "))
		}
		for _, w := range all {
			chosen[w.name] = chosen[w.name] || begins(w)
		}
	}
	return slices.DeleteFunc(all, func(w workload) bool { return !chosen[w.name] }), nil
}

// Run measures. It makes tables with names that nothing else has, and deletes them at the end, also after a failure or when
// ctx ends. Errors: ErrUnknownWorkload, dynajournal.ErrInvalidArgument, Report's own, and those of any request.
func Run(ctx context.Context, o Options) (err error) {
	o = o.withDefaults()
	if o.Events < 1 || o.Entities < 1 {
		return &dynajournal.ArgumentError{Argument: "Options.Events, Entities", Value: fmt.Sprintf("%d, %d", o.Events, o.Entities), Reason: "they must be at least 1"}
	}
	wanted, err := o.selected()
	if err != nil {
		return err
	}
	s := &session{options: o, rounds: fullRounds, turn: fullTurn, measured: &requestCount{}}
	if o.Quick {
		s.rounds, s.turn = quickRounds, quickTurn
	}
	for _, w := range wanted {
		s.total += w.turns * (s.rounds + warmUps)
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.open(ctx); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	for _, w := range wanted {
		s.workload = w.name
		s.step(0)
		if err := w.run(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// How long is measured: rounds, each with a turn of every contender, after rounds that don't count.
const (
	warmUps     = 1
	fullRounds  = 7
	fullTurn    = time.Second
	quickRounds = 3
	quickTurn   = 150 * time.Millisecond
)

// session is one run.
type session struct {
	options Options
	rounds  int
	turn    time.Duration

	place *place
	bare  *dynamodb.Client
	// journal is as it is configured; ungrouped never shares requests among writers.
	journal, ungrouped *dynajournal.Journal
	// measured counts the requests of the journal.
	measured *requestCount

	workload    string
	done, total int
}

func (s *session) step(turns int) {
	s.done += turns
	if s.options.Progress != nil {
		s.options.Progress(Step{Workload: s.workload, Done: s.done, Total: s.total})
	}
}

// report reports a figure of the workload under way.
func (s *session) report(what, unit string, value, base float64) error {
	f := Figure{Name: s.workload + "/" + what, Value: value, Unit: unit, Base: base}
	if base != 0 {
		f.Ratio = value / base
	}
	return s.options.Report(f)
}
