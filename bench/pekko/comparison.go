package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/dynajournal/dynajournal"
)

// comparison has the services that it compares, all on one engine.
type comparison struct {
	options options
	folder  string
	engine  *service
	// pekko is the plug-in's, shared the journal's in the same tables, native the journal's in
	// tables of its own.
	pekko, shared, native *service
}

func prepare(ctx context.Context, o options) (c *comparison, err error) {
	c = &comparison{options: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if c.folder, err = os.MkdirTemp("", "dynajournal-pekko-*"); err != nil {
		return c, fmt.Errorf("make a folder: %w", err)
	}
	say("building")
	command, java, err := build(ctx, c.folder)
	if err != nil {
		return c, err
	}
	var url string
	if c.engine, url, err = startEngine(command); err != nil {
		return c, err
	}
	for _, kind := range []string{shared, native} {
		config, opts := configOf(kind, url)
		if err := dynajournal.CreateTables(ctx, config, opts); err != nil {
			return c, fmt.Errorf("create tables: %w", err)
		}
	}
	java = append(java, "-Ddynamodb-journal.endpoint="+url, "-Ddynamodb-read-journal.endpoint="+url, "interop.Program")
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
	if c.engine != nil {
		all = append(all, c.engine.stop(syscall.SIGTERM))
	}
	if c.folder != "" {
		all = append(all, os.RemoveAll(filepath.Clean(c.folder)))
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

const (
	perSecond   = "1/s"
	microsecond = "µs"
	mebibyte    = "MiB"
)

// run warms all up, and measures everything.
func (c *comparison) run(ctx context.Context) (*table, error) {
	t := &table{}
	steps := []func(context.Context, *table) error{c.warmUp}
	for _, entities := range []int{1, 64, 256} {
		steps = append(steps, c.persist(entities))
	}
	steps = append(steps, c.replay(1, 10_000), c.replay(64, 1000),
		c.recover("new entities", 200, request{}),
		c.recover("5 events", 200, request{Events: 5}),
		c.recover("a snapshot and 5 events", 200, request{Events: 10, Snapshots: true}),
		c.recover("250 events", 20, request{Events: 250}),
		c.memory)
	for _, step := range steps {
		if err := step(ctx, t); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// warmUp lets the JVM compile the code that is measured.
func (c *comparison) warmUp(ctx context.Context, _ *table) error {
	const times = 4
	for _, s := range c.services() {
		say("warming up %s", s.name)
		for i := range times {
			q := request{Op: "loadPersist", Prefix: fmt.Sprintf("warm-%s-%d", s.name, i), Entities: 64,
				Seconds: c.options.seconds}
			if _, err := s.ask(ctx, q); err != nil {
				return err
			}
			for _, op := range []string{"loadReplay", "loadRecover"} {
				q.Op = op
				if _, err := s.ask(ctx, q); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// compare asks all services alternately, the given number of times in each round, and adds the
// medians of the rounds to the table.
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
				a, err := s.ask(ctx, ask(s, round))
				if err != nil {
					return err
				}
				a.Count, a.Seconds, a.CPUSeconds = sum.Count+a.Count, sum.Seconds+a.Seconds, sum.CPUSeconds+a.CPUSeconds
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

const (
	once = 1
	// replayedPerRound is the minimum number of events that a round of replaying reads, so that its
	// first requests are only a small part of it.
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

func (c *comparison) persist(entities int) func(context.Context, *table) error {
	return func(ctx context.Context, t *table) error {
		say("persisting: %d entities", entities)
		what, goal := fmt.Sprintf("persist, %d entities", entities), "at least 3"
		if entities == 1 {
			goal = "" // there is nothing to put together
		}
		return c.compare(ctx, t, once, func(s *service, round int) request {
			return request{Op: "loadPersist", Prefix: fmt.Sprintf("persist-%d-%s-%d", entities, s.name, round),
				Entities: entities, Seconds: c.options.seconds}
		},
			measure{what + ": events", perSecond, goal, rate}, measure{what + ": p50", microsecond, "", p50},
			measure{what + ": p99", microsecond, "", p99},
			measure{what + ": client CPU an event", microsecond, "", cpu})
	}
}

// fill stores the same events in both journals. The plug-in reads those of the shared journal.
func (c *comparison) fill(ctx context.Context, q request) error {
	q.Op = "fill"
	for _, s := range []*service{c.shared, c.native} {
		if _, err := s.ask(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) replay(entities, events int) func(context.Context, *table) error {
	return func(ctx context.Context, t *table) error {
		say("replaying: %d × %d events", entities, events)
		prefix := fmt.Sprintf("replay-%d", entities)
		if err := c.fill(ctx, request{Prefix: prefix, Entities: entities, Events: events}); err != nil {
			return err
		}
		what := fmt.Sprintf("replay, %d × %d events", entities, events)
		return c.compare(ctx, t, replayedPerRound/(entities*events)+1,
			func(*service, int) request { return request{Op: "loadReplay", Prefix: prefix, Entities: entities} },
			measure{what + ": events", perSecond, "at least 3", rate},
			measure{what + ": client CPU an event", microsecond, "", cpu})
	}
}

func (c *comparison) recover(what string, entities int, q request) func(context.Context, *table) error {
	return func(ctx context.Context, t *table) error {
		say("recovering: %s", what)
		q.Prefix, q.Entities = fmt.Sprintf("recover-%d-%v", q.Events, q.Snapshots), entities
		if q.Events > 0 {
			if err := c.fill(ctx, q); err != nil {
				return err
			}
		}
		return c.compare(ctx, t, once, func(s *service, round int) request {
			q := q
			q.Op = "loadRecover"
			if q.Events == 0 { // new ones each time
				q.Prefix = fmt.Sprintf("recover-new-%s-%d", s.name, round)
			}
			return q
		},
			measure{"recovery, " + what + ": p50", microsecond, "at most 0.33", p50},
			measure{"recovery, " + what + ": p99", microsecond, "", p99})
	}
}

// memory is the resident memory after all the work before.
func (c *comparison) memory(ctx context.Context, t *table) error {
	const bytes = 1 << 20
	return c.compare(ctx, t, once, func(*service, int) request { return request{Op: "memory"} },
		measure{"resident memory: now", mebibyte, "at most 0.2", func(a answer) float64 { return a.Resident / bytes }},
		measure{"resident memory: peak", mebibyte, "at most 0.2", func(a answer) float64 { return a.Peak / bytes }})
}
