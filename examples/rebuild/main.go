// Command rebuild replaces a read model by a new version while writers write. A projection with a
// new name builds the new version, while the old one continues. When the new version has caught up,
// readers are switched over, and the old version is removed.
//
//	go run ./examples/rebuild
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/serialization"
)

// Changed is the event of an account.
type Changed struct{ By int }

var accounts = []string{"anna", "bob", "carl"}

func main() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory() // a DynamoDB in this process; on AWS, load an aws.Config
	check(err)
	events := serialization.NewRegistry()
	check(serialization.JSON[Changed](events, "changed"))
	config := dynajournal.Config{AWS: engine.AWSConfig(), Serialization: events}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{Projections: true, Stream: true}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	s := &service{journal, config}
	stopWriting := s.write(ctx)

	v1, v2 := newModel(config, "balances-v1"), newModel(config, "balances-v2")
	check(v1.create(ctx))
	stop := s.deploy(ctx, v1)
	check(s.caughtUp(ctx, "bank/balances-v1"))
	fmt.Println("version 1 is read")

	stop()
	check(v2.create(ctx))
	stop = s.deploy(ctx, v1, v2)
	check(s.caughtUp(ctx, "bank/balances-v2"))
	fmt.Println("version 2 has caught up, and is read")

	stop()
	stop = s.deploy(ctx, v2)
	_, err = operator.New(journal, "bank/balances-v1").Remove(ctx, operator.RemoveOptions{})
	check(errors.Join(err, v1.drop(ctx)))
	left, err := operator.List(ctx, journal)
	check(err)
	for _, info := range left {
		fmt.Println(info.Projection, "is left")
	}

	for account, written := range stopWriting() {
		check(projection.WaitFor(ctx, journal, "bank/balances-v2", account, int64(written)))
		balance, changes, err := v2.read(ctx, account)
		check(err)
		if balance != written || changes != written {
			fmt.Printf("%s has %d in %d changes, but should have %d\n", account, balance, changes, written)
		}
	}
	fmt.Println("it has each event once")
	stop()
	check(errors.Join(journal.Close(), engine.Close()))
}

// service has the journal of a process and its configuration.
type service struct {
	journal *dynajournal.Journal
	config  dynajournal.Config
}

// deploy runs a group with the projections of read models, as the processes of a deployment do,
// until stop is called.
func (s *service) deploy(ctx context.Context, models ...*model) (stop func()) {
	var projections []projection.Projection
	for _, m := range models {
		projections = append(projections, projection.Transactional(m.table, m))
	}
	client := dynamodbstreams.NewFromConfig(s.config.AWS)
	group, err := projection.New(s.journal, projection.Config{
		Name:   "bank",
		Source: projection.Streams(client, projection.StreamsOptions{}),
	}, projections...)
	check(err)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()
	return func() {
		cancel()
		check(<-ended)
	}
}

// near is the maximum lag of a read model when readers are switched over to it.
const near = time.Second

// caughtUp waits until a projection is nearly up to date: while writers write there is always an
// event that is not handled.
func (s *service) caughtUp(ctx context.Context, name string) error {
	for {
		backlog, err := operator.New(s.journal, name).MeasureLag(ctx, operator.AuditOptions{PerSecond: -1})
		switch {
		case errors.Is(err, projection.ErrNoProjection): // its processes are just starting
		case err != nil:
			return err
		case backlog[0].Stuck > 0:
			return fmt.Errorf("%s: %d persistence ids are stuck", name, backlog[0].Stuck)
		case backlog[0].Oldest < near:
			return nil
		}
		time.Sleep(near / 10)
	}
}

// write changes all accounts again and again. stop stops that, and returns the number of events of
// each account.
func (s *service) write(ctx context.Context) (stop func() map[string]int) {
	ctx, cancel := context.WithCancel(ctx)
	var writing sync.WaitGroup
	written := make([]int, len(accounts))
	for i, account := range accounts {
		writer, err := s.journal.Recover(ctx, account, dynajournal.RecoverOptions{}, nil)
		check(err)
		writing.Go(func() {
			const pause = 5 * time.Millisecond
			for ; ctx.Err() == nil; time.Sleep(pause) {
				_, err := writer.Append(context.WithoutCancel(ctx), Changed{By: 1})
				check(err)
				written[i]++
			}
		})
	}
	return func() map[string]int {
		cancel()
		writing.Wait()
		all := map[string]int{}
		for i, account := range accounts {
			all[account] = written[i]
		}
		return all
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
