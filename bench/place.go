package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// place has the tables of a run: those of a native journal, and one for the bare SDK that has the key of the journal's, and no
// index.
type place struct {
	config dynajournal.Config
	bare   string
	keys   layout.Keys
}

const (
	// tablePrefix begins the names of all tables that are made. What follows is drawn by lot.
	tablePrefix = "dynajournal-bench-"
	// tablePatience bounds the waiting for a table to be made, and the deletion of all of them at the end.
	tablePatience = 5 * time.Minute
	nativeShards  = 1
)

func newPlace(config dynajournal.Config) *place {
	name := tablePrefix + uuid.NewString()
	config.JournalTable, config.SnapshotTable, config.SequenceShards = name, name+"-snapshot", nativeShards
	if config.JournalName == "" {
		config.JournalName = dynajournal.DefaultJournalName
	}
	return &place{config: config, bare: name + "-bare", keys: layout.Keys{Journal: config.JournalName, Shards: nativeShards}}
}

// open makes the tables and opens the journal.
func (s *session) open(ctx context.Context) error {
	s.place = newPlace(s.options.Config)
	s.place.config.Hooks = append(s.place.config.Hooks, dynajournal.Hook{OnRequest: s.measured.OnRequest})
	s.bare = bareClient(s.place.config)
	if err := dynajournal.CreateTables(ctx, s.place.config, dynajournal.TableOptions{}); err != nil {
		return err
	}
	if err := createTable(ctx, s.bare, s.place.bare); err != nil {
		return err
	}
	var err error
	if s.journal, err = dynajournal.Open(ctx, s.place.config); err != nil {
		return err
	}
	ungrouped := s.place.config
	ungrouped.GroupCommit = dynajournal.GroupCommitOff
	s.ungrouped, err = dynajournal.Open(ctx, ungrouped)
	return err
}

// close closes the journal, and deletes the tables, also when ctx has ended.
func (s *session) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tablePatience)
	defer cancel()
	var all []error
	for _, j := range []*dynajournal.Journal{s.journal, s.ungrouped} {
		if j != nil {
			all = append(all, j.Close())
		}
	}
	if s.place != nil {
		_, err := dynajournal.DeleteTables(ctx, s.place.config)
		all = append(all, err, s.deleteBareTable(ctx))
	}
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("delete the tables %s*: %w", s.place.config.JournalTable, err)
	}
	return nil
}

// bareClient is the SDK as it is, but for two things that would make the base slow, and a ratio to it look good: it keeps a
// connection for each caller, and no connection is lost to a body that was closed early.
func bareClient(config dynajournal.Config) *dynamodb.Client {
	return dynamodb.NewFromConfig(config.AWS, func(o *dynamodb.Options) {
		if config.Endpoint != "" {
			o.BaseEndpoint = &config.Endpoint
		}
		if o.Region == "" {
			o.Region = "us-east-1" // as the journal has it where there is none
		}
		if config.AccessKeyID != "" && config.SecretAccessKey != "" {
			given := aws.Credentials{AccessKeyID: config.AccessKeyID, SecretAccessKey: config.SecretAccessKey}
			o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return given, nil })
		}
		if config.AWS.HTTPClient == nil {
			o.HTTPClient = plainBodies{awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
				t.MaxIdleConns, t.MaxIdleConnsPerHost = mostCallers, mostCallers
			})}
		}
	})
}

// plainBodies hides the WriteTo of request bodies from the transport. The SDK closes a body as soon as the head of the answer is
// there, and the transport takes WriteTo of a closed body for one that was cut short: with answers as fast as those over
// loopback it closes connections under their answers, and the SDK tries again after a pause of up to seconds.
type plainBodies struct{ inner aws.HTTPClient }

// Do sends a request.
func (p plainBodies) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return p.inner.Do(r)
}

// createTable makes a table with the key of a journal and no index.
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
		err = dynamodb.NewTableExistsWaiter(client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, tablePatience)
	}
	if err != nil {
		return fmt.Errorf("create table %q: %w", name, err)
	}
	return nil
}

func (s *session) deleteBareTable(ctx context.Context) error {
	_, err := s.bare.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &s.place.bare})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); err == nil || missing {
		return nil
	}
	return fmt.Errorf("delete table %q: %w", s.place.bare, err)
}

// requestCount counts what a journal asks for, as a hook of it.
type requestCount struct {
	requests, reads, writes atomic.Int64 // units in halves, the smallest there are
}

// OnRequest counts a request.
func (c *requestCount) OnRequest(_ context.Context, r dynajournal.Request) {
	c.requests.Add(1)
	c.reads.Add(int64(r.Cost.ReadUnits * 2))
	c.writes.Add(int64(r.Cost.WriteUnits * 2))
}

// cost is what was counted up to now.
func (c *requestCount) cost() dynajournal.Cost {
	return dynajournal.Cost{Requests: int(c.requests.Load()), ReadUnits: float64(c.reads.Load()) / 2, WriteUnits: float64(c.writes.Load()) / 2}
}
