package dynajournal_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// exampleJournal opens a new journal on its own engine, with the fields of config that are set. The
// package's first example shows the same steps.
func exampleJournal(ctx context.Context, config dynajournal.Config) (*dynajournal.Journal, func()) {
	engine, err := embedded.OpenMemory()
	check(err)
	config.AWS = engine.AWSConfig()
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	return journal, func() {
		check(journal.Close())
		check(engine.Close())
	}
}

// recoverExample recovers a persistence id without replaying it, and appends the strings e1 to e<n>
// one by one.
func recoverExample(ctx context.Context, journal *dynajournal.Journal, persistenceID string, n int) *dynajournal.Writer {
	writer, err := journal.Recover(ctx, persistenceID, dynajournal.RecoverOptions{}, nil)
	check(err)
	for i := range n {
		_, err := writer.Append(ctx, fmt.Sprintf("e%d", i+1))
		check(err)
	}
	return writer
}

// Another endpoint than AWS's needs its URL and an access key. For AWS, leave them empty and set
// Config.AWS to the result of the SDK's config module.
func ExampleConfig() {
	ctx := context.Background()
	engine, err := embedded.OpenMemory()
	check(err)
	defer engine.Close()
	server := httptest.NewServer(engine)
	defer server.Close()

	config := dynajournal.Config{
		AccessKeyID:      "any",
		SecretAccessKey:  "any",
		Endpoint:         server.URL,
		JournalName:      "orders",
		MaxConnections:   100,
		OperationTimeout: 5 * time.Second,
		Retries:          3,
	}
	check(dynajournal.CreateTables(ctx, config, dynajournal.TableOptions{}))
	journal, err := dynajournal.Open(ctx, config)
	check(err)
	defer journal.Close()
	fmt.Println("native:", journal.Native(), "shards:", journal.SequenceShards())
	// Output: native: true shards: 1
}

// operations is a hook that records the operation of each request. Hooks are called from many
// goroutines.
type operations struct {
	mu    sync.Mutex
	names []string
}

// OnRequest records a request. It is the function of the hook.
func (o *operations) OnRequest(_ context.Context, request dynajournal.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.names = append(o.names, request.Operation)
}

func (o *operations) reset() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	names := o.names
	o.names = nil
	slices.Sort(names)
	return names
}

// A hook sees every attempt of every request. This example prints the requests of a recovery and an
// append.
func ExampleHook() {
	ctx := context.Background()
	seen := &operations{}
	journal, end := exampleJournal(ctx, dynajournal.Config{Hooks: []dynajournal.Hook{{OnRequest: seen.OnRequest}}})
	defer end()
	recoverExample(ctx, journal, "account-1", 3)

	seen.reset()
	writer, err := journal.Recover(ctx, "account-1", dynajournal.RecoverOptions{}, nil)
	check(err)
	fmt.Println("recover:", seen.reset())
	_, err = writer.Append(ctx, "deposited")
	check(err)
	fmt.Println("append:", seen.reset())
	// Output:
	// recover: [BatchGetItem Query]
	// append: [PutItem]
}

// celsius is the program's type. The journal stores text such as "20.5 C".
type celsius float64

type celsiusAdapter struct{}

// ToJournal returns the stored form of an event, and its manifest.
func (celsiusAdapter) ToJournal(event any) (stored any, manifest string, err error) {
	return fmt.Sprintf("%g C", float64(event.(celsius))), "celsius", nil
}

// FromJournal returns the events for a stored value: here one, or none.
func (celsiusAdapter) FromJournal(stored any, manifest string) ([]any, error) {
	text, ok := strings.CutSuffix(stored.(string), " C")
	if !ok || manifest != "celsius" {
		return nil, nil // of an earlier program
	}
	var degrees float64
	_, err := fmt.Sscan(text, &degrees)
	return []any{celsius(degrees)}, err
}

// An adapter separates the program's types from the stored types.
func ExampleEventAdapter() {
	ctx := context.Background()
	journal, end := exampleJournal(ctx, dynajournal.Config{Adapter: celsiusAdapter{}})
	defer end()
	writer, err := journal.Recover(ctx, "sensor-1", dynajournal.RecoverOptions{}, nil)
	check(err)
	_, err = writer.Append(ctx, celsius(20.5))
	check(err)

	for event, err := range journal.Events(ctx, "sensor-1", dynajournal.Range{}) {
		check(err)
		value, err := event.Payload(ctx)
		check(err)
		fmt.Printf("%s is stored, %T %v is read\n", event.Bytes, value, value)
	}
	// Output: 20.5 C is stored, dynajournal_test.celsius 20.5 is read
}

// Records reads a history as it is stored, for a copy or an export. This example copies it to
// another journal. Numbers, writers and deletions stay the same. The command dynajournal has export
// and import for files.
func ExampleJournal_Records() {
	ctx := context.Background()
	source, end := exampleJournal(ctx, dynajournal.Config{})
	defer end()
	target, end := exampleJournal(ctx, dynajournal.Config{JournalName: "copy"})
	defer end()
	writer := recoverExample(ctx, source, "account-1", 5)
	_, err := writer.DeleteTo(ctx, 2)
	check(err)

	records := source.Records(ctx, "account-1", dynajournal.RecordsOptions{})
	result, err := target.PutRecords(ctx, "account-1", records, dynajournal.PutRecordsOptions{})
	check(err)
	fmt.Println("written:", result.Written, "highest:", result.Highest)
	for event, err := range target.Events(ctx, "account-1", dynajournal.Range{}) {
		check(err)
		fmt.Println(event.SequenceNumber, event.WriterUUID == writer.WriterUUID())
	}
	// Output:
	// written: 3 highest: 5
	// 3 true
	// 4 true
	// 5 true
}

// Verify checks the stored items. In this example an item was removed by hand.
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
