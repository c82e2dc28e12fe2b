package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// jvmTables creates the tables as JVM users do: without a header, expiry and indexes.
func jvmTables(t *testing.T) {
	t.Helper()
	touch(t, func(c *dynamodb.Client) error {
		for table, rangeKey := range map[string]string{
			"pekko-persistence": "num", "pekko-persistence-snapshot": "seq",
		} {
			_, err := c.CreateTable(t.Context(), &dynamodb.CreateTableInput{
				TableName:   &table,
				BillingMode: types.BillingModePayPerRequest,
				KeySchema: []types.KeySchemaElement{
					{AttributeName: aws.String("par"), KeyType: types.KeyTypeHash},
					{AttributeName: &rangeKey, KeyType: types.KeyTypeRange},
				},
				AttributeDefinitions: []types.AttributeDefinition{
					{AttributeName: aws.String("par"), AttributeType: types.ScalarAttributeTypeS},
					{AttributeName: &rangeKey, AttributeType: types.ScalarAttributeTypeN},
				},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func TestTablesCreateReportsWhatItHasWritten(t *testing.T) {
	clean(t)
	jvm := func(name string, shards any) map[string]any {
		must := map[string]any{
			"dynamodb-journal.journal-table":                   "pekko-persistence",
			"dynamodb-journal.journal-name":                    name,
			"dynamodb-snapshot-store.snapshot-table":           "pekko-persistence-snapshot",
			"dynamodb-read-journal.persistence-ids-index-name": "persistence-ids-idx",
		}
		if shards != nil {
			must["dynamodb-journal.sequence-shards"] = shards
		}
		return must
	}
	for _, c := range []struct {
		args    string
		created bool
		header  string
		detail  string
		shards  float64
		jvm     map[string]any
	}{
		{"--shared-with-jvm", true, "written", "it says shared, 10 shards", 10, jvm("journal", 10.0)},
		{"--shared-with-jvm", false, "exists", "it existed before; it says shared, 10 shards", 10,
			jvm("journal", 10.0)},
		{"--shared-with-jvm --journal-name b", false, "none", "--sequence-shards", 0, jvm("b", nil)},
		{"--shared-with-jvm --journal-name b --sequence-shards 7", false, "written",
			"it says shared, 7 shards", 7, jvm("b", 7.0)},
		{"--shared-with-jvm --journal-name b", false, "exists", "7 shards", 7, jvm("b", 7.0)},
	} {
		got := must(t, append([]string{"tables", "create"}, strings.Fields(c.args)...)...)
		journal, snapshots := got[0], got[1]
		detail, _ := journal["header_detail"].(string)
		if journal["created"] != c.created || snapshots["created"] != c.created ||
			journal["header"] != c.header || !strings.Contains(detail, c.detail) ||
			journal["shards"] != c.shards || !reflect.DeepEqual(journal["jvm_config"], any(c.jvm)) {
			t.Errorf("tables create %s: %v", c.args, got)
		}
		if journal["notes"] != nil || snapshots["notes"] != nil || snapshots["jvm_config"] != nil ||
			snapshots["header"] != nil {
			t.Errorf("tables create %s: %v", c.args, got)
		}
	}
}

func TestTablesCreateNamesWhatTablesOfAJVMLack(t *testing.T) {
	clean(t)
	jvmTables(t)
	o := invoke(t.Context(), "", "--output", "text", "tables", "create", "--shared-with-jvm")
	for _, part := range []string{
		"\n  existed before\n",
		"\n  note: there is no index persistence-ids-idx: to list persistence ids, add it",
		"\n  header of journal journal: none: the table existed before",
		"\n    dynamodb-journal.journal-name = \"journal\"\n",
		"\n  note: there is no index ts-idx: name another snapshot table",
	} {
		if !strings.Contains(o.out, part) {
			t.Errorf("it does not say %q:\n%s", part, o.out)
		}
	}
	if o.status != statusDone || strings.Contains(o.out, "sequence-shards = ") {
		t.Errorf("%+v", o)
	}
}

func TestTablesCreateOfANativeJournalNamesNothingOfAJVM(t *testing.T) {
	clean(t)
	for _, header := range []string{"written", "exists"} {
		got := must(t, "tables", "create")[0]
		if got["header"] != header || got["jvm_config"] != nil || got["notes"] != nil {
			t.Errorf("%v", got)
		}
	}
}

func TestTablesUpdateAddsWhatProjectionsNeed(t *testing.T) {
	clean(t)
	must(t, "tables", "create")
	o := invoke(t.Context(), "", "tables", "update", "--stream", "--projections", "--output", "text")
	for _, part := range []string{
		"pekko-persistence: added a stream of new images; it costs writers nothing",
		"pekko-persistence-projections: added the table of projections; it costs nothing until",
	} {
		if !strings.Contains(o.err, part) {
			t.Errorf("it does not say %q: %s", part, o.err)
		}
	}
	if o.status != statusDone || !strings.Contains(o.out, "stream of NEW_IMAGE") ||
		!strings.Contains(o.out, "\npekko-persistence-projections: ACTIVE, key par (S)") {
		t.Errorf("%+v", o)
	}
	if again := invoke(t.Context(), "", "tables", "update", "--stream", "--projections"); again.err != "nothing was missing\n" {
		t.Errorf("%+v", again)
	}
}

func TestTablesCreateNamesTheTablesThatItWaitsFor(t *testing.T) {
	tables := described()
	if got := beingDeleted(tables); got != nil {
		t.Errorf("got %q of active tables", got)
	}
	tables[1].Status = "DELETING"
	if got := beingDeleted(tables); !slices.Equal(got, []string{"pekko-persistence-snapshot"}) {
		t.Errorf("got %q", got)
	}
}
