// Command tags finds events by their tags, in an index that a projection maintains. A reader stores
// its offset, and continues there.
//
//	go run ./examples/tags
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/tags"
	"github.com/dynajournal/dynajournal/serialization"
)

// Sold is the event of a shop.
type Sold struct {
	Article string
	Amount  int
}

// shop has the journal of the shops and the index of its tags.
type shop struct {
	journal *dynajournal.Journal
	group   *projection.Group
	index   *tags.Index
}

// sell writes an event with tags, and waits until it is indexed.
func (s *shop) sell(ctx context.Context, id string, sold Sold, names ...string) error {
	writer, err := s.journal.Recover(ctx, id, dynajournal.RecoverOptions{}, nil)
	if err != nil {
		return err
	}
	written, err := writer.Append(ctx, dynajournal.NewEvent{Value: sold, Tags: names})
	if err != nil {
		return err
	}
	s.group.Trigger(id) // the stream would find it a moment later
	return projection.WaitFor(ctx, s.journal, "shops/tags", id, written.Last)
}

// show prints the events with a tag after a stored offset, and returns the offset to continue at.
func (s *shop) show(ctx context.Context, tag, stored string) (string, error) {
	from, err := tags.ParseOffset(stored)
	if err != nil {
		return "", err
	}
	for event, err := range s.index.CurrentEventsByTag(ctx, tag, from) {
		if err != nil {
			return stored, err
		}
		if err := printSold(ctx, tag, event); err != nil {
			return stored, err
		}
		stored = event.Offset.String()
	}
	return stored, nil
}

// follow prints the next count events with a tag after a stored offset. It waits for events that
// are not indexed yet.
func (s *shop) follow(ctx context.Context, tag, stored string, count int) error {
	from, err := tags.ParseOffset(stored)
	if err != nil {
		return err
	}
	for event, err := range s.index.EventsByTag(ctx, tag, from, dynajournal.Poll{}) {
		if err != nil {
			return err
		}
		if err := printSold(ctx, tag, event); err != nil {
			return err
		}
		if count--; count == 0 {
			break
		}
	}
	return nil
}

func printSold(ctx context.Context, tag string, event tags.Event) error {
	sold, err := dynajournal.Decode[Sold](ctx, event.Event)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s has sold %d %s\n", tag, event.PersistenceID, sold.Amount, sold.Article)
	return nil
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	engine, err := embedded.OpenMemory() // a DynamoDB in this process; on AWS, load an aws.Config
	check(err)
	events := serialization.NewRegistry()
	check(serialization.JSON[Sold](events, "sold"))
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: events}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{Projections: true, Stream: true}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	check(tags.Create(ctx, journal, "shop-tags", tags.IndexOptions{}))
	index, err := tags.Open(ctx, journal, "shop-tags")
	check(err)
	group, err := projection.New(journal, projection.Config{
		Name:   "shops",
		Source: projection.Streams(dynamodbstreams.NewFromConfig(engine.AWSConfig()), projection.StreamsOptions{}),
	}, index.Projection("tags"))
	check(err)
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()

	s := &shop{journal, group, index}
	check(s.sell(ctx, "corner", Sold{"pears", 7}, "fruit"))
	check(s.sell(ctx, "corner", Sold{"leeks", 2}, "vegetables"))
	check(s.sell(ctx, "corner", Sold{"olives", 30}, "fruit", "vegetables"))
	offset, err := s.show(ctx, "fruit", "")
	check(err)

	followed := make(chan error, 1)
	go func() { followed <- s.follow(ctx, "fruit", offset, 1) }()
	check(s.sell(ctx, "market", Sold{"plums", 12}, "fruit"))
	check(<-followed)
	_, err = s.show(ctx, "vegetables", "")
	check(err)

	cancel()
	check(errors.Join(<-ended, journal.Close(), engine.Close()))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
