package embedded_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

var everyFault = flag.Bool("storage.all", false,
	"fail every call of the storage, and change every byte of its files, instead of a sample")

const (
	// faultRun is the environment variable with the faultSeries, in JSON, that the test program
	// tries. A failed engine leaves goroutines behind.
	faultRun = "EMBEDDED_FAULT_RUN"

	// faultTime limits the time that a request, opening or closing can take.
	faultTime = 20 * time.Second
)

// faultSeries selects the calls of one fault that one process tries.
type faultSeries struct {
	Fault   int
	Forever bool
	// The numbers of the calls are From, From+Step and so on, up to To.
	From, Step, To int
}

// faultCounts are the outcomes of a series.
type faultCounts struct {
	Tried, RefusedToOpen, Ended, Harmless int
	Problems                              []string
}

func (c *faultCounts) add(more faultCounts) {
	c.Tried += more.Tried
	c.RefusedToOpen += more.RefusedToOpen
	c.Ended += more.Ended
	c.Harmless += more.Harmless
	c.Problems = append(c.Problems, more.Problems...)
}

// storageLoad uses an engine and records the data that must be stored, and the data that may be
// stored.
type storageLoad struct {
	client *dynamodb.Client
	engine *embedded.Engine
	// stored has the acknowledged value of each item. maybe has the values of later writes without
	// a response. An empty value means that the item does not exist.
	stored map[string]string
	maybe  map[string][]string
	// made and index are set when the table and the later index were acknowledged.
	made, index bool
	// light leaves out the items that fill Pebble's tables.
	light bool
}

func newStorageLoad() *storageLoad {
	return &storageLoad{stored: map[string]string{}, maybe: map[string][]string{}}
}

// wrote records a write of values by key. The write must be stored if it was acknowledged;
// otherwise it may be.
func (l *storageLoad) wrote(values map[string]string, err error) error {
	for key, value := range values {
		if err == nil {
			l.stored[key] = value
			delete(l.maybe, key)
		} else {
			l.maybe[key] = append(l.maybe[key], value)
		}
	}
	return err
}

// storageItem returns an item of the load. Long values fill Pebble's tables, so that they are
// flushed and compacted.
func storageItem(key, value string) attributes {
	return attributes{
		"pk": text(key), "sk": number("1"), "when": number("7"), "grp": text("g"), "v": text(value),
		"fill": text(strings.Repeat("x", 1000*len(value)*len(value))),
	}
}

func storageKey(key string) attributes { return attributes{"pk": text(key), "sk": number("1")} }

func (l *storageLoad) put(key, value string) error {
	_, err := l.client.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("rich"), Item: storageItem(key, value)})
	return l.wrote(map[string]string{key: value}, err)
}

// run runs the load. The first error ends it.
func (l *storageLoad) run() error {
	ctx := context.Background()
	var create dynamodb.CreateTableInput
	steps := []func() error{
		func() error {
			createOf(&create)
			_, err := l.client.CreateTable(ctx, &create)
			l.made = err == nil
			return err
		},
		func() error { return l.put("a", "1") },
		func() error { return l.put("b", "1") },
		func() error {
			var puts []types.WriteRequest
			values := map[string]string{}
			for _, key := range []string{"c", "d", "e"} {
				values[key] = "2"
				puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: storageItem(key, "2")}})
			}
			_, err := l.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"rich": puts}})
			return l.wrote(values, err)
		},
		func() error {
			_, err := l.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
				ClientRequestToken: aws.String("once"),
				TransactItems: []types.TransactWriteItem{
					{Put: &types.Put{TableName: aws.String("rich"), Item: storageItem("f", "3")}},
					{Delete: &types.Delete{TableName: aws.String("rich"), Key: storageKey("b")}},
				},
			})
			return l.wrote(map[string]string{"f": "3", "b": ""}, err)
		},
		l.check,
		func() error {
			_, err := l.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: aws.String("rich"), Key: storageKey("a"), UpdateExpression: aws.String("SET v = :v"),
				ExpressionAttributeValues: attributes{":v": text("4")},
			})
			return l.wrote(map[string]string{"a": "4"}, err)
		},
		func() error {
			_, err := l.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String("rich"), Key: storageKey("c")})
			return l.wrote(map[string]string{"c": ""}, err)
		},
		func() error {
			_, err := l.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
				TableName:               aws.String("rich"),
				TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("until"), Enabled: aws.Bool(true)},
			})
			return err
		},
		func() error {
			item := storageItem("old", "5")
			item["until"] = number(strconv.FormatInt(time.Now().Unix()-100, 10))
			_, err := l.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("rich"), Item: item})
			return l.wrote(map[string]string{"old": "5"}, err)
		},
		func() error {
			_, err := l.engine.SweepExpired()
			return l.wrote(map[string]string{"old": ""}, err)
		},
		l.addIndex,
	}
	// Values of 18 bytes make items of 324 kB: two fill Pebble's first table, and some more its
	// later ones.
	for i := range 16 {
		if l.light {
			break
		}
		steps = append(steps, func() error { return l.put("big"+strconv.Itoa(i%5), fmt.Sprintf("%018d", i)) })
	}
	for _, step := range append(steps, l.check) {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func createOf(create *dynamodb.CreateTableInput) {
	keys := func(hash, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{
			{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash}, {AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
		}
	}
	*create = dynamodb.CreateTableInput{
		TableName: aws.String("rich"), BillingMode: types.BillingModePayPerRequest, KeySchema: keys("pk", "sk"),
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: "S"}, {AttributeName: aws.String("sk"), AttributeType: "N"},
			{AttributeName: aws.String("grp"), AttributeType: "S"}, {AttributeName: aws.String("when"), AttributeType: "N"},
		},
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("group"), KeySchema: keys("grp", "when"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	}
}

// addIndex adds an index and waits until it is filled.
func (l *storageLoad) addIndex() error {
	_, err := l.client.UpdateTable(context.Background(), &dynamodb.UpdateTableInput{
		TableName:            aws.String("rich"),
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("v"), AttributeType: "S"}},
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName:  aws.String("later"),
			KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String("v"), KeyType: types.KeyTypeHash}},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}}},
	})
	l.index = err == nil
	if err != nil {
		return err
	}
	return l.waitForIndex()
}

