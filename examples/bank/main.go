// Command bank serves bank accounts over HTTP. It stores them as events in DynamoDB, and keeps the
// movements of each account in a read model. Its metrics are at /metrics, in the form of
// Prometheus. README.md shows them, and the trace of a request.
//
//	go -C examples/bank run . -local /tmp/bank
//	curl -H 'Idempotency-Key: 1' -d '{"amount": 500}' localhost:8080/accounts/anna/deposit
//	curl localhost:8080/accounts/anna
//	curl localhost:8080/accounts/anna/movements
//	curl localhost:8080/metrics
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

	"github.com/dynajournal/dynajournal/embedded"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on this `address`")
	endpoint := flag.String("endpoint", os.Getenv("BANK_ENDPOINT"), "use the service at this `URL`, not DynamoDB itself")
	local := flag.String("local", "", "use no service, but the embedded engine in this `folder`")
	flag.Parse()
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	awsConfig, closeEngine, err := connect(ctx, *local, *endpoint)
	check(err)
	if *local+*endpoint != "" { // on AWS your infrastructure creates the tables
		check(createTables(ctx, awsConfig))
	}
	seen, err := observe(ctx)
	check(err)
	s, err := open(ctx, awsConfig, seen)
	check(err)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *addr)
	check(err)
	server := &http.Server{Handler: s.handler(), ReadTimeout: 10 * time.Second}
	go func() { check(server.Serve(listener)) }()
	log.Printf("listening on http://%s", listener.Addr())
	ended := make(chan error, 1)
	go func() {
		err := s.group.Run(ctx)
		check(err) // a process without its read model ends, so that it is noticed
		ended <- err
	}()

	<-ctx.Done()
	ending, cancel := context.WithTimeout(context.Background(), server.ReadTimeout)
	err = server.Shutdown(ending)
	select {
	case <-ended:
	case <-ending.Done():
	}
	err = errors.Join(err, s.close(ending), seen.close(ending), closeEngine())
	cancel()
	check(err)
}

// connect returns the configuration for DynamoDB on AWS, for another endpoint, or for an engine in
// a folder.
func connect(ctx context.Context, local, endpoint string) (aws.Config, func() error, error) {
	if local == "" {
		c, err := config.LoadDefaultConfig(ctx)
		if endpoint != "" {
			c.BaseEndpoint = &endpoint
		}
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
