// Package step6 serves accounts on AWS, and does not lose requests when it stops.
package step6

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/examples/tutorial/step1"
	"github.com/dynajournal/dynajournal/examples/tutorial/step5"
)

// Run serves accounts and their balances until ctx ends. Region, credentials and endpoint come from
// the environment, as for every program with the AWS SDK.
func Run(ctx context.Context, addr string) error {
	awsConfig, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	return Serve(ctx, awsConfig, addr)
}

// Serve serves accounts in the DynamoDB of a configuration until ctx ends. With an endpoint other
// than AWS, Serve creates the tables. On AWS, the deployment creates them.
func Serve(ctx context.Context, awsConfig aws.Config, addr string) (err error) {
	registry, err := step1.Registry()
	if err != nil {
		return err
	}
	journalConfig := dynajournal.Config{AWS: awsConfig, Serialization: registry}
	balances := &step5.Balances{Client: dynamodb.NewFromConfig(awsConfig)}
	if awsConfig.BaseEndpoint != nil {
		if err := step5.CreateTables(ctx, journalConfig, balances); err != nil {
			return err
		}
	}
	journal, err := dynajournal.Open(ctx, journalConfig)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	kind := step1.AccountType
	kind.Snapshots = entity.Snapshots{Every: 100}
	accounts, err := entity.Open(journal, kind, entity.Options{})
	if err != nil {
		return err
	}
	group, err := step5.NewGroup(journal, awsConfig, balances)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	log.Printf("listening on http://%s", listener.Addr())
	server := &http.Server{
		Handler: step5.NewHandler(journal, accounts, group, balances), ReadTimeout: 10 * time.Second,
	}
	return stopInOrder(ctx, server, listener, group.Run, accounts.Close)
}

// stopInOrder serves requests and runs the projection until ctx ends or one of them fails. Then it
// answers the requests in flight, which may wait for the projection. Then it stops the projection.
// Finally it closes the accounts, which waits for snapshots.
func stopInOrder(
	ctx context.Context, server *http.Server, listener net.Listener, project, closeAccounts func(context.Context) error,
) error {
	projecting, endProjection := context.WithCancel(context.WithoutCancel(ctx))
	defer endProjection()
	running, failed := errgroup.WithContext(ctx)
	running.Go(func() error { return project(projecting) })
	running.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	<-failed.Done() // ctx has ended, or the server or the projection has failed
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	err := server.Shutdown(ending)
	endProjection()
	err = errors.Join(err, running.Wait(), closeAccounts(ending))
	log.Print("stopped")
	return err
}
