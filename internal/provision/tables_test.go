package provision_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/provision"
)

const (
	events    = "events"
	snapshots = "snapshots"
)

var (
	native = provision.Options{}
	shared = provision.Options{SharedWithJVM: true}
)

// tables is an engine with a client whose requests a test can observe and deny.
type tables struct {
	*testing.T

	journal *provision.Journal
	client  *dynamo.Client
	direct  *dynamodb.Client // bypasses client
	send    func(*http.Request) (*http.Response, error)
	// before is called with the operation of each request. If it returns false, the request is
	// denied.
	before func(operation string) bool
}

func newTables(t *testing.T) *tables {
	t.Helper()
	engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	config := engine.AWSConfig()
	s := &tables{
		T:       t,
		journal: &provision.Journal{Name: "journal", Table: events, SnapshotTable: snapshots, IDsIndex: layout.SharedIDsIndex},
		direct:  dynamodb.NewFromConfig(config),
		send:    config.HTTPClient.Do,
		before:  func(string) bool { return true },
	}
	config.HTTPClient = &http.Client{Transport: s}
	s.client, err = dynamo.New(dynamo.Options{
		AWS: config, MaxInFlight: 10, BackoffBase: time.Millisecond, BackoffCap: time.Millisecond,
		AttemptTimeout: time.Minute, OperationTimeout: time.Minute, MaxBatchGet: 100, MaxBatchWrite: 25,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.client.Close()
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// RoundTrip sends a request, or denies it like a policy.
func (s *tables) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !s.before(operation) {
		// the body must be read; the answer is replaced
		r.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
		response, err := s.send(r)
		if err != nil {
			return nil, err
		}
		return denied(response), nil
	}
	return s.send(r)
}

// create makes the journal's tables.
func (s *tables) create(opts provision.Options) {
	s.Helper()
	if err := s.journal.Create(s.Context(), s.client, opts); err != nil {
		s.Fatal(err)
	}
}

// table creates a table with the direct client. Defaults are hash key par and a range key.
func (s *tables) table(in *dynamodb.CreateTableInput) {
	s.Helper()
	in.BillingMode = types.BillingModePayPerRequest
	if in.TableName == nil {
		in.TableName = aws.String(events)
	}
	if in.KeySchema == nil {
		in.KeySchema = key("par", "num")
	}
	in.AttributeDefinitions = append(in.AttributeDefinitions, attribute("par", "S"), attribute("num", "N"))
	if _, err := s.direct.CreateTable(s.Context(), in); err != nil {
		s.Fatal(err)
	}
}

func key(hash, rangeKey string) []types.KeySchemaElement {
	schema := []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}}
	if rangeKey != "" {
		schema = append(schema, types.KeySchemaElement{AttributeName: &rangeKey, KeyType: types.KeyTypeRange})
	}
	return schema
}

func attribute(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
}

// index is a global index of keys.
func index(name, hash, rangeKey string) types.GlobalSecondaryIndex {
	return types.GlobalSecondaryIndex{
		IndexName: &name, KeySchema: key(hash, rangeKey), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
	}
}

// header returns the stored header of the journal, or nil.
func (s *tables) header() map[string]types.AttributeValue {
	s.Helper()
	out, err := s.direct.GetItem(s.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(events), Key: layout.Keys{Journal: s.journal.Name}.Header().Attributes(), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		s.Fatal(err)
	}
	return out.Item
}

// putHeader stores a header with the direct client.
func (s *tables) putHeader(change func(map[string]types.AttributeValue)) {
	s.Helper()
	item := layout.Keys{Journal: s.journal.Name}.EncodeHeader(layout.Header{
		Kind: layout.KindNative, Shards: 1, IDsShards: 8, Version: layout.NativeVersion, FenceWindow: 7200,
	})
	if change != nil {
		change(item)
	}
	if _, err := s.direct.PutItem(s.Context(), &dynamodb.PutItemInput{TableName: aws.String(events), Item: item}); err != nil {
		s.Fatal(err)
	}
}

// exists reports whether a table exists.
func (s *tables) exists(name string) bool {
	s.Helper()
	out, err := s.direct.ListTables(s.Context(), &dynamodb.ListTablesInput{})
	if err != nil {
		s.Fatal(err)
	}
	return slices.Contains(out.TableNames, name)
}
