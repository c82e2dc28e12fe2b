// Command seats reserves the seats of a show. docs/jvm.md has the same behavior in Scala.
//
//	go run ./examples/seats
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
)

func main() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory() // a DynamoDB in this process
	check(err)
	events := serialization.NewRegistry()
	check(errors.Join(
		serialization.JSON[Reserved](events, "reserved", serialization.Version(1)),
		serialization.JSON[Show](events, "show", serialization.Version(1)), // for snapshots
	))
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: events}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	shows, err := entity.Open(journal, showType, entity.Options{})
	check(err)

	_, err = entity.Do(ctx, shows, "hamlet", reserve(7))
	check(err)
	taken, err := entity.Do(ctx, shows, "hamlet", reserve(12))
	check(err)
	_, refused := entity.Do(ctx, shows, "hamlet", reserve(12))
	fmt.Println("taken:", taken, "again:", refused)
	check(errors.Join(shows.Close(ctx), journal.Close(), engine.Close()))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
