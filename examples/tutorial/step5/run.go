package step5

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/examples/tutorial/step1"
	"github.com/dynajournal/dynajournal/examples/tutorial/step3"
	"github.com/dynajournal/dynajournal/examples/tutorial/step4"
	"github.com/dynajournal/dynajournal/projection"
)

// NewGroup returns the group with the only projection: the balances.
func NewGroup(journal *dynajournal.Journal, awsConfig aws.Config, balances *Balances) (*projection.Group, error) {
	return projection.New(journal, projection.Config{
		Name:   "bank",
		Source: projection.Streams(dynamodbstreams.NewFromConfig(awsConfig), projection.StreamsOptions{}),
	}, projection.Transactional("balances", balances, projection.OnlyIDs(idPrefix)))
}

// CreateTables creates the tables of the journal, of the projections and of the balances, and the
// stream of the journal. Tables that exist already stay unchanged.
func CreateTables(ctx context.Context, config dynajournal.Config, balances *Balances) error {
	options := dynajournal.TableOptions{Projections: true, Stream: true}
	if err := dynajournal.CreateTables(ctx, config, options); err != nil {
		return err
	}
	return balances.Create(ctx)
}

// Run serves accounts and their balances, with the data in a folder, until ctx ends.
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
	balances := &Balances{dynamodb.NewFromConfig(config.AWS)}
	if err := CreateTables(ctx, config, balances); err != nil {
		return err
	}
	journal, err := dynajournal.Open(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	accounts, err := entity.Open(journal, step4.AccountType(), step4.Options())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, accounts.Close(context.WithoutCancel(ctx))) }()
	group, err := NewGroup(journal, config.AWS, balances)
	if err != nil {
		return err
	}
	running, ctx := errgroup.WithContext(ctx) // if one fails, the other stops
	running.Go(func() error { return group.Run(ctx) })
	running.Go(func() error { return step3.Serve(ctx, addr, NewHandler(journal, accounts, group, balances)) })
	return running.Wait()
}
