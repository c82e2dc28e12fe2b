// Command outbox reports orders to another service over HTTP. The service fails at first. Then it
// refuses one message permanently, which becomes a dead letter and is sent again later.
//
//	go run ./examples/outbox
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/projection/outbox"
	"github.com/dynajournal/dynajournal/serialization"
)

// Placed is the event of an order.
type Placed struct {
	Article string
	Amount  int
}

// messages returns the message for an event.
func messages(ctx context.Context, event dynajournal.Event) ([]outbox.Message, error) {
	placed, err := dynajournal.Decode[Placed](ctx, event)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(placed)
	headers := map[string]string{"Content-Type": "application/json"}
	return []outbox.Message{{Topic: "orders", Headers: headers, Body: body}}, err
}

// warehouse is the other service. It remembers the keys of the messages that it has handled, so it
// handles no message twice. A real service must store the key and the effect of a message
// atomically.
type warehouse struct {
	mu sync.Mutex
	// open reports whether it takes orders for plums.
	open bool
	// busy is the number of requests that it answers with 503.
	busy  int
	done  map[string]bool
	taken chan Placed
}

func (s *warehouse) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var placed Placed
	if err := json.NewDecoder(r.Body).Decode(&placed); err != nil {
		http.Error(w, "no order", http.StatusBadRequest)
		return
	}
	switch key := r.Header.Get("Idempotency-Key"); {
	case s.busy > 0:
		s.busy--
		w.WriteHeader(http.StatusServiceUnavailable) // the message is sent again
	case placed.Article == "plums" && !s.open:
		http.Error(w, "no plums", http.StatusUnprocessableEntity) // becomes a dead letter
	case !s.done[key]:
		s.done[key] = true
		s.taken <- placed
	}
}

// letters returns the dead letters.
func letters(ctx context.Context, journal *dynajournal.Journal) (all []outbox.DeadLetter, err error) {
	for letter, err := range outbox.DeadLetters(ctx, journal, "shop/warehouse", operator.ScanOptions{}) {
		if err != nil {
			return nil, err
		}
		all = append(all, letter)
	}
	return all, nil
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	service := &warehouse{busy: 2, done: map[string]bool{}, taken: make(chan Placed, 10)}
	server := httptest.NewServer(service)

	engine, err := embedded.OpenMemory() // a DynamoDB in this process; on AWS, load an aws.Config
	check(err)
	events := serialization.NewRegistry()
	check(serialization.JSON[Placed](events, "placed"))
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: events}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{Projections: true, Stream: true}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	target, err := outbox.NewHTTPTarget(server.URL, outbox.HTTPOptions{Client: server.Client()})
	check(err)
	group, err := projection.New(journal, projection.Config{
		Name:         "shop",
		Source:       projection.Streams(dynamodbstreams.NewFromConfig(engine.AWSConfig()), projection.StreamsOptions{}),
		ClaimTimeout: time.Second, // requests are looked for six times in it
	}, outbox.New("warehouse", target, messages))
	check(err)
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()

	writer, err := journal.Recover(ctx, "order-1", dynajournal.RecoverOptions{}, nil)
	check(err)
	for _, placed := range []Placed{{"pears", 7}, {"plums", 12}, {"olives", 30}} {
		_, err = writer.Append(ctx, placed)
		check(err)
	}
	group.Trigger("order-1") // the stream would find them a moment later
	check(projection.WaitFor(ctx, journal, "shop/warehouse", "order-1", 3))
	fmt.Println("taken:", <-service.taken, <-service.taken)

	refused, err := letters(ctx, journal)
	check(err)
	for _, letter := range refused {
		fmt.Printf("refused: %s\n", letter.Message.Body)
		service.mu.Lock()
		service.open = true
		service.mu.Unlock()
		check(outbox.SendAgain(ctx, journal, "shop/warehouse", letter.Message.ID))
	}
	fmt.Println("taken:", <-service.taken)

	cancel()
	check(errors.Join(<-ended, journal.Close(), engine.Close()))
	server.Close()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
