package main

import (
	"context"
	"fmt"
	"math"
	"time"
)

const (
	// distance is how far away the service of a hot entity is: the time that each request takes
	// longer.
	distance = 3 * time.Millisecond
	// hotCallers is how many callers send commands to a hot entity.
	hotCallers = 64
)

// entitySteps warm all up, and measure commands of entities that have one command in flight each.
func (c *comparison) entitySteps() []step {
	steps := []step{c.settle(request{Entities: 64, Callers: 1})}
	for _, entities := range []int{1, 64, 256} {
		goal := "at least 3"
		if entities == 1 {
			goal = "" // there is nothing to put together
		}
		what := fmt.Sprintf("commands, %d entities", entities)
		steps = append(steps, c.commands(what, goal, request{Entities: entities, Callers: 1}))
	}
	return steps
}

// distantSteps warm all up, and measure commands of one entity that has many callers. Every request
// takes some milliseconds longer.
func (c *comparison) distantSteps() []step {
	one := request{Entities: 1, Callers: hotCallers}
	joined := one
	joined.Joined = true
	away := distance.String()
	if d := c.options.network; d.P50 > 0 {
		away = fmt.Sprintf("%v to %v", d.P50, d.P99)
	}
	what := fmt.Sprintf("commands, one entity with %d callers, a service %s away", hotCallers, away)
	return []step{
		c.settle(request{Entities: 64, Callers: 1}), c.settle(one),
		c.commands(what, "", one), c.commands(what+", joined", "at least 20", joined),
	}
}

// Rounds of warming up. The JVM compiles meanwhile, which shows as processor time that falls. That
// depends less than a rate on what else runs on the machine.
const (
	leastWarmUps, mostWarmUps = 4, 20
	// stillFalling is the part of the lowest processor time before that counts as a fall.
	stillFalling = 0.95
)

// settle repeats the work that is measured, until a command takes no less processor time in two
// rounds in a row than in the best one before.
func (c *comparison) settle(q request) step {
	return func(ctx context.Context, _ *table) error {
		q.Op, q.Seconds = "loadCommands", c.options.seconds
		for _, s := range c.services() {
			lowest, settled, round := math.Inf(1), 0, 0
			for ; round < mostWarmUps && (round < leastWarmUps || settled < 2); round++ {
				q.Prefix = fmt.Sprintf("warm-%d-%s-%d", q.Entities, s.name, round)
				a, err := s.ask(ctx, q)
				if err != nil {
					return err
				}
				if settled++; cpu(a) < lowest*stillFalling {
					settled = 0
				}
				lowest = min(lowest, cpu(a))
			}
			say("warmed up %s in %d rounds of %.1f s", s.name, round, q.Seconds)
		}
		return nil
	}
}

// commands measures commands with one event. A caller sends the next one after the reply.
func (c *comparison) commands(what, goal string, q request) step {
	return func(ctx context.Context, t *table) error {
		say("%s", what)
		return c.compare(ctx, t, once, func(s *service, round int) request {
			q := q
			q.Op, q.Seconds = "loadCommands", c.options.seconds
			q.Prefix = fmt.Sprintf("commands-%d-%t-%s-%d", q.Entities, q.Joined, s.name, round)
			return q
		},
			measure{what + ": commands", perSecond, goal, rate}, measure{what + ": p50", microsecond, "", p50},
			measure{what + ": p99", microsecond, "", p99},
			measure{what + ": client CPU a command", microsecond, "", cpu},
			measure{what + ": client and engine CPU a command", microsecond, "", cpuOfBoth})
	}
}
