package step3

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/examples/tutorial/step1"
)

// Run serves accounts in a DynamoDB in this process, until ctx ends.
func Run(ctx context.Context, addr string) (err error) {
	engine, err := embedded.OpenMemory()
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
	accounts, err := entity.Open(journal, step1.AccountType, entity.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, accounts.Close(context.WithoutCancel(ctx))) }()
	return Serve(ctx, addr, NewHandler(accounts))
}

// Serve answers requests until ctx ends. Then it aborts the requests in flight.
func Serve(ctx context.Context, addr string, handler http.Handler) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	log.Printf("listening on http://%s", listener.Addr())
	server := &http.Server{Handler: handler, ReadTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
