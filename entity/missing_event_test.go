package entity_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// An event of an entity is lost, and the newest item is a seal. Commands and views fail, and write
// nothing. A purge makes the entity usable again.
func TestLoad_MissingEvent(t *testing.T) {
	t.Parallel()
	b := setup(t, dynajournal.TableOptions{})
	a := b.open(b.Journal(), accountType(), entity.Options{})
	for range 4 {
		do(t, a, "anna", deposit(1))
	}
	client := dynamodb.NewFromConfig(b.Engine.AWSConfig())
	key := func(num string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: "journal-P-account|anna-0"}, "num": &types.AttributeValueMemberN{Value: num},
		}
	}
	if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: new(dynajournal.DefaultJournalTable), Key: key("2")}); err != nil {
		t.Fatal(err)
	}
	seal := key("5")
	seal["idx"], seal["cnt"] = &types.AttributeValueMemberN{Value: "1000000000"}, &types.AttributeValueMemberN{Value: "1000000000"}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new(dynajournal.DefaultJournalTable), Item: seal}); err != nil {
		t.Fatal(err)
	}
	other := b.open(b.Journal(), accountType(), entity.Options{})
	_, err := entity.Do(t.Context(), other, "anna", deposit(1))
	wantError(t, "Do", err, dynajournal.ErrEventMissing)
	_, err = other.View(t.Context(), "anna", func(Account) error { return nil })
	wantError(t, "View", err, dynajournal.ErrEventMissing)
	if err := other.Purge(t.Context(), "anna"); err != nil {
		t.Fatal(err)
	}
	if got := do(t, other, "anna", deposit(3)); got != 3 {
		t.Errorf("the balance is %d after a purge, want 3", got)
	}
}
