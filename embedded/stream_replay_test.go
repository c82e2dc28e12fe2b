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

// checkStreamGivesTable returns an error unless the records of a table's stream, of new and old
// images and from its beginning, lead from record to record to what the table holds. A write
// without its record, a record without its write, and records of an item out of order are all
// found.
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
			return fmt.Errorf("record %d of the stream says that %s was %v, and it was %v", i, key, before, items[key])
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
				return fmt.Errorf("the stream says that %s is %v, and it is %v", key, items[key], item)
			}
			n++
		}
	}
	if n != len(items) {
		return fmt.Errorf("the stream says that there are %d items, and there are %d", len(items), n)
	}
	return nil
}

// sdkItem is an item of a record in the form of the client for tables, nil if there is none.
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
