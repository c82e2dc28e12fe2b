package dynajournal_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// Verify checks what is stored. Here an item was removed by hand.
func ExampleJournal_Verify() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory()
	check(err)
	defer engine.Close()
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	defer journal.Close()
	recoverExample(ctx, journal, "account-1", 4)

	_, err = dynamodb.NewFromConfig(engine.AWSConfig()).DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: aws.String(dynajournal.DefaultJournalTable),
		Key: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: "journal-P-account-1-0"},
			"num": &types.AttributeValueMemberN{Value: "2"},
		},
	})
	check(err)
	for finding, err := range journal.Verify(ctx, "account-1", dynajournal.VerifyOptions{}) {
		check(err)
		fmt.Println(finding.Kind, finding.SequenceNumber)
	}
	// Output: hole 2
}
