package main

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"go.opentelemetry.io/otel/metric"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/telemetry"
)

// service has the parts of a process of the bank.
type service struct {
	journal   *dynajournal.Journal
	accounts  *entity.Entities[Account, Event]
	movements *movements
	group     *projection.Group
	seen      *observer
	metrics   metric.Registration
}

// createTables creates the tables of the bank, unless they exist.
func createTables(ctx context.Context, c aws.Config) error {
	options := dynajournal.TableOptions{Projections: true, Stream: true}
	return errors.Join(
		dynajournal.CreateTables(ctx, dynajournal.Config{AWS: c}, options),
		createMovements(ctx, dynamodb.NewFromConfig(c)),
	)
}

// open opens the service. The caller runs its group.
func open(ctx context.Context, c aws.Config, seen *observer) (*service, error) {
	events, err := registry()
	if err != nil {
		return nil, err
	}
	s := &service{seen: seen, movements: &movements{dynamodb.NewFromConfig(c), seen}}
	s.journal, err = dynajournal.Open(ctx, dynajournal.Config{
		AWS: c, Serialization: events, Hooks: []dynajournal.Hook{seen.JournalHook()},
	})
	if err != nil {
		return nil, err
	}
	s.accounts, err = entity.Open(s.journal, accountType, entity.Options{
		Metadata: seen.Metadata, Hooks: []entity.Hook{seen.EntityHook()},
	})
	if err != nil {
		return nil, errors.Join(err, s.journal.Close())
	}
	s.group, err = projection.New(s.journal, projection.Config{
		Name: "bank", Hooks: []projection.Hook{seen.ProjectionHook()},
		Source: projection.Streams(dynamodbstreams.NewFromConfig(c), projection.StreamsOptions{}),
	}, projection.AtLeastOnce("movements", s.movements))
	if err == nil {
		s.metrics, err = seen.Observe(s.journal, telemetry.Observed{
			Groups:   []*projection.Group{s.group},
			Entities: map[string]func() entity.Stats{accountType.Name: s.accounts.Stats},
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.accounts.Close(ctx), s.journal.Close())
	}
	return s, nil
}

// close closes the service after its server and its group have ended.
func (s *service) close(ctx context.Context) error {
	return errors.Join(s.metrics.Unregister(), s.accounts.Close(ctx), s.journal.Close())
}
