// Package step4 stores accounts on disk, and saves their states in snapshots.
package step4

import (
	"context"
	"errors"
	"log"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/examples/tutorial/step1"
	"github.com/dynajournal/dynajournal/examples/tutorial/step3"
)

// AccountType saves the state after every two events, so that a few requests show it. A real
// service uses about 100.
func AccountType() entity.Type[step1.Account, step1.Changed] {
	kind := step1.AccountType
	kind.Snapshots = entity.Snapshots{Every: 2}
	return kind
}

// Options returns options that log which snapshot and how many events are read when an account is
// loaded.
func Options() entity.Options {
	return entity.Options{Hooks: []entity.Hook{{OnRecovery: func(_ context.Context, r entity.Recovery) {
		log.Printf("loaded %s: the snapshot at %d and %d events", r.PersistenceID, r.Snapshot, r.Events)
	}}}}
}

// Run serves accounts whose data is in a folder, until ctx ends.
func Run(ctx context.Context, addr, folder string) (err error) {
	engine, err := embedded.Open(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	registry, err := step1.Registry()
	if err != nil {
		return err
	}
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: registry}
	if err := dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}); err != nil {
		return err
	}
	journal, err := dynajournal.Open(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	accounts, err := entity.Open(journal, AccountType(), Options())
	if err != nil {
		return err
	}
	// Close waits until snapshots are saved.
	defer func() { err = errors.Join(err, accounts.Close(context.WithoutCancel(ctx))) }()
	return step3.Serve(ctx, addr, step3.NewHandler(accounts))
}
