package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/embedded"
)

// heavyFolder is the environment variable with the folder in which the test program fills Pebble's
// tables, and creates tables and indexes, until it is killed. The variable with the suffix _FIRST
// has the number of the first round and of the first table.
const heavyFolder = "EMBEDDED_HEAVY_FOLDER"

const (
	heavyWriters = 2
	heavyKeys    = 6
	heavyBytes   = 300_000
	// heavyDeletes is the number of rounds of a key, the last of which deletes its item.
	heavyDeletes = 4

	turnedItems = 250 // an index is filled in steps of 100
	absent      = -1
)

func deletesHeavy(round int) bool { return round%heavyDeletes == heavyDeletes-1 }

// heavyItem returns the item of a round. Its text can't be compressed, so that Pebble's tables
// become large.
func heavyItem(key string, round int) attributes {
	pad := make([]byte, heavyBytes)
	_, _ = rand.NewChaCha8([32]byte{byte(round), byte(round >> 8), byte(round >> 16)}).Read(pad)
	return attributes{
		"pk": text(key), "sk": number("1"), "when": number(strconv.Itoa(round)), "grp": text("g" + strconv.Itoa(round%3)), "pad": binary(string(pad)),
	}
}

func heavyKey(writer, key int) string { return fmt.Sprintf("%d-%d", writer, key) }

// heavyUntilKilled prints acknowledged writes and steps, the rounds that are read, and each drop
// before it starts, one line each.
func heavyUntilKilled(dir string) {
	engine, err := embedded.Open(dir)
	if err == nil {
		var first int
		if first, err = strconv.Atoi(os.Getenv(heavyFolder + "_FIRST")); err == nil {
			client, failed := clientOf(engine), make(chan error, 1)
			for writer := range heavyWriters {
				go func() { failed <- writeHeavy(client, writer, first) }()
				go func() { failed <- readHeavy(client, writer) }()
			}
			go func() { failed <- replaceTables(client, first) }()
			err = <-failed
		}
	}
	fmt.Println("error", err)
	os.Exit(1)
}

func writeHeavy(client *dynamodb.Client, writer, first int) error {
	for i := 0; ; i++ {
		key, round := heavyKey(writer, i%heavyKeys), first+i/heavyKeys
		var err error
		if deletesHeavy(round) {
			_, err = client.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: aws.String("rich"), Key: heavyKeyOf(key)})
		} else {
			_, err = client.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("rich"), Item: heavyItem(key, round)})
		}
		if err != nil {
			return err
		}
		fmt.Println("wrote", key, round)
	}
}

func heavyKeyOf(key string) attributes { return attributes{"pk": text(key), "sk": number("1")} }

// readHeavy prints the rounds that it reads.
func readHeavy(client *dynamodb.Client, writer int) error {
	shown := map[string]int{}
	for i := 0; ; i++ {
		key := heavyKey(writer, i%heavyKeys)
		found, err := client.GetItem(context.Background(), &dynamodb.GetItemInput{
			TableName: aws.String("rich"), Key: heavyKeyOf(key), ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("#when"),
			ExpressionAttributeNames: map[string]string{"#when": "when"},
		})
		if err != nil {
			return err
		}
		if found.Item == nil {
			continue
		}
		if round := numberOf(found.Item, "when"); round != shown[key] {
			shown[key] = round
			fmt.Println("read", key, round)
		}
	}
}

func numberOf(item attributes, name string) int {
	n, err := strconv.Atoi(item[name].(*types.AttributeValueMemberN).Value)
	if err != nil {
		return absent
	}
	return n
}

// replaceTables creates tables with an index, fills each, adds an index, and drops the previous
// table.
func replaceTables(client *dynamodb.Client, first int) error {
	for n := first; ; n++ {
		var create dynamodb.CreateTableInput
		createOf(&create)
		create.TableName = aws.String(turnedTable(n))
		fmt.Println("making", n)
		if _, err := client.CreateTable(context.Background(), &create); err != nil {
			return err
		}
		fmt.Println("made", n)
		for i := 0; i < turnedItems; i += 25 {
			var puts []types.WriteRequest
			for j := range 25 {
				item := attributes{
					"pk": text(strconv.Itoa(i + j)), "sk": number("1"), "when": number("1"), "grp": text("g"), "v": text(strconv.Itoa(j)),
				}
				puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
			}
			_, err := client.BatchWriteItem(context.Background(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{turnedTable(n): puts}})
			if err != nil {
				return err
			}
			fmt.Println("filled", n, i+25)
		}
		_, err := client.UpdateTable(context.Background(), &dynamodb.UpdateTableInput{
			TableName:            create.TableName,
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("v"), AttributeType: "S"}},
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
				IndexName:  aws.String("later"),
				KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String("v"), KeyType: types.KeyTypeHash}},
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
			}}},
		})
		if err != nil {
			return err
		}
		fmt.Println("added", n)
		if err := waitForTable(client, turnedTable(n)); err != nil {
			return err
		}
		fmt.Println("active", n)
		if n == first {
			continue
		}
		fmt.Println("dropping", n-1)
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(turnedTable(n - 1))}); err != nil {
			return err
		}
		fmt.Println("dropped", n-1)
	}
}