func (l *storageLoad) waitForIndex() error {
	for {
		found, err := l.client.DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: aws.String("rich")})
		if err != nil || found.Table.TableStatus == types.TableStatusActive {
			return err
		}
	}
}

// check reads everything and compares it with the recorded writes.
func (l *storageLoad) check() error {
	found := map[string]string{}
	in := &dynamodb.ScanInput{TableName: aws.String("rich"), ProjectionExpression: aws.String("pk, v"), ConsistentRead: aws.Bool(true)}
	for pages := dynamodb.NewScanPaginator(l.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(context.Background())
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			found[item["pk"].(*types.AttributeValueMemberS).Value] = item["v"].(*types.AttributeValueMemberS).Value
		}
	}
	for key, value := range l.stored {
		if !l.allowed(key, found[key]) {
			return fmt.Errorf("%s is %q, want the acknowledged value %q, or one of the values without a response %q", key, found[key], value, l.maybe[key])
		}
	}
	for key, value := range found {
		if !l.allowed(key, value) {
			return fmt.Errorf("%s is %q, which was never written", key, value)
		}
	}
	indexes := []string{"group"}
	if l.index {
		indexes = append(indexes, "later")
	}
	for _, index := range indexes {
		if err := l.checkIndex(index, len(found)); err != nil {
			return err
		}
	}
	return nil
}

func (l *storageLoad) allowed(key, value string) bool {
	if l.stored[key] == value {
		return true
	}
	return slices.Contains(l.maybe[key], value)
}

func (l *storageLoad) checkIndex(index string, want int) error {
	response, err := l.client.Scan(context.Background(), &dynamodb.ScanInput{TableName: aws.String("rich"), IndexName: &index, Select: types.SelectCount})
	if err == nil && int(response.Count) != want {
		err = fmt.Errorf("the index %s has %d entries of %d items", index, response.Count, want)
	}
	return err
}

// storageProblem returns the problem with an error of an engine whose storage fails, or "".
func storageProblem(err error) string {
	switch {
	case !errors.Is(err, embedded.ErrStorageFailed):
		return "the error is not ErrStorageFailed: " + err.Error()
	case strings.ContainsAny(err.Error(), "\n\r"):
		return "the error has several lines: " + err.Error()
	}
	return ""
}

// tryFault tries one fault. It returns "refused", "ended" or "harmless", or a problem.
func tryFault(fault storageFault, at int, forever bool) (outcome, problem string) {
	disk := vfs.NewCrashableMem()
	fs := &faultyFS{FS: disk, fault: fault, at: at, forever: forever}
	load := newStorageLoad()
	outcome, problem = load.life(fs)
	if problem != "" {
		return outcome, problem
	}
	if _, failed := fs.seen(); failed == 0 {
		outcome = "not reached"
	}
	fs.repair()
	// Acknowledged writes are stored, even after the loss of all unsynced data.
	for what, after := range map[string]vfs.FS{
		"afterwards": fs, "after a crash": disk.CrashClone(vfs.CrashCloneCfg{}),
	} {
		if problem := load.reopen(after); problem != "" {
			return outcome, what + ": " + problem
		}
	}
	return outcome, ""
}

// life opens, uses and closes an engine, twice.
func (l *storageLoad) life(fs vfs.FS) (outcome, problem string) {
	for again := range 2 {
		engine, err := embedded.Open("data/here", embedded.WithFS(fs), embedded.WithSweepInterval(0))
		if err != nil {
			if storageProblem(err) != "" {
				return "", "opening: " + storageProblem(err)
			}
			return "refused", ""
		}
		l.engine, l.client = engine, clientOf(engine)
		if again == 0 {
			err = l.run()
		} else {
			err = l.check()
		}
		if err == nil {
			err = engine.Close()
		} else if problem := l.afterFailure(err); problem != "" {
			return "", problem
		}
		if err != nil {
			if storageProblem(err) != "" {
				return "", storageProblem(err)
			}
			return "ended", ""
		}
	}
	return "harmless", ""
}

