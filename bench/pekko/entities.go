package main

import (
	"context"
	"fmt"
	"math"
	"time"
)

const (
	// distance is the delay of each request to the service of a hot entity.
	distance = 3 * time.Millisecond
	// hotCallers is the number of callers that send commands to a hot entity.
	hotCallers = 64
)

// entitySteps warm up all services, and measure commands of entities with one command in flight
// each.
func (c *comparison) entitySteps() []step {
	steps := []step{c.warmUpEntities(request{Entities: 64, Callers: 1})}
	for _, entities := range []int{1, 64, 256} {
		goal := "at least 3"
		if entities == 1 {
			goal = "" // there are no concurrent events to combine
		}
		what := fmt.Sprintf("commands, %d entities", entities)
		steps = append(steps, c.commands(what, goal, request{Entities: entities, Callers: 1}))
	}
	return steps
}

// distantSteps warm up all services, and measure commands of one entity with many callers. Every
// request takes some milliseconds longer.
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
		c.warmUpEntities(request{Entities: 64, Callers: 1}), c.warmUpEntities(one),
		c.commands(what, "", one), c.commands(what+", joined", "at least 20", joined),
	}
}

// Bounds of the warm-up rounds. While the JVM compiles, the processor time per command falls.
// Processor time depends less on other load on the machine than a rate does.
const (
	leastWarmUps, mostWarmUps = 4, 20
	// The processor time still falls if it is below stillFalling times the lowest one before.
	stillFalling = 0.95
)

// warmUpEntities repeats the measured work until the processor time per command has not fallen in
// two consecutive rounds.
func (c *comparison) warmUpEntities(q request) step {
	return func(ctx context.Context, _ *table) error {
		q.Op, q.Seconds = "loadCommands", c.options.seconds
		for _, s := range c.services() {
			lowest, stable, round := math.Inf(1), 0, 0
			for ; round < mostWarmUps && (round < leastWarmUps || stable < 2); round++ {
				q.Prefix = fmt.Sprintf("warm-%d-%s-%d", q.Entities, s.name, round)
				a, err := s.ask(ctx, q)
				if err != nil {
					return err
				}
				if stable++; cpu(a) < lowest*stillFalling {
					stable = 0
				}
				lowest = min(lowest, cpu(a))
			}
			say("warmed up %s in %d rounds of %.1f s", s.name, round, q.Seconds)
		}
		return nil
	}
}

// commands measures commands with one event. A caller sends the next command after the reply.
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
