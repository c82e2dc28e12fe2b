package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/operator"
	"github.com/dynajournal/dynajournal/serialization"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Closed is an event that only the next version of the function knows.
type Closed struct{ Reason string }

// recorded is a recorded Lambda event. It has two changes of anna, one change of ben and the
// closing of ben's account, and one change of cleo.
type recorded struct {
	Records []struct {
		DynamoDB struct {
			SequenceNumber string
			Keys, NewImage map[string]map[string]any
		} `json:"dynamodb"`
	}
}

func readRecorded(t *testing.T) (json.RawMessage, recorded) {
	t.Helper()
	event, err := os.ReadFile("testdata/events.json")
	if err != nil {
		t.Fatal(err)
	}
	var r recorded
	if err := json.Unmarshal(event, &r); err != nil {
		t.Fatal(err)
	}
	return event, r
}

// stored returns the item of an image.
func stored(t *testing.T, image map[string]map[string]any) map[string]types.AttributeValue {
	t.Helper()
	item := map[string]types.AttributeValue{}
	for name, value := range image {
		for kind, v := range value {
			text, _ := v.(string)
			switch kind {
			case "S":
				item[name] = &types.AttributeValueMemberS{Value: text}
			case "N":
				item[name] = &types.AttributeValueMemberN{Value: text}
			case "B":
				b, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					t.Fatal(err)
				}
				item[name] = &types.AttributeValueMemberB{Value: b}
			default:
				t.Fatalf("attribute %s is a %s", name, kind)
			}
		}
	}
	return item
}

// account returns an engine with the journal from which the events were recorded.
func account(t *testing.T, r recorded) (aws.Config, *dynamodb.Client) {
	t.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{Projections: true, Stream: true}); err != nil {
		t.Fatal(err)
	}
	client := dynamodb.NewFromConfig(engine.AWSConfig())
	for i := range r.Records {
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: aws.String(dynajournal.DefaultJournalTable), Item: stored(t, r.Records[i].DynamoDB.NewImage),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(balancesTable), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("account"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("account"), AttributeType: types.ScalarAttributeTypeS}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine.AWSConfig(), client
}

// function returns the handler that main starts, in the form in which the Lambda runtime calls it.
func function(t *testing.T, config aws.Config, events *serialization.Registry, handle projection.TransactionalFunc) lambda.Handler {
	t.Helper()
	journal, err := dynajournal.Open(t.Context(), dynajournal.Config{AWS: config, Serialization: events})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = journal.Close() })
	group, err := newGroup(journal, handle)
	if err != nil {
		t.Fatal(err)
	}
	return lambda.NewHandler(newHandler(group))
}

// invoke invokes a function, and returns the first record that Lambda must send again.
func invoke(t *testing.T, f lambda.Handler, event json.RawMessage, within time.Duration) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	answer, err := f.Invoke(ctx, event)
	if err != nil {
		t.Fatal(err)
	}
	var response struct {
		BatchItemFailures []struct{ ItemIdentifier string } `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(answer, &response); err != nil {
		t.Fatal(err)
	}
	if len(response.BatchItemFailures) == 0 {
		return ""
	}
	return response.BatchItemFailures[0].ItemIdentifier
}

// withDebts returns the accounts that have a debt.
func withDebts(t *testing.T, config aws.Config) []string {
	t.Helper()
	journal, err := dynajournal.Open(t.Context(), dynajournal.Config{AWS: config})
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	var accounts []string
	for debt, err := range operator.New(journal, "bank/balances").Debts(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		accounts = append(accounts, debt.PersistenceID)
	}
	return accounts
}

func want(t *testing.T, config aws.Config, accounts ...string) {
	t.Helper()
	if got := withDebts(t, config); !slices.Equal(got, accounts) {
		t.Fatalf("%q have a debt, want %q", got, accounts)
	}
}

func wantBalances(t *testing.T, client *dynamodb.Client, want map[string]string) {
	t.Helper()
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(balancesTable)})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, item := range out.Items {
		got[item["account"].(*types.AttributeValueMemberS).Value] = item["balance"].(*types.AttributeValueMemberN).Value
	}
	if len(got) != len(want) {
		t.Errorf("balances %v, want %v", got, want)
	}
	for account, balance := range want {
		if got[account] != balance {
			t.Errorf("%s has %s, want %s", account, got[account], balance)
		}
	}
}

// This version of the function does not know the event Closed. Its records still count as done, and
// the account has a debt. The next version makes the run when the schedule invokes the function.
func TestRecordedEventsThatAreHandledLater(t *testing.T) {
	event, r := readRecorded(t)
	config, client := account(t, r)
	events, err := known()
	if err != nil {
		t.Fatal(err)
	}
	if failed := invoke(t, function(t, config, events, add), event, time.Second/2); failed != "" {
		t.Fatalf("failed at %q", failed)
	}
	want(t, config, "ben")
	wantBalances(t, client, map[string]string{"anna": "7", "ben": "8", "cleo": "30"})

	next, err := known()
	if err != nil {
		t.Fatal(err)
	}
	if err := serialization.JSON[Closed](next, "closed"); err != nil {
		t.Fatal(err)
	}
	both := func(ctx context.Context, e dynajournal.Event) ([]types.TransactWriteItem, error) {
		if e.SerializerManifest == "closed" {
			return nil, nil
		}
		return add(ctx, e)
	}
	f := function(t, config, next, both)
	for deadline := time.Now().Add(time.Minute); len(withDebts(t, config)) > 0 && time.Now().Before(deadline); {
		if _, err := f.Invoke(t.Context(), []byte(`{"source": "aws.events", "detail-type": "Scheduled Event"}`)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // the next payment is due later
	}
	want(t, config)
	wantBalances(t, client, map[string]string{"anna": "7", "ben": "8", "cleo": "30"})
}

// Lambda may send a batch twice.
func TestRecordedEventsTwice(t *testing.T) {
	event, r := readRecorded(t)
	config, client := account(t, r)
	events, err := known()
	if err != nil {
		t.Fatal(err)
	}
	if err := serialization.JSON[Closed](events, "closed"); err != nil {
		t.Fatal(err)
	}
	f := function(t, config, events, func(ctx context.Context, e dynajournal.Event) ([]types.TransactWriteItem, error) {
		if e.SerializerManifest == "closed" {
			return nil, nil
		}
		return add(ctx, e)
	})
	for range 2 {
		if failed := invoke(t, f, event, time.Minute); failed != "" {
			t.Fatalf("failed at %q", failed)
		}
	}
	wantBalances(t, client, map[string]string{"anna": "7", "ben": "8", "cleo": "30"})
}
