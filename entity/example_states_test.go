package entity_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// Session is a session of a user. Its history is not needed, so only its state is stored.
type Session struct {
	User     string
	LastSeen time.Time
	Requests int
}

// visit is a command: it records the next state.
func visit(user string) func(*entity.StateTx[Session]) (int, error) {
	return func(tx *entity.StateTx[Session]) (int, error) {
		next := tx.State()
		next.User, next.LastSeen = user, tx.Now()
		next.Requests++
		tx.Record(next)
		return next.Requests, nil
	}
}

// A session store: a state for each session, without events. Every process that opens the states
// can serve every session, and a session that ends is purged.
func ExampleOpenStates() {
	ctx := context.Background()
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	engine, err := embedded.OpenMemory() // a DynamoDB in this process; on AWS, load an aws.Config
	check(err)
	defer engine.Close()
	types := serialization.NewRegistry()
	check(serialization.JSON[Session](types, "session"))
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: types}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	defer journal.Close()

	sessions, err := entity.OpenStates(journal, entity.StateType[Session]{Name: "session"}, entity.Options{})
	check(err)
	for range 3 {
		_, err = entity.Do(ctx, sessions, "4711", visit("anna"))
		check(err)
	}
	version, err := sessions.View(ctx, "4711", func(s Session) error {
		fmt.Println(s.User, s.Requests)
		return nil
	})
	check(err)
	fmt.Println("version", version)

	check(sessions.Purge(ctx, "4711")) // the user signs out
	requests, err := entity.Do(ctx, sessions, "4711", visit("bob"))
	check(err)
	fmt.Println(requests)
	check(sessions.Close(ctx))
	// Output:
	// anna 3
	// version 3
	// 1
}
