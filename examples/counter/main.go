// Command counter increments one counter from two processes at the same time. Both write to the
// same entity, so they conflict: the slower one decides again on the events of the other.
//
//	go run ./examples/counter
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// Incremented is the event of a counter.
type Incremented struct{ By int }

// The state of a counter is its value.
var counterType = entity.Type[int, Incremented]{
	Name:   "counter",
	Evolve: func(value int, e Incremented) int { return value + e.By },
}

// increment is a command. It returns the new value.
func increment(tx *entity.Tx[int, Incremented]) (int, error) {
	tx.Record(Incremented{1})
	return tx.State(), nil
}

func main() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory() // a DynamoDB in this process
	check(err)
	events := serialization.NewRegistry()
	check(serialization.JSON[Incremented](events, "incremented"))
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: events}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	one, two := start(ctx, "one", config), start(ctx, "two", config)

	one.print(ctx) // the replica has the counter in memory from now on
	two.print(ctx)
	one.print(ctx) // the replica finds its number taken

	check(race(ctx, one, two))
	_, err = one.counters.View(ctx, "visits", func(value int) error {
		fmt.Println("after 400 increments more:", value)
		return nil
	})
	check(err)
	check(errors.Join(one.stop(ctx), two.stop(ctx), engine.Close()))
}

// replica is a process that increments counters. There may be any number of them.
type replica struct {
	name     string
	journal  *dynajournal.Journal
	counters *entity.Entities[int, Incremented]
}

func start(ctx context.Context, name string, config dynajournal.Config) *replica {
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	counters, err := entity.Open(journal, counterType, entity.Options{})
	check(err)
	return &replica{name, journal, counters}
}

// increment increments the counter. ErrContended means that the other replica was faster five
// times, and that nothing was written, so increment tries again. Concurrent calls in one process
// share writes, so a single process never gets ErrContended.
func (r *replica) increment(ctx context.Context) (int, error) {
	for {
		value, err := entity.Do(ctx, r.counters, "visits", increment)
		if !errors.Is(err, entity.ErrContended) {
			return value, err
		}
	}
}

// print increments the counter, and prints how often the command was decided again.
func (r *replica) print(ctx context.Context) {
	before := r.counters.Stats().Conflicts
	value, err := r.increment(ctx)
	check(err)
	fmt.Printf("replica %s: %d, conflicts: %d\n", r.name, value, r.counters.Stats().Conflicts-before)
}

// race increments the counter 200 times on each replica, by 8 callers.
func race(ctx context.Context, replicas ...*replica) error {
	callers, ctx := errgroup.WithContext(ctx)
	for _, r := range replicas {
		for range 8 {
			callers.Go(func() error {
				for range 25 {
					if _, err := r.increment(ctx); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	return callers.Wait()
}

func (r *replica) stop(ctx context.Context) error {
	return errors.Join(r.counters.Close(ctx), r.journal.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
