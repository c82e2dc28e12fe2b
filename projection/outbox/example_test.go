package outbox_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"

	"github.com/dynajournal/dynajournal/projection/outbox"
)

// sqsInput has the fields of sqs.SendMessageInput that a FIFO queue needs.
type sqsInput struct{ MessageBody, MessageGroupID, MessageDeduplicationID string }

// sqsClient imitates a client of SQS in memory: it drops messages whose id it has received before.
type sqsClient struct{ known map[string]bool }

func (c *sqsClient) SendMessage(_ context.Context, in *sqsInput) error {
	if !c.known[in.MessageDeduplicationID] {
		c.known[in.MessageDeduplicationID] = true
		fmt.Println("queue:", in.MessageBody)
	}
	return nil
}

// natsMessage has the fields of nats.Msg that JetStream needs.
type natsMessage struct {
	Subject string
	Header  map[string]string
	Data    []byte
}

// natsClient imitates a client of JetStream in memory.
type natsClient struct{ known map[string]bool }

func (c *natsClient) PublishMsg(_ context.Context, m *natsMessage) error {
	if id := m.Header["Nats-Msg-Id"]; !c.known[id] {
		c.known[id] = true
		fmt.Printf("%s: %s\n", m.Subject, m.Data)
	}
	return nil
}

// A target is a function that sends a message with its id. SQS remembers the id of a message for
// five minutes, JetStream for the duplicate window of the stream.
func ExampleTargetFunc() {
	ctx := context.Background()
	queue := &sqsClient{map[string]bool{}}
	toSQS := outbox.TargetFunc(func(ctx context.Context, m outbox.Message) error {
		// A group id allows fewer characters than a persistence id.
		group := sha256.Sum256([]byte(m.PersistenceID))
		return queue.SendMessage(ctx, &sqsInput{
			MessageBody: string(m.Body), MessageGroupID: hex.EncodeToString(group[:]), MessageDeduplicationID: m.ID,
		})
	})
	stream := &natsClient{map[string]bool{}}
	toNATS := outbox.TargetFunc(func(ctx context.Context, m outbox.Message) error {
		header := map[string]string{}
		for name, value := range m.Headers {
			header[name] = url.PathEscape(value) // a line break would begin another header
		}
		header["Nats-Msg-Id"] = m.ID
		return stream.PublishMsg(ctx, &natsMessage{Subject: m.Topic, Header: header, Data: m.Body})
	})
	message := outbox.Message{
		ID: "0a1b", PersistenceID: "order-1", Topic: "orders", Headers: map[string]string{"by": "web"}, Body: []byte("placed"),
	}
	for range 2 { // as after a crash
		fmt.Println(toSQS.Send(ctx, message), toNATS.Send(ctx, message))
	}
	// Output:
	// queue: placed
	// orders: placed
	// <nil> <nil>
	// <nil> <nil>
}
