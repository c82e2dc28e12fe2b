// Command sessions stores the sessions of users. It erases a user's events and snapshots on
// request, while another process still has the user in memory. The id is used again later.
//
//	go run ./examples/sessions
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
)

type users = entity.Entities[User, Event]

func main() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory() // a DynamoDB in this process
	check(err)
	events, err := registry()
	check(err)
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: events}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	one, two := open(journal), open(journal) // they act as two processes

	update(ctx, one, logIn("phone", "192.0.2.7"))
	update(ctx, two, logIn("laptop", "192.0.2.8"))
	update(ctx, two, logOut("phone"))
	show(ctx, one, "phone")
	show(ctx, one, "laptop")

	check(one.Purge(ctx, "u-17"))
	fmt.Println("erased, events left:", count(ctx, journal))
	show(ctx, two, "laptop") // this process had the user in memory

	receipt := update(ctx, two, logIn("tablet", "192.0.2.9"))
	show(ctx, one, "tablet")
	show(ctx, one, "laptop")
	fmt.Println("the id is used again, from event", receipt.Version)
	check(errors.Join(one.Close(ctx), two.Close(ctx), journal.Close(), engine.Close()))
}

func open(journal *dynajournal.Journal) *users {
	u, err := entity.Open(journal, userType, entity.Options{})
	check(err)
	return u
}

// update runs a command of the user u-17.
func update(ctx context.Context, u *users, command func(*tx) error) entity.Receipt {
	receipt, err := u.Update(ctx, "u-17", command)
	check(err)
	return receipt
}

// allowed reports whether a device has a session. A command that records nothing is decided on the
// state in memory. Fresh checks for events of other processes first, because another process may
// have logged the device out.
func allowed(ctx context.Context, u *users, device string) bool {
	_, err := u.Update(ctx, "u-17", authorize(device), entity.Fresh())
	if !errors.Is(err, errNoSession) {
		check(err)
	}
	return err == nil
}

func show(ctx context.Context, u *users, device string) {
	fmt.Printf("%s: allowed %t\n", device, allowed(ctx, u, device))
}

// count returns the number of stored events and snapshots of the user.
func count(ctx context.Context, journal *dynajournal.Journal) int {
	id, n := userType.PersistenceID("u-17"), 0
	for _, err := range journal.Events(ctx, id, dynajournal.Range{}) {
		check(err)
		n++
	}
	for _, err := range journal.Snapshots(ctx, id, dynajournal.SnapshotCriteria{}) {
		check(err)
		n++
	}
	return n
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
