// Command bank serves bank accounts over HTTP. It stores them as events in DynamoDB.
//
//	go run ./examples/bank -local /tmp/bank
//	curl -H 'Idempotency-Key: 1' -d '{"amount": 500}' localhost:8080/accounts/anna/deposit
//	curl localhost:8080/accounts/anna
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on this `address`")
	endpoint := flag.String("endpoint", os.Getenv("BANK_ENDPOINT"), "use the service at this `URL`, not DynamoDB itself")
	local := flag.String("local", "", "use no service, but the embedded engine in this `folder`")
	flag.Parse()
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	awsConfig, closeEngine, err := connect(ctx, *local)
	check(err)
	events, err := registry()
	check(err)
	c := dynajournal.Config{AWS: awsConfig, Endpoint: *endpoint, Serialization: events}
	if *local+*endpoint != "" { // on AWS, `dynajournal tables create` creates the tables
		check(dynajournal.CreateTables(ctx, c, dynajournal.TableOptions{}))
	}
	journal, err := dynajournal.Open(ctx, c)
	check(err)
	accounts, err := entity.Open(journal, accountType, entity.Options{})
	check(err)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *addr)
	check(err)
	server := &http.Server{Handler: newHandler(accounts), ReadTimeout: 10 * time.Second}
	go func() { check(server.Serve(listener)) }()
	log.Printf("listening on http://%s", listener.Addr())

	<-ctx.Done()
	ending, cancel := context.WithTimeout(context.Background(), server.ReadTimeout)
	err = errors.Join(server.Shutdown(ending), accounts.Close(ending), journal.Close(), closeEngine())
	cancel()
	check(err)
}

// connect returns the configuration for DynamoDB on AWS, or for an engine in a folder.
func connect(ctx context.Context, local string) (aws.Config, func() error, error) {
	if local == "" {
		c, err := config.LoadDefaultConfig(ctx)
		return c, func() error { return nil }, err
	}
	engine, err := embedded.Open(local)
	if err != nil {
		return aws.Config{}, nil, err
	}
	return engine.AWSConfig(), engine.Close, nil
}

func check(err error) {
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}
