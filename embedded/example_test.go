package embedded_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/embedded"
)

func Example() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	client := dynamodb.NewFromConfig(engine.AWSConfig())
	_, err = client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            aws.String("accounts"),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		log.Fatal(err)
	}
	updated, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 aws.String("accounts"),
		Key:                       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "a-1"}},
		UpdateExpression:          aws.String("ADD balance :amount"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":amount": &types.AttributeValueMemberN{Value: "12.50"}},
		ReturnValues:              types.ReturnValueAllNew,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(updated.Attributes["balance"].(*types.AttributeValueMemberN).Value)
	fmt.Println(engine.Counters().Units["accounts"].Write, "write unit")
	if err := engine.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 12.5
	// 1 write unit
}