// afterFailure checks that a failed engine refuses requests, and closes.
func (l *storageLoad) afterFailure(err error) string {
	if problem := storageProblem(err); problem != "" {
		return problem
	}
	for what, try := range map[string]func() error{
		"reading": l.check,
		"writing": func() error { return l.put("late", "6") },
		"listing": func() error {
			_, err := l.client.ListTables(context.Background(), &dynamodb.ListTablesInput{})
			return err
		},
		"sweeping": func() error {
			_, err := l.engine.SweepExpired()
			return err
		},
		"closing": l.engine.Close,
	} {
		if err := try(); err == nil || what != "closing" && !errors.Is(err, embedded.ErrStorageFailed) && !errors.Is(err, embedded.ErrClosed) {
			return fmt.Sprintf("after the failure: %s: %v", what, err)
		}
	}
	return ""
}

// reopen checks that the folder can be opened and has the recorded writes.
func (l *storageLoad) reopen(fs vfs.FS) (problem string) {
	engine, err := embedded.Open("data/here", embedded.WithFS(fs), embedded.WithSweepInterval(0))
	if err != nil {
		return "opening: " + err.Error()
	}
	defer func() {
		if err := engine.Close(); err != nil && problem == "" {
			problem = "closing: " + err.Error()
		}
	}()
	l.engine, l.client = engine, clientOf(engine)
	tables, err := l.client.ListTables(context.Background(), &dynamodb.ListTablesInput{})
	if err != nil {
		return err.Error()
	}
	if len(tables.TableNames) == 0 && !l.made {
		return ""
	}
	err = errors.Join(l.waitForIndex(), l.check(), checkStreamGivesTable(context.Background(), engine, "rich"))
	if err != nil {
		return err.Error()
	}
	return ""
}

// tryAll tries a series and prints the outcomes, or the stacks of all goroutines if it takes too
// long.
func tryAll(given string) {
	var series faultSeries
	if err := json.Unmarshal([]byte(given), &series); err != nil {
		panic(err)
	}
	fault := storageFaults[series.Fault]
	var counts faultCounts
	for at := series.From; at <= series.To; at += series.Step {
		what := fmt.Sprintf("%s, call %d, forever %v", fault.name, at, series.Forever)
		watch := time.AfterFunc(faultTime, func() {
			stacks := make([]byte, 1<<20)
			fmt.Printf("%s: it hangs\n%s\n", what, stacks[:runtime.Stack(stacks, true)])
			os.Exit(1)
		})
		outcome, problem := tryFault(fault, at, series.Forever)
		watch.Stop()
		counts.Tried++
		switch {
		case problem != "":
			counts.Problems = append(counts.Problems, what+": "+problem)
		case outcome == "refused":
			counts.RefusedToOpen++
		case outcome == "ended":
			counts.Ended++
		default:
			counts.Harmless++
		}
	}
	printed, err := json.Marshal(counts)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(printed))
}

// inProcess tries a series in a process of its own.
func inProcess(t *testing.T, series faultSeries) faultCounts {
	t.Helper()
	given := must(json.Marshal(series))(t)
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), faultRun+"="+string(given))
	process.Stderr = os.Stderr
	output, err := process.Output()
	var counts faultCounts
	if err != nil || json.Unmarshal(bytes.TrimSpace(output), &counts) != nil {
		t.Fatalf("%s %s: %v\n%s", storageFaults[series.Fault].name, given, err, output)
	}
	return counts
}

func TestStorage_FaultsLoseNoAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	for i, fault := range storageFaults {
		fs := &faultyFS{FS: vfs.NewCrashableMem(), fault: fault}
		if outcome, problem := newStorageLoad().life(fs); outcome != "harmless" {
			t.Fatal(outcome, problem)
		}
		calls, _ := fs.seen()
		step, each := 1+calls/testsize.Of(1, 4), calls
		if *everyFault {
			step, each = 1, 40
		}
		for _, forever := range []bool{false, true} {
			if !testsize.Long && !*everyFault && forever != (i%2 == 0) {
				continue
			}
			var counts faultCounts
			for from := 1; from <= calls; from += each {
				counts.add(inProcess(t, faultSeries{Fault: i, Forever: forever, From: from, Step: step, To: min(from+each-1, calls)}))
			}
			t.Logf("%s, forever %v: %d calls, tried at %d: refused to open %d, ended %d, harmless %d", fault.name, forever, calls,
				counts.Tried, counts.RefusedToOpen, counts.Ended, counts.Harmless)
			for _, problem := range counts.Problems {
				t.Error(problem)
			}
		}
	}
}
