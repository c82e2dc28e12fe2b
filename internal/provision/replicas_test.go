package provision_test

import (
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/provision"
)

// replicate gives a table replicas in two other Regions.
func (s *tables) replicate(table string, consistency types.MultiRegionConsistency) {
	s.Helper()
	in := &dynamodb.UpdateTableInput{TableName: &table, MultiRegionConsistency: consistency}
	for _, region := range []string{"eu-west-3", "eu-west-1"} {
		in.ReplicaUpdates = append(in.ReplicaUpdates, types.ReplicationGroupUpdate{
			Create: &types.CreateReplicationGroupMemberAction{RegionName: &region},
		})
	}
	if _, err := s.direct.UpdateTable(s.Context(), in); err != nil {
		s.Fatal(err)
	}
}

func TestReplicasAreInspectedAndDescribed(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.create(native)
	for _, step := range []struct {
		replicate bool
		want      provision.Replication
	}{
		{false, provision.Replication{}},
		{true, provision.Replication{Regions: []string{"eu-west-1", "eu-west-3"}, Consistency: "EVENTUAL"}},
	} {
		if step.replicate {
			s.replicate(events, "")
		}
		found, err := s.journal.Inspect(t.Context(), s.client)
		if err != nil || !reflect.DeepEqual(found.Replication, step.want) {
			t.Errorf("Inspect: %+v, %v", found.Replication, err)
		}
		described, err := s.journal.Describe(t.Context(), s.client, events)
		if err != nil || !reflect.DeepEqual(described.Replication, step.want) {
			t.Errorf("Describe: %+v, %v", described.Replication, err)
		}
	}
}

// DynamoDB refuses UpdateTimeToLive on a strongly consistent table, so a creation that sends it
// would fail before it puts the header.
func TestStronglyConsistentTablesGetAHeaderAndNoExpiry(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	s.table(&dynamodb.CreateTableInput{
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{index(layout.NativeIDsIndex, "ids_shard", "ids_key")},
		AttributeDefinitions:   []types.AttributeDefinition{attribute("ids_shard", "N"), attribute("ids_key", "S")},
	})
	_, err := s.direct.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(snapshots), KeySchema: key("par", "seq"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{attribute("par", "S"), attribute("seq", "N")},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.replicate(events, types.MultiRegionConsistencyStrong)
	s.replicate(snapshots, types.MultiRegionConsistencyStrong)
	s.before = func(operation string) bool {
		if operation == "UpdateTimeToLive" {
			t.Error("UpdateTimeToLive is sent")
		}
		return true
	}
	s.create(native)
	found, err := s.journal.Inspect(t.Context(), s.client)
	if err != nil || found.Header.Kind != layout.KindNative || !found.Replication.Strong() || !found.Indexed {
		t.Errorf("Inspect: %+v, %v", found, err)
	}
	changes, err := s.journal.Update(t.Context(), s.client, provision.UpdateOptions{})
	if err != nil || len(changes) != 0 {
		t.Errorf("Update: %+v, %v", changes, err)
	}
}
