package embedded_test

import (
	"context"
	"fmt"
	"log"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/embedded"
)

// A test moves the clock by which items expire, and deletes expired items at once.
func ExampleWithClock() {
	ctx := context.Background()
	var passed atomic.Int64
	start := time.Now()
	clock := func() time.Time { return start.Add(time.Duration(passed.Load())) }
	engine, err := embedded.OpenMemory(embedded.WithClock(clock), embedded.WithSweepInterval(0))
	if err != nil {
		log.Fatal(err)
	}
	client := dynamodb.NewFromConfig(engine.AWSConfig())
	_, err = client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            aws.String("sessions"),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               aws.String("sessions"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("until"), Enabled: aws.Bool(true)},
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("sessions"), Item: map[string]types.AttributeValue{
		"id":    &types.AttributeValueMemberS{Value: "s-1"},
		"until": &types.AttributeValueMemberN{Value: strconv.FormatInt(clock().Add(time.Hour).Unix(), 10)},
	}})
	if err != nil {
		log.Fatal(err)
	}

	for _, step := range []time.Duration{time.Minute, time.Hour} {
		passed.Add(int64(step))
		deleted, err := engine.SweepExpired()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("after", step, "deleted", deleted)
	}
	if err := engine.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// after 1m0s deleted 0
	// after 1h0m0s deleted 1
}
