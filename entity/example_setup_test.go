package entity_test

import (
	"context"
	"errors"
	"log"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// exampleJournal opens a journal in memory, which knows the events of an account.
func exampleJournal(ctx context.Context) (journal *dynajournal.Journal, end func()) {
	engine, err := embedded.OpenMemory()
	check(err)
	registry := serialization.NewRegistry()
	check(errors.Join(
		serialization.JSON[Deposited](registry, "deposited"),
		serialization.JSON[Withdrawn](registry, "withdrawn"),
		serialization.JSON[Account](registry, "account"),
	))
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: registry}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	journal, err = dynajournal.Open(ctx, config)
	check(err)
	return journal, func() { check(errors.Join(journal.Close(), engine.Close())) }
}

// openAccounts opens the accounts of a journal. Each call acts as another process.
func openAccounts(ctx context.Context, journal *dynajournal.Journal, options entity.Options) (a *accounts, end func()) {
	a, err := entity.Open(journal, accountType(), options)
	check(err)
	return a, func() { check(a.Close(ctx)) }
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
