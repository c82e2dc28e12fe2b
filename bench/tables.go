package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// tables are the tables of a run: the tables of a native journal, and one for the bare SDK, with
// the same key and without an index.
type tables struct {
	config dynajournal.Config
	// bare is the name of the table for the bare SDK.
	bare string
	keys layout.Keys
}

const (
	// tablePrefix is the prefix of the names of all tables of a run. It is followed by a random
	// UUID.
	tablePrefix = "dynajournal-bench-"
	// tableTimeout limits the time to create a table, and the time to delete all tables at the end.
	tableTimeout = 5 * time.Minute
	nativeShards = 1
)

func newTables(config dynajournal.Config) *tables {
	name := tablePrefix + uuid.NewString()
	config.JournalTable, config.SnapshotTable, config.SequenceShards = name, name+"-snapshot", nativeShards
	if config.JournalName == "" {
		config.JournalName = dynajournal.DefaultJournalName
	}
	return &tables{config: config, bare: name + "-bare",
		keys: layout.Keys{Journal: config.JournalName, Shards: nativeShards}}
}

// open creates the tables and opens the journals.
func (s *session) open(ctx context.Context) error {
	s.tables = newTables(s.options.Config)
	s.tables.config.Hooks = append(s.tables.config.Hooks, dynajournal.Hook{OnRequest: s.measured.OnRequest})
	s.bare = bareClient(s.tables.config)
	if err := dynajournal.CreateTables(ctx, s.tables.config, dynajournal.TableOptions{}); err != nil {
		return err
	}
	if err := createTable(ctx, s.bare, s.tables.bare); err != nil {
		return err
	}
	var err error
	if s.journal, err = dynajournal.Open(ctx, s.tables.config); err != nil {
		return err
	}
	ungrouped := s.tables.config
	ungrouped.GroupCommit = dynajournal.GroupCommitOff
	s.ungrouped, err = dynajournal.Open(ctx, ungrouped)
	return err
}

// close closes the journals and deletes the tables, even if ctx has ended.
func (s *session) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tableTimeout)
	defer cancel()
	var all []error
	for _, j := range []*dynajournal.Journal{s.journal, s.ungrouped} {
		if j != nil {
			all = append(all, j.Close())
		}
	}
	if s.tables != nil {
		_, err := dynajournal.DeleteTables(ctx, s.tables.config)
		all = append(all, err, s.deleteBareTable(ctx))
	}
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("delete the tables %s*: %w", s.tables.config.JournalTable, err)
	}
	return nil
}

// createTable creates a table with the key of a journal and no index.
func createTable(ctx context.Context, client *dynamodb.Client, name string) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(layout.AttrPar), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(layout.AttrNum), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(layout.AttrPar), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(layout.AttrNum), AttributeType: types.ScalarAttributeTypeN},
		},
	})
	if err == nil {
		err = dynamodb.NewTableExistsWaiter(client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name},
			tableTimeout)
	}
	if err != nil {
		return fmt.Errorf("create table %q: %w", name, err)
	}
	return nil
}

func (s *session) deleteBareTable(ctx context.Context) error {
	_, err := s.bare.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &s.tables.bare})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); err == nil || missing {
		return nil
	}
	return fmt.Errorf("delete table %q: %w", s.tables.bare, err)
}
