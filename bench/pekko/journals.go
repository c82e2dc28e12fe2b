package main

import (
	"context"
	"fmt"
)

// journalSteps warm up all services, and measure the operations of the journals.
func (c *comparison) journalSteps() []step {
	steps := []step{c.warmUp}
	for _, entities := range []int{1, 64, 256} {
		steps = append(steps, c.persist(entities))
	}
	return append(steps, c.replay(1, 10_000), c.replay(64, 1000),
		// With fewer entities, the step would end before the engine has sorted the events of the
		// step before.
		c.recover("new entities", 1000, request{}),
		c.recover("5 events", 200, request{Events: 5}),
		c.recover("a snapshot and 5 events", 200, request{Events: 10, Snapshots: true}),
		c.recover("250 events", 20, request{Events: 250}),
		c.memory)
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

func (c *comparison) persist(entities int) step {
	return func(ctx context.Context, t *table) error {
		say("persisting: %d entities", entities)
		what, goal := fmt.Sprintf("persist, %d entities", entities), "at least 3"
		if entities == 1 {
			goal = "" // there are no concurrent events to combine
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

// fill stores the same events in both journals. The plug-in reads the events of the shared journal.
func (c *comparison) fill(ctx context.Context, q request) error {
	q.Op = "fill"
	for _, s := range []*service{c.shared, c.native} {
		if _, err := s.ask(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) replay(entities, events int) step {
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

func (c *comparison) recover(what string, entities int, q request) step {
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
			if q.Events == 0 { // new entities each time
				q.Prefix = fmt.Sprintf("recover-new-%s-%d", s.name, round)
			}
			return q
		},
			measure{"recovery, " + what + ": p50", microsecond, "at most 0.3", p50},
			measure{"recovery, " + what + ": p99", microsecond, "", p99})
	}
}

// memory measures the resident memory after all steps before.
func (c *comparison) memory(ctx context.Context, t *table) error {
	const bytes = 1 << 20
	return c.compare(ctx, t, once, func(*service, int) request { return request{Op: "memory"} },
		measure{"resident memory: now", mebibyte, "at most 0.2", func(a answer) float64 { return a.Resident / bytes }},
		measure{"resident memory: peak", mebibyte, "at most 0.2", func(a answer) float64 { return a.Peak / bytes }})
}
