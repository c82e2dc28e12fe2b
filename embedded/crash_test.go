package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/dynajournal/dynajournal/embedded"
)

// crashFolder is the environment variable with the folder in which the test program writes until it
// is killed.
const crashFolder = "EMBEDDED_CRASH_FOLDER"

// acknowledged are the numbers whose writes were acknowledged.
type acknowledged struct {
	lock    sync.Mutex
	numbers []int
}

func (a *acknowledged) add(n int) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.numbers = append(a.numbers, n)
}

func (a *acknowledged) copy() []int {
	a.lock.Lock()
	defer a.lock.Unlock()
	return slices.Clone(a.numbers)
}

// writeNumber writes the number n in a transaction of two items, one of which has an index entry.
// For every third number it also puts and deletes an item.
func writeNumber(ctx context.Context, client *dynamodb.Client, n int) error {
	item := func(sk int) attributes {
		return attributes{"pk": text(strconv.Itoa(n)), "sk": number(strconv.Itoa(sk)), "grp": text("g"), "when": number(strconv.Itoa(n))}
	}
	second := item(2)
	delete(second, "grp")
	_, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: aws.String("rich"), Item: item(1)}},
		{Put: &types.Put{TableName: aws.String("rich"), Item: second}},
	}})
	if err != nil || n%3 != 0 {
		return err
	}
	if _, err = client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("rich"), Item: item(3)}); err != nil {
		return err
	}
	_, err = client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String("rich"), Key: attributes{"pk": text(strconv.Itoa(n)), "sk": number("3")}})
	return err
}

// checkNumbers checks that the acknowledged numbers are stored, transactions are complete, and the
// indexes agree with the items.
func checkNumbers(t *testing.T, engine *embedded.Engine, acked []int) {
	t.Helper()
	client := clientOf(engine)
	items := scanAll(t, client, "")
	for _, n := range acked {
		pk := strconv.Itoa(n)
		if !items[pk+"/1"] || !items[pk+"/2"] || items[pk+"/3"] {
			t.Errorf("number %d was acknowledged: item 1 is stored: %v, item 2: %v, the deleted item: %v", n, items[pk+"/1"], items[pk+"/2"], items[pk+"/3"])
		}
	}
	grouped := 0
	for key := range items {
		pk, sk := key[:len(key)-2], key[len(key)-1:]
		if items[pk+"/1"] != items[pk+"/2"] {
			t.Errorf("the transaction of %s is stored in part", pk)
		}
		if sk != "2" {
			grouped++
		}
	}
	for index, want := range map[string]int{"group": grouped, "all": grouped, "local": len(items)} {
		entries := scanAll(t, client, index)
		if len(entries) != want {
			t.Errorf("index %s has %d entries, want %d", index, len(entries), want)
		}
		for key := range entries {
			if !items[key] {
				t.Errorf("index %s has an entry of %s, which is not stored", index, key)
			}
		}
	}
}

func scanAll(t *testing.T, client *dynamodb.Client, index string) map[string]bool {
	t.Helper()
	in := &dynamodb.ScanInput{TableName: aws.String("rich")}
	if index != "" {
		in.IndexName = aws.String(index)
	}
	found := map[string]bool{}
	for pages := dynamodb.NewScanPaginator(client, in); pages.HasMorePages(); {
		page := must(pages.NextPage(t.Context()))(t)
		for _, item := range page.Items {
			found[item["pk"].(*types.AttributeValueMemberS).Value+"/"+item["sk"].(*types.AttributeValueMemberN).Value] = true
		}
	}
	return found
}

func TestCrash_AcknowledgedWritesSurvivePowerFailure(t *testing.T) {
	disk := vfs.NewCrashableMem()
	engine, err := embedded.Open("new/data", embedded.WithFS(disk))
	if err != nil {
		t.Fatal(err)
	}
	run(t, engine, []step{{"CreateTable", richTable, `{"TableDescription":{…`}})
	client := clientOf(engine)
	var acked acknowledged
	// The writers are at most two rounds ahead, regardless of how long the check of a round takes.
	const crashes, round = 8, 50
	turns := make(chan struct{}, (crashes+1)*round)
	var writers sync.WaitGroup
	for writer := range 4 {
		writers.Go(func() {
			n := writer
			for range turns {
				if err := writeNumber(t.Context(), client, n); err != nil {
					t.Error(err)
					return
				}
				acked.add(n)
				n += 4
			}
		})
	}
	defer func() {
		close(turns)
		writers.Wait()
		closeEngine(t, engine)
	}()
	start := func() {
		for range round {
			turns <- struct{}{}
		}
	}
	start()
	random := rand.New(rand.NewPCG(1, 2))
	for crash := range crashes {
		start()
		for want := (crash + 1) * round; len(acked.copy()) < want && !t.Failed(); {
			must(client.ListTables(t.Context(), &dynamodb.ListTablesInput{}))(t)
		}
		before := acked.copy()
		left := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: crash * 14, RNG: random})
		survivor, err := embedded.Open("new/data", embedded.WithFS(left))
		if err != nil {
			t.Fatal(err)
		}
		checkNumbers(t, survivor, before)
		closeEngine(t, survivor)
	}
}

// writeUntilKilled writes numbers from several goroutines and prints each after it was
// acknowledged.
func writeUntilKilled(dir string) {
	engine, err := embedded.Open(dir)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	first, err := strconv.Atoi(os.Getenv(crashFolder + "_FIRST"))
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	client := clientOf(engine)
	for writer := range 4 {
		go func() {
			for n := first + writer; ; n += 4 {
				if err := writeNumber(context.Background(), client, n); err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				fmt.Println(n)
			}
		}()
	}
	select {}
}

func TestCrash_AcknowledgedWritesSurviveKilledProcess(t *testing.T) {
	dir := t.TempDir()
	engine := openFolder(t, dir)
	run(t, engine, []step{{"CreateTable", richTable, `{"TableDescription":{…`}})
	closeEngine(t, engine)
	var acked []int
	for kill := range 3 {
		acked = append(acked, killAfter(t, dir, kill*1_000_000, 40+60*kill)...)
		engine := openFolder(t, dir)
		checkNumbers(t, engine, acked)
		closeEngine(t, engine)
	}
}

// killAfter starts a writer and kills it once it has acknowledged count numbers. It returns all
// acknowledged numbers.
func killAfter(t *testing.T, dir string, first, count int) []int {
	t.Helper()
	writer := exec.CommandContext(t.Context(), os.Args[0])
	writer.Env = append(os.Environ(), crashFolder+"="+dir, crashFolder+"_FIRST="+strconv.Itoa(first))
	output, err := writer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	var acked []int
	for lines := bufio.NewScanner(output); lines.Scan(); {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(lines.Text())
		}
		acked = append(acked, n)
		if len(acked) == count {
			if err := writer.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := writer.Wait(); err == nil {
		t.Error("the writer ended before it was killed")
	}
	return acked
}
