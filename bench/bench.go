// Package bench measures a journal. Every figure has a base: the figure of the bare AWS SDK for the
// same work, or, when layouts are compared, the figure of a native journal. Both are measured on
// the same endpoint in the same run. The candidates alternate for several rounds, so that other
// load on the machine slows all of them. A figure is the median of the rounds. A percentile covers
// all operations of all rounds.
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

// Figure is one result. Ratio is Value / Base or, if the candidates alternate in slices, the median
// of the ratios of the slices.
type Figure struct {
	// Name is the name of the workload, a slash, and the name of the figure.
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Base is the figure of the bare SDK in the same unit, or, in the workload layouts, of a native
	// journal. It is 0 if the bare SDK needs nothing.
	Base  float64 `json:"base"`
	Ratio float64 `json:"ratio"`
}

// Step is the progress of a run.
type Step struct {
	// Workload is the workload that is being measured.
	Workload string
	// Done is the number of finished rounds of Total. Each round measures one candidate.
	Done, Total int
}

// Options select the workloads, their sizes and the endpoint.
type Options struct {
	// Config is the configuration of the journal. Its table names are ignored: a run creates and
	// deletes its own tables.
	Config dynajournal.Config
	// Only lists names of workloads, or prefixes of names. It defaults to all workloads for a
	// nearby service or, if Traffic is set, to the workloads for a distant service.
	Only []string
	// Quick measures for a shorter time. It also uses less data in workloads whose names do not
	// include the size.
	Quick bool
	// Events is the largest number of stored events in the workload scale-events. Entities is the
	// largest number of entities in scale-entities. They default to DefaultEvents and
	// DefaultEntities, or to a tenth of them with Quick.
	Events, Entities int
	// Traffic, if set, returns the traffic so far of a network between the client and the service.
	// The workloads for a distant service use it to report requests and connections.
	Traffic func() (Traffic, error)
	// Report is called with each figure of a workload when the workload is done. It is required.
	Report func(Figure) error
	// Progress, if set, is called after every round.
	Progress func(Step)
}

// Defaults of Options.
const (
	DefaultEvents   = 100_000
	DefaultEntities = 10_000
)

// ErrUnknownWorkload is returned if no workload's name begins with a name in Options.Only.
var ErrUnknownWorkload = errors.New("there is no such workload")

// workload is a comparison of candidates.
type workload struct {
	name string
	// candidates is the number of candidates. A round measures all of them.
	candidates int
	run        func(ctx context.Context, s *session) error
}

// Workloads returns the names of all workloads, in the order in which they run.
func Workloads() []string {
	var names []string
	for _, w := range workloads(Options{}.withDefaults()) {
		names = append(names, w.name)
	}
	return names
}

func workloads(o Options) []workload {
	return slices.Concat(writes(), replays(), recoveries(), layouts(), scales(o), entityWorkloads(o), hookWorkloads(o),
		projectionWorkloads(o), networkWorkloads(o))
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

// selected returns the workloads that o.Only names.
func (o Options) selected() ([]workload, error) {
	all := workloads(o)
	if len(o.Only) == 0 {
		return slices.DeleteFunc(all, func(w workload) bool {
			far := strings.HasPrefix(w.name, networkPrefix)
			return o.Traffic == nil && far || o.Traffic != nil && !overNetwork(w)
		}), nil
	}
	chosen := map[string]bool{}
	for _, name := range o.Only {
		hasPrefix := func(w workload) bool { return strings.HasPrefix(w.name, name) }
		if slices.ContainsFunc(all, func(w workload) bool { return w.name == name }) {
			hasPrefix = func(w workload) bool { return w.name == name }
		}
		if name == "" || !slices.ContainsFunc(all, hasPrefix) {
			return nil, fmt.Errorf("%w: %q; there are %s", ErrUnknownWorkload, name, strings.Join(Workloads(), ", "))
		}
		for _, w := range all {
			chosen[w.name] = chosen[w.name] || hasPrefix(w)
		}
	}
	return slices.DeleteFunc(all, func(w workload) bool { return !chosen[w.name] }), nil
}

// Run measures the workloads. It creates tables with unique names, and deletes them at the end,
// even after a failure or if ctx ends.
//
// Errors: [ErrUnknownWorkload], [dynajournal.ErrInvalidArgument], the errors of Options.Report, and
// the error of any request.
func Run(ctx context.Context, o Options) (err error) {
	o = o.withDefaults()
	if o.Events < 1 || o.Entities < 1 {
		return &dynajournal.ArgumentError{
			Argument: "Options.Events, Entities",
			Value:    fmt.Sprintf("%d, %d", o.Events, o.Entities),
			Reason:   "they must be at least 1",
		}
	}
	wanted, err := o.selected()
	if err != nil {
		return err
	}
	s := &session{options: o, rounds: fullRounds, roundTime: fullRoundTime, measured: &requestCount{}}
	if o.Quick {
		s.rounds, s.roundTime = quickRounds, quickRoundTime
	}
	for _, w := range wanted {
		s.total += w.candidates * (s.rounds + warmUps)
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

// The number of measured rounds, and the shortest duration of a candidate's round. The first
// warmUps rounds do not count.
const (
	warmUps        = 1
	fullRounds     = 7
	fullRoundTime  = time.Second
	quickRounds    = 3
	quickRoundTime = 150 * time.Millisecond
)

// session is one run.
type session struct {
	options   Options
	rounds    int
	roundTime time.Duration

	tables *tables
	bare   *dynamodb.Client
	// journal has the configuration of the options. ungrouped has group commit switched off.
	journal, ungrouped *dynajournal.Journal
	// measured counts the requests of the journal.
	measured *requestCount

	workload    string
	done, total int
}

func (s *session) step(rounds int) {
	s.done += rounds
	if s.options.Progress != nil {
		s.options.Progress(Step{Workload: s.workload, Done: s.done, Total: s.total})
	}
}
