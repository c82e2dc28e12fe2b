package systemtest

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
)

// Open warns once of the guarantees that do not hold in several Regions, and sends no request for
// it.
func TestOpenWarnsOfReplicas(t *testing.T) {
	t.Parallel()
	native := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createTables(t, native, kinds["native"])
	strong := dynajournal.Config{AWS: openEngine(t).AWSConfig(), SequenceShards: 1}
	if _, err := dynamodb.NewFromConfig(strong.AWS).CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(dynajournal.DefaultJournalTable), BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("par"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("num"), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("par"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("num"), AttributeType: types.ScalarAttributeTypeN},
		},
	}); err != nil {
		t.Fatal(err)
	}
	for consistency, c := range map[types.MultiRegionConsistency]struct {
		config dynajournal.Config
		lacks  []string
	}{
		types.MultiRegionConsistencyEventual: {native, []string{"two Regions can both write a sequence number"}},
		types.MultiRegionConsistencyStrong:   {strong, []string{"no time to live", "no transactions", "no local indexes"}},
	} {
		t.Run(string(consistency), func(t *testing.T) {
			t.Parallel()
			log := &bytes.Buffer{}
			c.config.Logger = slog.New(slog.NewTextHandler(log, nil))
			openJournal(t, c.config)
			if log.Len() > 0 {
				t.Errorf("without replicas: %s", log)
			}
			if _, err := dynamodb.NewFromConfig(c.config.AWS).UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
				TableName: aws.String(dynajournal.DefaultJournalTable), MultiRegionConsistency: consistency,
				ReplicaUpdates: []types.ReplicationGroupUpdate{
					{Create: &types.CreateReplicationGroupMemberAction{RegionName: aws.String("eu-west-1")}},
					{Create: &types.CreateReplicationGroupMemberAction{RegionName: aws.String("eu-west-3")}},
				},
			}); err != nil {
				t.Fatal(err)
			}
			openJournal(t, c.config)
			got := log.String()
			if strings.Count(got, "\n") != 1 {
				t.Errorf("got %s", got)
			}
			for _, part := range append(c.lacks, "level=WARN", "table="+dynajournal.DefaultJournalTable, `regions="eu-west-1, eu-west-3"`,
				"consistency="+string(consistency), "see=docs/guarantees.md#global-tables") {
				if !strings.Contains(got, part) {
					t.Errorf("got %s\nwant %s", got, part)
				}
			}
		})
	}
}
