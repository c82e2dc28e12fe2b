package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal/embedded"
)

// checkStreamGivesTable replays a table's stream, which must have new and old images, from its
// start. It returns an error unless the old image of each record is the item before the change, and
// the replayed items are the items of the table. This finds a write without its record, a record
// without its write, and records of an item out of order.
func checkStreamGivesTable(ctx context.Context, engine *embedded.Engine, table string) error {
	client := clientOf(engine)
	found, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return err
	}
	if found.Table.LatestStreamArn == nil {
		return errors.New("the table has no stream")
	}
	records, err := readerOf(streamsOf(engine), *found.Table.LatestStreamArn).next(ctx)
	if err != nil {
		return err
	}
	items := map[string]attributes{}
	for i, record := range records {
		before, after := sdkItem(record.Dynamodb.OldImage), sdkItem(record.Dynamodb.NewImage)
		key := itemKey(sdkItem(record.Dynamodb.Keys))
		if !reflect.DeepEqual(items[key], before) {
			return fmt.Errorf("record %d of the stream: %s has the old image %v, want %v", i, key, before, items[key])
		}
		if items[key] = after; after == nil {
			delete(items, key)
		}
	}
	n := 0
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			if key := itemKey(item); !reflect.DeepEqual(items[key], item) {
				return fmt.Errorf("the stream gives %s as %v, but the table has %v", key, items[key], item)
			}
			n++
		}
	}
	if n != len(items) {
		return fmt.Errorf("the stream gives %d items, but the table has %d", len(items), n)
	}
	return nil
}

// sdkItem converts an item of a record to the form of the client for tables. It returns nil for
// nil.
func sdkItem(item map[string]streamtypes.AttributeValue) attributes {
	if item == nil {
		return nil
	}
	converted := attributes{}
	for name, value := range item {
		switch v := value.(type) {
		case *streamtypes.AttributeValueMemberS:
			converted[name] = text(v.Value)
		case *streamtypes.AttributeValueMemberN:
			converted[name] = number(v.Value)
		case *streamtypes.AttributeValueMemberB:
			converted[name] = &types.AttributeValueMemberB{Value: v.Value}
		default:
			panic(fmt.Sprintf("an attribute of a record is a %T", value))
		}
	}
	return converted
}
