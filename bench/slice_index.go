package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Names and settings of Akka Persistence DynamoDB 2.0, from its public documentation:
//
//   - https://doc.akka.io/libraries/akka-persistence-dynamodb/current/journal.html has the keys of
//     the table and of its index, which projects all attributes
//   - https://doc.akka.io/libraries/akka-persistence-dynamodb/current/query.html has the 1,024
//     slices, the queries and their settings
const (
	pidKey, seqKey        = "pid", "seq_nr"
	sliceKey, timeKey     = "entity_type_slice", "ts"
	sliceIndexName        = "event_journal_slice_idx"
	allSlices             = 1024
	sliceRefreshSeconds   = 3
	slicePage             = 100
	sliceDelayMillis      = 100
	backtrackWindowMillis = 120_000
	backtrackDelayMillis  = 10_000
)

// sliceIndex is a model of a journal whose events are found by an index of slices and time.
type sliceIndex struct {
	client *dynamodb.Client
	table  string
	cost   dynajournal.Cost
}

// openSliceIndex creates the table of a sliceIndex.
func (s *session) openSliceIndex(ctx context.Context) (*sliceIndex, error) {
	x := &sliceIndex{client: s.bare, table: s.tables.config.JournalTable + "-slices"}
	attribute := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}
	key := func(hash, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{
			{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange},
		}
	}
	_, err := x.client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &x.table, BillingMode: types.BillingModePayPerRequest, KeySchema: key(pidKey, seqKey),
		AttributeDefinitions: []types.AttributeDefinition{
			attribute(pidKey, types.ScalarAttributeTypeS), attribute(seqKey, types.ScalarAttributeTypeN),
			attribute(sliceKey, types.ScalarAttributeTypeS), attribute(timeKey, types.ScalarAttributeTypeN),
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String(sliceIndexName), KeySchema: key(sliceKey, timeKey),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}},
	})
	if err == nil {
		err = dynamodb.NewTableExistsWaiter(x.client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &x.table},
			tableTimeout)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create table %q: %w", x.table, err), x.close(ctx))
	}
	return x, nil
}

// close deletes the table, even if ctx has ended. A missing table is not an error.
func (x *sliceIndex) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tableTimeout)
	defer cancel()
	_, err := x.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &x.table})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); err == nil || missing {
		return nil
	}
	return fmt.Errorf("delete table %q: %w", x.table, err)
}

// sliceEvent is an event of the model, written at a time in milliseconds.
type sliceEvent struct {
	pid   string
	seq   int64
	slice int
	at    int64
}

func (e sliceEvent) key() layout.Attributes {
	return layout.Attributes{pidKey: sliceText(e.pid), seqKey: sliceNumber(e.seq)}
}

func sliceName(slice int) types.AttributeValue { return sliceText("order-" + strconv.Itoa(slice)) }

func sliceText(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func sliceNumber(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// put stores an event. If indexed is false, the event is not in the index until show is called: an
// item is in an index only if it has the attributes of the index's key.
func (x *sliceIndex) put(ctx context.Context, e sliceEvent, indexed bool) error {
	item := e.key()
	item[timeKey] = sliceNumber(e.at)
	item["event_payload"] = &types.AttributeValueMemberB{Value: payload}
	item["event_ser_id"], item["event_ser_manifest"] = sliceNumber(bytesSerializer), sliceText("")
	item["writer"] = sliceText(loader)
	if indexed {
		item[sliceKey] = sliceName(e.slice)
	}
	out, err := x.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &x.table, Item: item, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		ConditionExpression: aws.String("attribute_not_exists(" + pidKey + ")"),
	})
	if err != nil {
		return fmt.Errorf("put event %d of %q: %w", e.seq, e.pid, err)
	}
	x.cost.Requests++
	x.cost.WriteUnits += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	return nil
}

// show adds an event to the index.
func (x *sliceIndex) show(ctx context.Context, e sliceEvent) error {
	_, err := x.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &x.table, Key: e.key(), UpdateExpression: aws.String("SET " + sliceKey + " = :slice"),
		ExpressionAttributeValues: layout.Attributes{":slice": sliceName(e.slice)},
	})
	if err != nil {
		return fmt.Errorf("show event %d of %q: %w", e.seq, e.pid, err)
	}
	return nil
}

// query returns the events of a slice from the index whose time is between from and to.
func (x *sliceIndex) query(ctx context.Context, slice int, from, to int64) ([]sliceEvent, error) {
	var found []sliceEvent
	in := &dynamodb.QueryInput{
		TableName: &x.table, IndexName: aws.String(sliceIndexName), Limit: aws.Int32(slicePage),
		KeyConditionExpression: aws.String(sliceKey + " = :slice AND " + timeKey + " BETWEEN :from AND :to"),
		ExpressionAttributeValues: layout.Attributes{
			":slice": sliceName(slice), ":from": sliceNumber(from), ":to": sliceNumber(to),
		},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	for {
		out, err := x.client.Query(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("query slice %d: %w", slice, err)
		}
		x.cost.Requests++
		x.cost.ReadUnits += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
		for _, item := range out.Items {
			found = append(found, sliceEvent{
				pid: textOf(item[pidKey]), seq: numberOf(item[seqKey]), slice: slice, at: numberOf(item[timeKey]),
			})
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return found, nil
		}
	}
}

func textOf(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	return s.Value
}

func numberOf(v types.AttributeValue) int64 {
	n, _ := v.(*types.AttributeValueMemberN)
	i, _ := strconv.ParseInt(n.Value, 10, 64) // the model has written it
	return i
}
