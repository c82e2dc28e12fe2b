package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

const (
	// loadFolder is the environment variable with the folder that the test program loads until it
	// is killed.
	loadFolder = "EMBEDDED_LOAD_FOLDER"
	// crashRounds is the environment variable with the number of crashes in the tests of this file.
	// Defaults to 4.
	crashRounds = "EMBEDDED_CRASH_ROUNDS"

	loaders       = 3
	keysPerLoader = 5
)

// The kinds of rounds of the load. Each loader has its own keys, and writes all of them in each
// round. The kinds repeat in this order. The items of a round have its number.
const (
	roundOfPuts = iota
	roundOfUpdates
	roundOfBatchWrite
	roundOfDeletes // in one BatchExecuteStatement; after it there are no items
	roundOfInserts // in one BatchExecuteStatement
	roundOfTransaction
	roundKinds
)

// loadItem returns the item of a round. In some rounds the items are not in the index on grp, and
// in others they move within it.
func loadItem(loader, key, round int) attributes {
	n := number(strconv.Itoa(round))
	item := attributes{"pk": text(loadKey(loader, key)), "sk": number("1"), "when": n, "extra": n}
	if round%4 != 0 {
		item["grp"] = text("g" + strconv.Itoa(round%3))
	}
	return item
}

func loadKey(loader, key int) string { return fmt.Sprintf("%d-%d", loader, key) }

// playRound changes the items of the loader's keys from the previous round to this one.
func playRound(ctx context.Context, client *dynamodb.Client, loader, round int) error {
	var puts []types.WriteRequest
	var actions []types.TransactWriteItem
	var statements []types.BatchStatementRequest
	for key := range keysPerLoader {
		item := loadItem(loader, key, round)
		var err error
		switch round % roundKinds {
		case roundOfPuts:
			_, err = client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("rich"), Item: item})
		case roundOfUpdates:
			_, err = client.UpdateItem(ctx, updateTo(item))
		case roundOfBatchWrite:
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
		case roundOfDeletes:
			statements = append(statements, types.BatchStatementRequest{
				Statement:  aws.String("DELETE FROM rich WHERE pk = ? AND sk = 1"),
				Parameters: []types.AttributeValue{item["pk"]},
			})
		case roundOfInserts:
			statements = append(statements, insertOf(item))
		case roundOfTransaction:
			actions = append(actions, types.TransactWriteItem{Put: &types.Put{TableName: aws.String("rich"), Item: item}})
		}
		if err != nil {
			return err
		}
	}
	var err error
	switch round % roundKinds {
	case roundOfBatchWrite:
		_, err = client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"rich": puts}})
	case roundOfDeletes, roundOfInserts:
		err = executeAll(ctx, client, statements)
	case roundOfTransaction:
		_, err = client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions})
	}
	return err
}

func updateTo(item attributes) *dynamodb.UpdateItemInput {
	update := "SET #when = :when, extra = :when"
	values := attributes{":when": item["when"]}
	if item["grp"] == nil {
		update += " REMOVE grp"
	} else {
		update += ", grp = :grp"
		values[":grp"] = item["grp"]
	}
	return &dynamodb.UpdateItemInput{
		TableName: aws.String("rich"), Key: attributes{"pk": item["pk"], "sk": item["sk"]},
		UpdateExpression: &update, ExpressionAttributeValues: values, ExpressionAttributeNames: map[string]string{"#when": "when"},
	}
}

func insertOf(item attributes) types.BatchStatementRequest {
	statement := "INSERT INTO rich VALUE {'pk': ?, 'sk': 1, 'when': ?, 'extra': ?"
	parameters := []types.AttributeValue{item["pk"], item["when"], item["extra"]}
	if item["grp"] != nil {
		statement += ", 'grp': ?"
		parameters = append(parameters, item["grp"])
	}
	return types.BatchStatementRequest{Statement: aws.String(statement + "}"), Parameters: parameters}
}

func executeAll(ctx context.Context, client *dynamodb.Client, statements []types.BatchStatementRequest) error {
	response, err := client.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: statements})
	if err != nil {
		return err
	}
	for _, statement := range response.Responses {
		if statement.Error != nil {
			return fmt.Errorf("a statement: %s %s", statement.Error.Code, *statement.Error.Message)
		}
	}
	return nil
}

