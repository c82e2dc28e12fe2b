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

// The second write is performed, but its response is lost: the SDK sends it again.
func ExampleEngine_Inject() {
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
	remove, err := engine.Inject(embedded.Fault{
		Effect: embedded.EffectReset, Applied: true, Operation: "UpdateItem", Key: "a-*", Nth: 2,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer remove()
	for range 2 {
		updated, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                 aws.String("accounts"),
			Key:                       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "a-1"}},
			UpdateExpression:          aws.String("ADD balance :amount"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":amount": &types.AttributeValueMemberN{Value: "5"}},
			ReturnValues:              types.ReturnValueAllNew,
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("balance", updated.Attributes["balance"].(*types.AttributeValueMemberN).Value)
	}
	for _, injection := range engine.Injected() {
		fmt.Println(injection.Operation, injection.Key, injection.Fault)
	}
	if err := engine.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// balance 5
	// balance 15
	// UpdateItem a-1 reset,applied,operation=UpdateItem,key=a-*,nth=2
}
