// Command orders serves orders over HTTP. It stores them as events in DynamoDB. Region and
// credentials come from where the AWS SDK finds them.
package main

import (
	"context"
	"errors"
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
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/serialization"
)

// Order is the state of an order.
type Order struct{ Placed, Shipped bool }

// Event is an event of an order.
type Event struct{ Kind string }

var orderType = entity.Type[Order, Event]{
	Name: "order",
	Evolve: func(o Order, e Event) Order {
		return Order{o.Placed || e.Kind == "placed", o.Shipped || e.Kind == "shipped"}
	},
	Snapshots: entity.Snapshots{Every: 100},
}

var errRefused = errors.New("the order can't be placed twice, or shipped before it is placed")

// change is a command: an order is placed once, and shipped once after that.
func change(kind string) func(*entity.Tx[Order, Event]) (Order, error) {
	return func(tx *entity.Tx[Order, Event]) (Order, error) {
		o := tx.State()
		if kind == "placed" && o.Placed || kind == "shipped" && (!o.Placed || o.Shipped) {
			return o, errRefused // nothing is written
		}
		tx.Record(Event{kind})
		return tx.State(), nil
	}
}

func main() {
	// ECS, Kubernetes and systemd send SIGTERM before they kill a process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	awsConfig, err := config.LoadDefaultConfig(ctx)
	if err == nil {
		err = run(ctx, awsConfig, ":8080")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run serves requests until ctx ends. Then it answers the requests in flight, and closes the
// journal.
func run(ctx context.Context, awsConfig aws.Config, address string) error {
	registry := serialization.NewRegistry()
	if err := errors.Join(
		serialization.JSON[Event](registry, "order-event"),
		serialization.JSON[Order](registry, "order"),
	); err != nil {
		return err
	}
	journal, err := dynajournal.Open(ctx, dynajournal.Config{AWS: awsConfig, Serialization: registry})
	if err != nil {
		return err
	}
	defer journal.Close() // closing it twice is not an error
	orders, err := entity.Open(journal, orderType, entity.Options{})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	log.Printf("listening on http://%s", listener.Addr())
	server := &http.Server{Handler: newHandler(orders), ReadTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(ending), orders.Close(ending), journal.Close())
}

// newHandler returns the service: POST /orders/{id}/placed and POST /orders/{id}/shipped. A client
// that gets 503 or no response sends the request again with the same key.
func newHandler(orders *entity.Entities[Order, Event]) http.Handler {
	mux := http.NewServeMux()
	for _, kind := range []string{"placed", "shipped"} {
		mux.HandleFunc("POST /orders/{id}/"+kind, func(w http.ResponseWriter, r *http.Request) {
			key := r.Header.Get("Idempotency-Key")
			if key == "" {
				http.Error(w, "an Idempotency-Key is required", http.StatusBadRequest)
				return
			}
			_, err := entity.Do(r.Context(), orders, r.PathValue("id"), change(kind), entity.CommandID(key))
			switch {
			case err == nil, errors.Is(err, entity.ErrDuplicate):
				w.WriteHeader(http.StatusNoContent) // the event is stored
			case errors.Is(err, dynajournal.ErrOutcomeUnknown):
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
			case errors.Is(err, errRefused):
				http.Error(w, err.Error(), http.StatusConflict)
			case errors.Is(err, dynajournal.ErrInvalidArgument):
				http.Error(w, err.Error(), http.StatusBadRequest)
			case errors.Is(err, entity.ErrPanic), errors.Is(err, dynajournal.ErrRejected), errors.Is(err, dynajournal.ErrDenied):
				// A retry would fail again.
				http.Error(w, err.Error(), http.StatusInternalServerError)
			default: // throttled or unavailable
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
			}
		})
	}
	return mux
}