// checkLoad checks that the loader's items are from the acknowledged round or a later one, up to
// newest, and that no transaction is stored in part.
func checkLoad(t *testing.T, items map[string]attributes, loader, acknowledged, newest int) {
	t.Helper()
	rounds := map[int]int{}
	missing := 0
	for key := range keysPerLoader {
		item, found := items[loadKey(loader, key)]
		if !found {
			missing++
			continue
		}
		round, err := strconv.Atoi(item["when"].(*types.AttributeValueMemberN).Value)
		if err != nil || !reflect.DeepEqual(item, loadItem(loader, key, round)) {
			t.Errorf("loader %d: no round wrote the item %v", loader, item)
		}
		rounds[round]++
	}
	if missing > 0 {
		rounds[roundOfTheMissing(rounds, acknowledged)] = missing
	}
	first, last := slices.Min(slices.Collect(maps.Keys(rounds))), slices.Max(slices.Collect(maps.Keys(rounds)))
	switch {
	case first < acknowledged:
		t.Errorf("loader %d: round %d was acknowledged, but the number of items by round is %v", loader, acknowledged, rounds)
	case last > newest || last > first+1:
		t.Errorf("loader %d: the number of items by round is %v, but the newest possible round is %d", loader, rounds, newest)
	case last > first && last%roundKinds == roundOfTransaction:
		t.Errorf("loader %d: the transaction of round %d is stored in part: %v", loader, last, rounds)
	}
}

// roundOfTheMissing returns the round of deletes that is next to one of rounds, or -1. If rounds is
// empty, it returns the first round of deletes from the acknowledged one on.
func roundOfTheMissing(rounds map[int]int, acknowledged int) int {
	if len(rounds) == 0 {
		return acknowledged + (roundOfDeletes-acknowledged%roundKinds+roundKinds)%roundKinds
	}
	for round := range rounds {
		for _, near := range []int{round - 1, round + 1} {
			if near%roundKinds == roundOfDeletes {
				return near
			}
		}
	}
	return -1
}

// checkIndexes checks that the indexes have exactly the entries of the items.
func checkIndexes(t *testing.T, client *dynamodb.Client, items map[string]attributes) {
	t.Helper()
	for index, projected := range map[string][]string{
		"local": {"pk", "sk", "when"}, "group": {"pk", "sk", "when", "grp", "extra"}, "all": {"pk", "sk", "when", "grp", "extra"},
	} {
		want := map[string]attributes{}
		for pk, item := range items {
			if index != "local" && item["grp"] == nil {
				continue
			}
			want[pk] = attributes{}
			for _, name := range projected {
				want[pk][name] = item[name]
			}
		}
		if got := readAll(t, client, index); !reflect.DeepEqual(got, want) {
			t.Errorf("index %s has %v, want %v", index, got, want)
		}
	}
}

// readAll returns the items of the table or the index, by partition key.
func readAll(t *testing.T, client *dynamodb.Client, index string) map[string]attributes {
	t.Helper()
	in := &dynamodb.ScanInput{TableName: aws.String("rich")}
	if index != "" {
		in.IndexName = &index
	}
	items := map[string]attributes{}
	for pages := dynamodb.NewScanPaginator(client, in); pages.HasMorePages(); {
		for _, item := range must(pages.NextPage(t.Context()))(t).Items {
			pk := item["pk"].(*types.AttributeValueMemberS).Value
			if items[pk] != nil {
				t.Errorf("%s is twice in index %q", pk, index)
			}
			items[pk] = item
		}
	}
	return items
}

func checkAfterCrash(t *testing.T, engine *embedded.Engine, acknowledged [loaders]int, newest func(acknowledged int) int) {
	t.Helper()
	client := clientOf(engine)
	items := readAll(t, client, "")
	for loader, round := range acknowledged {
		if round >= 0 {
			checkLoad(t, items, loader, round, newest(round))
		}
	}
	checkIndexes(t, client, items)
	if err := checkStreamGivesTable(t.Context(), engine, "rich"); err != nil {
		t.Error(err)
	}
}

func crashes(t *testing.T) int {
	t.Helper()
	given := os.Getenv(crashRounds)
	if given == "" {
		return testsize.Of(1, 4)
	}
	return must(strconv.Atoi(given))(t)
}

