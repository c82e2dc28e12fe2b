// Package bench measures a journal. Every figure has a base: the figure of the bare AWS SDK for the
// same work, or, when layouts are compared, the figure of a native journal. Both are measured on
// the same endpoint in the same run. The candidates alternate for several rounds, so that other
// load on the machine slows all of them. A figure is the median of the rounds. A percentile is that
// of all operations of all rounds.
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

// Figure is one result. Ratio is Value / Base, or, where the candidates alternate in slices, the
// median of the ratios of the slices.
type Figure struct {
	// Name is the name of the workload, a slash and the name of the figure.
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Base is the figure of the bare SDK in the same unit, in the workload layouts that of a native
	// journal. It is 0 where the bare SDK needs nothing.
	Base  float64 `json:"base"`
	Ratio float64 `json:"ratio"`
}

// Step is the progress of a run.
type Step struct {
	// Workload is the workload that is being measured.
	Workload string
	// Done of Total rounds are over. A round is that of one candidate.
	Done, Total int
}

// Options select what to measure, and where.
type Options struct {
	// Config is the configuration of the journal. Its table names are ignored: a run makes tables
	// of its own and deletes them.
	Config dynajournal.Config
	// Only has names of workloads, or prefixes of names. Defaults to all workloads that are not for
	// a service that is far away, with Traffic to those that are.
	Only []string
	// Quick measures for a shorter time, and with less data where the name of the workload does not
	// include its size.
	Quick bool
	// Events is the largest number of stored events of the workload scale-events, Entities the
	// largest number of entities of scale-entities. They default to DefaultEvents and
	// DefaultEntities, with Quick to a tenth of them.
	Events, Entities int
	// Traffic, if set, returns what was carried so far by a network between the client and the
	// service. It reports requests and connections of the workloads for a service that is far away.
	Traffic func() (Traffic, error)
	// Report is called with each figure of a workload when the workload is done. Required.
	Report func(Figure) error
	// Progress, if set, is called after every round.
	Progress func(Step)
}

// Defaults of Options.
const (
	DefaultEvents   = 100_000
	DefaultEntities = 10_000
)

// ErrUnknownWorkload is returned if Options.Only has a name that no workload begins with.
var ErrUnknownWorkload = errors.New("there is no such workload")

// workload is a comparison of candidates.
type workload struct {
	name string
	// candidates is the number of candidates, all of which a round measures.
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
	return slices.Concat(writes(), replays(), recoveries(), layouts(), scales(o), entityWorkloads(o), projectionWorkloads(o),
		networkWorkloads(o))
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
			return o.Traffic == nil && far || o.Traffic != nil && !behindNetwork(w)
		}), nil
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

// Run measures the workloads. It makes tables with unique names, and deletes them at the end, also
// after a failure and when ctx ends.
//
// Errors: [ErrUnknownWorkload], [dynajournal.ErrInvalidArgument], those of Report and those of any
// request.
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

// How many rounds are measured, and the shortest time of a candidate's round. The first warmUps
// rounds do not count.
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
	// journal has the configuration of the options. ungrouped has no group commit.
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
