package provision_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/provision"
)

func TestProjectionsTable_CreatedIfSelected(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.create(native)
	name := provision.ProjectionsTable(events)
	if err := provision.CheckProjectionsTable(t.Context(), s.client, events); s.exists(name) || !errors.Is(err, dynamo.ErrTableNotFound) {
		t.Errorf("it was not asked for: %v", err)
	}
	for range 2 { // the second time it exists
		s.create(provision.Options{Projections: true, ReadUnits: 7, WriteUnits: 3})
		if err := provision.CheckProjectionsTable(t.Context(), s.client, events); err != nil {
			t.Error(err)
		}
	}
	d, err := s.journal.Describe(t.Context(), s.client, name)
	if err != nil || d.ReadUnits != 7 || d.WriteUnits != 3 {
		t.Errorf("it is %+v, %v", d, err)
	}
}

func TestProjectionsTable_OtherSchemaRefused(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ hash, rangeKey, kind string }{
		"another name":     {"id", "", "S"},
		"another type":     {"par", "", "N"},
		"a range key, too": {"par", "num", "S"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newTables(t)
			in := &dynamodb.CreateTableInput{
				TableName: aws.String(provision.ProjectionsTable(events)), BillingMode: types.BillingModePayPerRequest,
				KeySchema:            key(c.hash, c.rangeKey),
				AttributeDefinitions: []types.AttributeDefinition{attribute(c.hash, types.ScalarAttributeType(c.kind))},
			}
			if c.rangeKey != "" {
				in.AttributeDefinitions = append(in.AttributeDefinitions, attribute(c.rangeKey, "N"))
			}
			if _, err := s.direct.CreateTable(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			if err := s.journal.Create(t.Context(), s.client, provision.Options{Projections: true}); !errors.Is(err, provision.ErrTableSchema) {
				t.Errorf("Create: %v", err)
			}
		})
	}
}

func TestStream_EnabledOnceIfSelected(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.create(native)
	find := func() provision.Stream {
		t.Helper()
		found, err := provision.FindStream(t.Context(), s.client, events)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := find(); found.ARN != "" {
		t.Errorf("it was not asked for: %+v", found)
	}
	s.create(provision.Options{Stream: true})
	first := find()
	s.create(provision.Options{Stream: true})
	if again := find(); first.ARN == "" || again != first || again.Replicas != 0 {
		t.Errorf("it is %+v, and then %+v", first, again)
	}
	d, err := s.journal.Describe(t.Context(), s.client, events)
	if err != nil || d.Stream != "NEW_IMAGE" {
		t.Errorf("the table is %+v, %v", d, err)
	}
	if _, err := provision.FindStream(t.Context(), s.client, "none"); !errors.Is(err, dynamo.ErrTableNotFound) {
		t.Errorf("the stream of no table: %v", err)
	}
}
