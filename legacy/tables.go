package legacy

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// schema is the key of a table: names and types of the hash key and, if it has one, the range key.
type schema struct {
	hash, rng         string
	hashType, rngType types.ScalarAttributeType
}

// schemas contains the schema of each layout, including the current layout, by its name in the
// command.
var schemas = []struct {
	layout string
	schema schema
}{
	{"current", schema{layout.AttrPar, layout.AttrNum, types.ScalarAttributeTypeS, types.ScalarAttributeTypeN}},
	{HashKey.String(), schema{hash: attrKey, hashType: types.ScalarAttributeTypeS}},
	{HashKeyUnprefixed.String(), schema{hash: attrKey, hashType: types.ScalarAttributeTypeS}},
	{Naive.String(), schema{attrPersistenceID, attrSequence, types.ScalarAttributeTypeS, types.ScalarAttributeTypeN}},
	{NaiveProcessor.String(), schema{attrProcessorID, attrSequence, types.ScalarAttributeTypeS,
		types.ScalarAttributeTypeN}},
}

func (l Layout) schema() schema {
	for _, s := range schemas {
		if s.layout == l.String() {
			return s.schema
		}
	}
	return schema{}
}

func (s schema) String() string {
	text := fmt.Sprintf("hash key %s (%s)", s.hash, s.hashType)
	if s.rng != "" {
		text += fmt.Sprintf(" and range key %s (%s)", s.rng, s.rngType)
	}
	return text
}

// schemaOf returns the key of a table.
func schemaOf(t *types.TableDescription) schema {
	var s schema
	kinds := map[string]types.ScalarAttributeType{}
	for _, d := range t.AttributeDefinitions {
		kinds[aws.ToString(d.AttributeName)] = d.AttributeType
	}
	for _, k := range t.KeySchema {
		if name := aws.ToString(k.AttributeName); k.KeyType == types.KeyTypeHash {
			s.hash, s.hashType = name, kinds[name]
		} else {
			s.rng, s.rngType = name, kinds[name]
		}
	}
	return s
}

// checkTable checks that the table has the key of the layout. The error names the layouts that have
// the key of the table.
func (c *Config) checkTable(ctx context.Context, client *dynamo.Client) error {
	table, err := client.DescribeTable(ctx, c.Journal.JournalTable)
	if err != nil {
		return err
	}
	return c.checkSchema(table)
}

// checkSchema is checkTable for the description of the table.
func (c *Config) checkSchema(table *types.TableDescription) error {
	want, got := c.Layout.schema(), schemaOf(table)
	if got == want {
		return nil
	}
	var matching []string
	for _, s := range schemas {
		if s.schema == got {
			matching = append(matching, "--layout "+s.layout)
		}
	}
	hint := "it does not look like a journal"
	if len(matching) > 0 {
		hint = "it looks like " + strings.Join(matching, " or ")
	}
	return fmt.Errorf("%w: the layout %s needs %s, the table has %s: %s", dynajournal.ErrTableSchema, c.Layout,
		want, got, hint)
}

// CreateTable makes the table of a journal, billed on demand, and waits until it can be used. It
// leaves an existing table as it is.
//
// Errors: [dynajournal.ErrInvalidArgument], ErrTableSchema (the table exists and has another key),
// and request errors.
func CreateTable(ctx context.Context, config Config) error {
	config, client, err := config.connect()
	if err != nil {
		return err
	}
	defer client.Close()
	s := config.Layout.schema()
	in := &dynamodb.CreateTableInput{
		TableName:            &config.Journal.JournalTable,
		KeySchema:            []types.KeySchemaElement{{AttributeName: &s.hash, KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &s.hash, AttributeType: s.hashType}},
		BillingMode:          types.BillingModePayPerRequest,
	}
	if s.rng != "" {
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: &s.rng, KeyType: types.KeyTypeRange})
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: &s.rng, AttributeType: s.rngType})
	}
	_, table, err := client.CreateTable(ctx, in)
	if err == nil {
		err = config.checkSchema(table)
	}
	if err != nil {
		return fmt.Errorf("create the table %q of a %s journal: %w", config.Journal.JournalTable, config.Layout,
			client.Mark(err))
	}
	return nil
}

// DeleteTable deletes the table of a journal with all its items. It does not delete a table with
// the key of another layout: [dynajournal.ErrTableSchema]. A missing table is
// [dynajournal.ErrTableNotFound].
func DeleteTable(ctx context.Context, config Config) error {
	config, client, err := config.connect()
	if err != nil {
		return err
	}
	defer client.Close()
	if err = config.checkTable(ctx, client); err == nil {
		err = client.DeleteTable(ctx, config.Journal.JournalTable)
	}
	if err != nil {
		return fmt.Errorf("delete the table %q of a %s journal: %w", config.Journal.JournalTable, config.Layout,
			client.Mark(err))
	}
	return nil
}