func turnedTable(n int) string { return "turned-" + strconv.Itoa(n) }

// waitForTable waits until the table and its indexes are ACTIVE.
func waitForTable(client *dynamodb.Client, name string) error {
	for {
		found, err := client.DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil || found.Table.TableStatus == types.TableStatusActive {
			return err
		}
	}
}

// heavyHistory is the output of a killed process.
type heavyHistory struct {
	first int
	// wrote and read map keys to the last rounds that were written and read.
	wrote, read map[string]int
	// done maps the number of a table to its printed steps. filled maps it to the number of
	// acknowledged items.
	done   map[int]map[string]bool
	filled map[int]int
}

func (h *heavyHistory) add(line string) error {
	words := strings.Fields(line)
	if len(words) < 2 {
		return errors.New(line)
	}
	last, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return errors.New(line)
	}
	switch words[0] {
	case "wrote":
		h.wrote[words[1]] = last
	case "read":
		h.read[words[1]] = max(h.read[words[1]], last)
	case "filled":
		n, err := strconv.Atoi(words[1])
		h.filled[n] = last
		return err
	default:
		if h.done[last] == nil {
			h.done[last] = map[string]bool{}
		}
		h.done[last][words[0]] = true
	}
	return nil
}

// killHeavy runs the load and kills it after count lines.
func killHeavy(t *testing.T, dir string, first, count int) *heavyHistory {
	t.Helper()
	h := &heavyHistory{first: first, wrote: map[string]int{}, read: map[string]int{}, done: map[int]map[string]bool{}, filled: map[int]int{}}
	load := exec.CommandContext(t.Context(), os.Args[0])
	load.Env = append(os.Environ(), heavyFolder+"="+dir, heavyFolder+"_FIRST="+strconv.Itoa(first))
	output, err := load.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if err := h.add(lines.Text()); err != nil {
			t.Error(err)
		}
		if count--; count == 0 {
			if err := load.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := load.Wait(); err == nil || t.Failed() {
		t.Fatal("the load ended before it was killed")
	}
	return h
}

// checkItems checks that each key is at a round that was acknowledged or read, or at the round that
// was in flight. before has the rounds of the keys before the load. checkItems replaces them with
// the rounds that it finds.
func (h *heavyHistory) checkItems(t *testing.T, items map[string]attributes, before map[string]int) {
	t.Helper()
	for writer := range heavyWriters {
		for i := range heavyKeys {
			key, found := heavyKey(writer, i), absent
			if item := items[heavyKey(writer, i)]; item != nil {
				found = numberOf(item, "when")
				if string(item["pad"].(*types.AttributeValueMemberB).Value) != string(heavyItem(key, found)["pad"].(*types.AttributeValueMemberB).Value) {
					t.Errorf("%s does not have the bytes of its round", key)
				}
			}
			if wrote, read := h.wrote[key], h.read[key]; !h.allowed(found, wrote, read, before[key]) {
				t.Errorf("%s is at round %d; round %d was acknowledged, %d was read, the load began with %d at %d", key, found, wrote, read, h.first, before[key])
			}
			before[key] = found
		}
	}
}

func (h *heavyHistory) allowed(found, wrote, read, before int) bool {
	// Reads of rounds from before the load say no more than before.
	low, underWay := max(wrote, read), max(wrote, h.first-1)+1
	if low < h.first && found == before {
		return true
	}
	low = max(low, h.first)
	if found == absent {
		for round := low; round <= underWay; round++ {
			if deletesHeavy(round) {
				return true
			}
		}
		return false
	}
	return low <= found && found <= underWay && !deletesHeavy(found)
}

// checkTables checks that tables exist as acknowledged, as a whole or not at all, and that indexes
// agree with them.
func (h *heavyHistory) checkTables(t *testing.T, engine *embedded.Engine) {
	t.Helper()
	client := clientOf(engine)
	for n, done := range h.done {
		name := turnedTable(n)
		found, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
		var none *types.ResourceNotFoundException
		switch {
		case errors.As(err, &none):
			if done["made"] && !done["dropping"] {
				t.Errorf("%s was acknowledged but does not exist: %v", name, done)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", name, err)
			continue
		case done["dropped"]:
			t.Errorf("%s was dropped but exists", name)
		}
		waitForIndexes(t, engine, name)
		indexes := []string{""}
		for _, index := range found.Table.GlobalSecondaryIndexes {
			indexes = append(indexes, *index.IndexName)
		}
		if !slices.Contains(indexes, "group") || done["added"] && !slices.Contains(indexes, "later") {
			t.Errorf("%s has the indexes %q: %v", name, indexes, done)
		}
		_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: &name, Item: attributes{"pk": text("new"), "sk": number("1"), "when": number("1"), "grp": text("g"), "v": text("v")},
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		items := partitionKeys(t, client, name, "")
		for _, index := range indexes[1:] {
			if entries := partitionKeys(t, client, name, index); !slices.Equal(entries, items) {
				t.Errorf("%s has %d items, its index %s %d", name, len(items), index, len(entries))
			}
		}
		for i := range h.filled[n] {
			if _, there := slices.BinarySearch(items, strconv.Itoa(i)); !there {
				t.Errorf("%s: item %d of %d acknowledged items is missing", name, i, h.filled[n])
			}
		}
		if _, err := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Error(err)
		}
	}
}

// partitionKeys returns the partition keys in the table or its index, sorted.
func partitionKeys(t *testing.T, client *dynamodb.Client, table, index string) []string {
	t.Helper()
	in := &dynamodb.ScanInput{TableName: &table}
	if index != "" {
		in.IndexName = &index
	}
	var found []string
	for pages := dynamodb.NewScanPaginator(client, in); pages.HasMorePages(); {
		for _, item := range must(pages.NextPage(t.Context()))(t).Items {
			found = append(found, item["pk"].(*types.AttributeValueMemberS).Value)
		}
	}
	slices.Sort(found)
	return found
}

// TestCrash_CompactionsSurviveKilledProcess kills a process while Pebble fills and merges its
// tables, while tables are created and dropped, and while an added index is backfilled. Data that
// was acknowledged or read must be stored afterwards.
func TestCrash_CompactionsSurviveKilledProcess(t *testing.T) {
	dir := t.TempDir()
	engine := openFolder(t, dir)
	run(t, engine, []step{{"CreateTable", richTable, `{"TableDescription":{…`}})
	closeEngine(t, engine)
	before := map[string]int{}
	for writer := range heavyWriters {
		for key := range heavyKeys {
			before[heavyKey(writer, key)] = absent
		}
	}
	random := rand.New(rand.NewPCG(7, uint64(crashes(t))))
	first, sum := heavyDeletes, map[string]int{}
	sorted := map[string]bool{}
	for range crashes(t) {
		h := killHeavy(t, dir, first, 1+random.IntN(200))
		for _, name := range must(filepath.Glob(filepath.Join(dir, "*.sst")))(t) {
			sorted[name] = true
		}
		engine := openFolder(t, dir)
		client := clientOf(engine)
		items := readAll(t, client, "")
		h.checkItems(t, items, before)
		for _, index := range []string{"local", "group", "all"} {
			if entries := readAll(t, client, index); len(entries) != len(items) {
				t.Errorf("index %s has %d entries of %d items", index, len(entries), len(items))
			}
		}
		h.checkTables(t, engine)
		closeEngine(t, engine)
		for _, round := range h.wrote {
			first = max(first, round+2)
			sum["rounds of a key"] += max(0, round-h.first+1)
		}
		for n, done := range h.done {
			first = max(first, n+1)
			for step := range done {
				sum[step]++
			}
			switch {
			case !done["made"]:
				sum["killed while a table was made"]++
			case done["dropping"] && !done["dropped"]:
				sum["killed while a table was dropped"]++
			case h.filled[n] == turnedItems && !done["added"]:
				sum["killed while an index was added"]++
			case done["added"] && !done["active"]:
				sum["killed while an index was filled"]++
			}
		}
		if t.Failed() {
			break
		}
	}
	left := must(filepath.Glob(filepath.Join(dir, "*.sst")))(t)
	t.Logf("%d kills: %v; %d of Pebble's tables were there after a kill, %d are at the end", crashes(t), sum, len(sorted), len(left))
}