func TestCrash_LoadSurvivesLossOfUnsyncedData(t *testing.T) {
	disk := vfs.NewCrashableMem()
	if err := disk.MkdirAll("data", 0o755); err != nil {
		t.Fatal(err)
	}
	engine, err := embedded.Open("data", embedded.WithFS(disk))
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, engine)
	run(t, engine, []step{{"CreateTable", richTable, `{"TableDescription":{…`}})
	enableStream(t, clientOf(engine), "rich", types.StreamViewTypeNewAndOldImages)
	client := clientOf(engine)
	var acknowledged [loaders]atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for loader := range loaders {
		acknowledged[loader].Store(-1)
		load.Go(func() {
			for round := 0; ctx.Err() == nil; round++ {
				if err := playRound(t.Context(), client, loader, round); err != nil {
					t.Errorf("round %d: %v", round, err)
					return
				}
				acknowledged[loader].Store(int64(round))
			}
		})
	}
	defer load.Wait()
	defer stop()
	random := rand.New(rand.NewPCG(3, 4))
	for crash := range crashes(t) {
		target := acknowledged[0].Load() + 5 + random.Int64N(20)
		waitFor(t, func() bool { return t.Failed() || acknowledged[0].Load() >= target })
		var before [loaders]int
		for loader := range loaders {
			before[loader] = int(acknowledged[loader].Load())
		}
		// From time to time the machine crashes, and retains none, some or all of the unsynced
		// data.
		left := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: crash % 3 * 50, RNG: random})
		survivor, err := embedded.Open("data", embedded.WithFS(left))
		if err != nil {
			t.Fatal(err)
		}
		// The load continues while its disk is copied.
		checkAfterCrash(t, survivor, before, func(int) int { return 1 << 30 })
		closeEngine(t, survivor)
	}
}

// loadUntilKilled runs rounds from the first on, and prints each loader and round after it was
// acknowledged.
func loadUntilKilled(dir string) {
	engine, err := embedded.Open(dir)
	if err == nil {
		err = loadEngine(engine)
	}
	fmt.Println("error", err)
	os.Exit(1)
}

func loadEngine(engine *embedded.Engine) error {
	first, err := strconv.Atoi(os.Getenv(loadFolder + "_FIRST"))
	if err != nil {
		return err
	}
	client := clientOf(engine)
	failed := make(chan error, loaders)
	for loader := range loaders {
		go func() {
			for round := first; ; round++ {
				if err := playRound(context.Background(), client, loader, round); err != nil {
					failed <- err
					return
				}
				fmt.Println(loader, round)
			}
		}()
	}
	return <-failed
}

func TestCrash_LoadSurvivesKilledProcess(t *testing.T) {
	dir := t.TempDir()
	engine := openFolder(t, dir)
	run(t, engine, []step{{"CreateTable", richTable, `{"TableDescription":{…`}})
	enableStream(t, clientOf(engine), "rich", types.StreamViewTypeNewAndOldImages)
	closeEngine(t, engine)
	random := rand.New(rand.NewPCG(5, 6))
	first := 0
	for range crashes(t) {
		acknowledged := killLoad(t, dir, first, 1+random.IntN(40))
		engine := openFolder(t, dir)
		checkAfterCrash(t, engine, acknowledged, func(round int) int { return round + 1 })
		closeEngine(t, engine)
		// The next load starts with puts, which do not depend on the stored items.
		first = (slices.Max(acknowledged[:])/roundKinds + 2) * roundKinds
	}
}

// killLoad loads the folder in another process, kills it after it has acknowledged count rounds,
// and returns the last acknowledged round of each loader, or -1.
func killLoad(t *testing.T, dir string, first, count int) [loaders]int {
	t.Helper()
	load := exec.CommandContext(t.Context(), os.Args[0])
	load.Env = append(os.Environ(), loadFolder+"="+dir, loadFolder+"_FIRST="+strconv.Itoa(first))
	output, err := load.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged := [loaders]int{}
	for loader := range acknowledged {
		acknowledged[loader] = -1
	}
	for lines := bufio.NewScanner(output); lines.Scan(); {
		var loader, round int
		if _, err := fmt.Sscan(lines.Text(), &loader, &round); err != nil {
			t.Error(lines.Text())
			continue
		}
		acknowledged[loader] = round
		if count--; count == 0 {
			if err := load.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := load.Wait(); err == nil {
		t.Error("the load ended before it was killed")
	}
	return acknowledged
}
