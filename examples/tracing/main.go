// Command tracing stores the trace of a request in the metadata of its events, so that a reader can
// continue the trace. It uses the W3C trace context, as in the header traceparent of a request.
//
//	go run ./examples/tracing
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// The events of an order. Its state is the amount that was paid.
type (
	Event   interface{ apply(paid int) int }
	Ordered struct{ Article string }
	Paid    struct{ Amount int }
)

func (Ordered) apply(paid int) int { return paid }
func (e Paid) apply(paid int) int  { return paid + e.Amount }

var orderType = entity.Type[int, Event]{
	Name:   "order",
	Evolve: func(paid int, event Event) int { return event.apply(paid) },
	// Tags say what an event is about. Metadata says where it comes from.
	Tags: func(event Event) []string {
		if _, ok := event.(Paid); ok {
			return []string{"money"}
		}
		return nil
	},
}

func main() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory() // a DynamoDB in this process
	check(err)
	events := serialization.NewRegistry()
	check(errors.Join(
		serialization.JSON[Ordered](events, "ordered"),
		serialization.JSON[Paid](events, "paid"),
	))
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: events}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	orders, err := entity.Open(journal, orderType, entity.Options{
		Metadata: metadata,
		Hooks:    []entity.Hook{{OnCommand: printCommand}},
	})
	check(err)

	// Two requests, each with a trace. The code of the commands does not know of it.
	check(record(withTrace(ctx, "00-a1-01-01"), orders, Ordered{"a pear"}))
	check(record(withTrace(ctx, "00-b2-01-01"), orders, Paid{5}))
	check(read(ctx, journal))
	check(errors.Join(orders.Close(ctx), journal.Close(), engine.Close()))
}

func record(ctx context.Context, orders entity.Updater[int, Event], event Event) error {
	_, err := orders.Update(ctx, "o-1", func(tx *entity.Tx[int, Event]) error {
		tx.Record(event)
		return nil
	})
	return err
}

// traceparent is the key of the trace, in the metadata of an event.
const traceparent = "traceparent"

type traceKey struct{}

// withTrace returns a context with a trace, as the middleware of a tracing library does.
func withTrace(ctx context.Context, trace string) context.Context {
	return context.WithValue(ctx, traceKey{}, trace)
}

func traceOf(ctx context.Context) string {
	trace, _ := ctx.Value(traceKey{}).(string)
	return trace
}

// metadata returns the metadata of each event of a command, from the context of its caller.
// Commands that share a write have separate metadata.
func metadata(ctx context.Context) map[string]string {
	if trace := traceOf(ctx); trace != "" {
		return map[string]string{traceparent: trace}
	}
	return nil
}

// printCommand is a hook. It also gets the context of the caller, for a span or for metrics.
func printCommand(ctx context.Context, command entity.Command) {
	fmt.Printf("%s: command of %s, events: %d\n", traceOf(ctx), command.PersistenceID, command.Receipt.Events)
}

// read follows the events of the order, as a projection does, and stops after the second.
func read(ctx context.Context, journal *dynajournal.Journal) error {
	poll := dynajournal.Poll{Longest: time.Second}
	for event, err := range journal.EventsByPersistenceID(ctx, orderType.PersistenceID("o-1"), 1, 2, poll) {
		if err != nil {
			return err
		}
		project(withTrace(ctx, event.Metadata[traceparent]), event)
	}
	return nil
}

// project handles an event, within the trace of the command that has recorded it.
func project(ctx context.Context, event dynajournal.EventEnvelope) {
	fmt.Printf("%s: read event %d, %s, tags: %v\n", traceOf(ctx), event.Offset, event.SerializerManifest, event.Tags)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
