package embedded_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal/embedded"
)

// A table with a stream gets a record of each change. The SDK's client for streams takes the same
// configuration.
func Example_streams() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	client := dynamodb.NewFromConfig(engine.AWSConfig())
	created, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            aws.String("accounts"),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeKeysOnly},
	})
	if err != nil {
		log.Fatal(err)
	}
	item := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "a-1"}}
	if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("accounts"), Item: item}); err != nil {
		log.Fatal(err)
	}
	if _, err := client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String("accounts"), Key: item}); err != nil {
		log.Fatal(err)
	}

	streams, stream := dynamodbstreams.NewFromConfig(engine.AWSConfig()), created.TableDescription.LatestStreamArn
	described, err := streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: stream})
	if err != nil {
		log.Fatal(err)
	}
	iterator, err := streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: stream, ShardId: described.StreamDescription.Shards[0].ShardId,
		ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		log.Fatal(err)
	}
	read, err := streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator.ShardIterator})
	if err != nil {
		log.Fatal(err)
	}
	for _, record := range read.Records {
		fmt.Println(record.EventName, record.Dynamodb.Keys["id"].(*streamtypes.AttributeValueMemberS).Value)
	}
	if err := engine.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// INSERT a-1
	// REMOVE a-1
}
