package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/network"
)

// comparison compares services that all use one engine.
type comparison struct {
	options options
	engine  *service
	// proxy is between the services and the engine. It is nil without a network. It runs in this
	// process, whose processor time is not measured.
	proxy *network.Proxy
	// pekko uses the plug-in. shared uses the journal in the plug-in's tables. native uses the
	// journal in its own tables.
	pekko, shared, native *service
}

// prepare starts an engine, with serve as further flags, and the services.
func prepare(ctx context.Context, o options, built programs, serve ...string) (c *comparison, err error) {
	c = &comparison{options: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if o.network != (network.Delay{}) {
		serve = nil // the network delays requests instead of a fault
	}
	var url string
	if c.engine, url, err = startEngine(built.command, serve...); err != nil {
		return c, err
	}
	if o.network != (network.Delay{}) {
		if c.proxy, err = network.Listen(network.Options{
			Target: strings.TrimPrefix(url, "http://"), Delay: o.network, Plain: true,
		}); err != nil {
			return c, fmt.Errorf("start the network: %w", err)
		}
		url = c.proxy.URL()
	}
	for _, kind := range []string{shared, native} {
		config, opts := configOf(kind, url)
		if err := dynajournal.CreateTables(ctx, config, opts); err != nil {
			return c, fmt.Errorf("create tables: %w", err)
		}
	}
	java := append(slices.Clone(built.java), "-Ddynamodb-journal.endpoint="+url, "-Ddynamodb-read-journal.endpoint="+url,
		"interop.Program")
	if c.pekko, err = start("pekko", java...); err != nil {
		return c, err
	}
	program, err := os.Executable()
	if err != nil {
		return c, fmt.Errorf("find this program: %w", err)
	}
	if c.shared, err = start(shared, program, "-service", shared, "-endpoint", url); err != nil {
		return c, err
	}
	c.native, err = start(native, program, "-service", native, "-endpoint", url)
	return c, err
}

func (c *comparison) close() error {
	var all []error
	for _, s := range c.services() {
		if s != nil {
			all = append(all, s.stop(nil))
		}
	}
	if c.proxy != nil {
		all = append(all, c.proxy.Close())
	}
	if c.engine != nil {
		all = append(all, c.engine.stop(syscall.SIGTERM))
	}
	return errors.Join(all...)
}

func (c *comparison) services() []*service { return []*service{c.pekko, c.shared, c.native} }

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "… "+format+"\n", args...) }

// measure computes a figure from answers. goal is the intended ratio to Pekko's figure.
type measure struct {
	name, unit, goal string
	of               func(answer) float64
}

func rate(a answer) float64 { return a.Count / a.Seconds }
func cpu(a answer) float64  { return a.CPUSeconds * 1e6 / a.Count }
func p50(a answer) float64  { return a.P50 }
func p99(a answer) float64  { return a.P99 }

// cpuOfBoth returns the processor time of the service and the engine. It depends less on other load
// on the machine than a rate does.
func cpuOfBoth(a answer) float64 { return (a.CPUSeconds + a.EngineSeconds) * 1e6 / a.Count }

const (
	perSecond   = "1/s"
	microsecond = "µs"
	mebibyte    = "MiB"
)

// step measures something, and adds the result to the table.
type step func(ctx context.Context, t *table) error

// part is a group of steps that has its own engine and services.
type part struct {
	// name is the value of the flag -only.
	name string
	// serve are flags of the engine.
	serve []string
	steps func(c *comparison) []step
}

func parts() []part {
	return []part{
		{journals, nil, (*comparison).journalSteps},
		{entities, nil, (*comparison).entitySteps},
		{entities, []string{"--fault", "slow,delay=" + distance.String()}, (*comparison).distantSteps},
	}
}

func (c *comparison) run(ctx context.Context, t *table, steps []step) error {
	for _, measure := range steps {
		if err := measure(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// compare sends requests to all services alternately, the given number of times in each round, and
// adds the medians of the rounds to the table.
func (c *comparison) compare(
	ctx context.Context, t *table, times int, ask func(s *service, round int) request, measures ...measure,
) error {
	answers := make([][]answer, len(c.services()))
	for round := range c.options.rounds {
		for i := range answers {
			n := (round + i) % len(answers)
			s := c.services()[n]
			var sum answer
			for range times {
				a, err := c.ask(ctx, s, ask(s, round))
				if err != nil {
					return err
				}
				a.Count, a.Seconds, a.CPUSeconds = sum.Count+a.Count, sum.Seconds+a.Seconds, sum.CPUSeconds+a.CPUSeconds
				a.EngineSeconds += sum.EngineSeconds
				sum = a
			}
			answers[n] = append(answers[n], sum)
		}
	}
	for _, m := range measures {
		line := row{Name: m.name, Unit: m.unit, Goal: m.goal}
		for i, values := range [...]*float64{&line.Pekko, &line.Shared, &line.Native} {
			*values = median(answers[i], m.of)
		}
		t.rows = append(t.rows, line)
	}
	return nil
}

// ask sends a request to a service, and adds the engine's processor time to the answer.
func (c *comparison) ask(ctx context.Context, s *service, q request) (answer, error) {
	before, err := c.engine.processorTime()
	if err != nil {
		return answer{}, err
	}
	a, err := s.ask(ctx, q)
	if err != nil {
		return a, err
	}
	after, err := c.engine.processorTime()
	a.EngineSeconds = after - before
	return a, err
}

const (
	once = 1
	// replayedPerRound is the minimum number of events that a replay round reads, so that the first
	// requests are only a small part of the round.
	replayedPerRound = 250_000
)

func median(answers []answer, of func(answer) float64) float64 {
	var values []float64
	for _, a := range answers {
		values = append(values, of(a))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
