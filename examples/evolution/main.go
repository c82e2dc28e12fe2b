// Command evolution reads events and snapshots that earlier versions of a program have stored. The
// packages v1, v2 and v3 are three versions of one program; a real program has only the newest.
//
//	go run ./examples/evolution
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"

	v1 "github.com/dynajournal/dynajournal/examples/evolution/v1"
	v2 "github.com/dynajournal/dynajournal/examples/evolution/v2"
	v3 "github.com/dynajournal/dynajournal/examples/evolution/v3"
)

func main() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory() // a DynamoDB in this process
	check(err)
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))

	// Each version writes, and stops. Ada has a snapshot of each version. Bob has no snapshot.
	p1 := start(ctx, config, v1.Registry, v1.Type)
	p1.record(ctx, "ada", v1.Registered{Name: "Ada Byron"}, v1.AddressChanged{Address: "1 Mill Lane, Leeds"},
		v1.NewsletterSent{Subject: "Spring"})
	p1.record(ctx, "bob", v1.Registered{Name: "Bob Stone"}, v1.AddressChanged{Address: "2 Hill Road, York"})
	p1.stop(ctx)

	p2 := start(ctx, config, v2.Registry, v2.Type)
	p2.record(ctx, "ada", v2.Moved{Street: "3 Park Row", City: "Bath"}, v2.NewsletterSent{Subject: "Summer"},
		v2.NewsletterSent{Subject: "Autumn"})
	p2.record(ctx, "eva", v2.Registered{Name: "Eva Lund", Language: "sv"})
	p2.stop(ctx)

	p3 := start(ctx, config, v3.Registry, v3.Type)
	p3.show(ctx, "ada", "bob", "eva")
	p3.record(ctx, "ada", v3.Named{First: "Ada", Last: "Lovelace"})
	p3.show(ctx, "ada")
	p3.stop(ctx)
	check(engine.Close())
}

// program is a process that runs a version of the program.
type program[S, E any] struct {
	journal   *dynajournal.Journal
	customers *entity.Entities[S, E]
}

func start[S, E any](
	ctx context.Context, config dynajournal.Config, registry func() (*serialization.Registry, error), kind entity.Type[S, E],
) *program[S, E] {
	var err error
	config.Serialization, err = registry()
	check(err)
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	customers, err := entity.Open(journal, kind, entity.Options{Hooks: []entity.Hook{{OnRecovery: printRecovery}}})
	check(err)
	return &program[S, E]{journal, customers}
}

func printRecovery(_ context.Context, r entity.Recovery) {
	if r.Snapshot+r.Events > 0 { // neither a new entity nor a catch-up without news
		fmt.Printf("%s: loaded the snapshot at %d and %d events\n", r.PersistenceID, r.Snapshot, r.Events)
	}
}

// record runs a command that records events.
func (p *program[S, E]) record(ctx context.Context, id string, events ...E) {
	_, err := p.customers.Update(ctx, id, func(tx *entity.Tx[S, E]) error {
		tx.Record(events...)
		return nil
	})
	check(err)
}

func (p *program[S, E]) show(ctx context.Context, ids ...string) {
	for _, id := range ids {
		_, err := p.customers.View(ctx, id, func(s S) error {
			fmt.Printf("%s is %+v\n", id, s)
			return nil
		})
		check(err)
	}
}

func (p *program[S, E]) stop(ctx context.Context) {
	check(errors.Join(p.customers.Close(ctx), p.journal.Close()))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
