package embedded_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/embedded"
)

func switchToOnDemand(t *testing.T, client *dynamodb.Client) {
	t.Helper()
	must(client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName: aws.String("orders"), BillingMode: types.BillingModePayPerRequest,
	}))(t)
}

func switchToProvisioned(t *testing.T, client *dynamodb.Client, table, index types.ProvisionedThroughput) {
	t.Helper()
	must(client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName: aws.String("orders"), BillingMode: types.BillingModeProvisioned, ProvisionedThroughput: &table,
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{
			Update: &types.UpdateGlobalSecondaryIndexAction{IndexName: aws.String("owners"), ProvisionedThroughput: &index},
		}},
	}))(t)
}

func units(read, write int64) types.ProvisionedThroughput {
	return types.ProvisionedThroughput{ReadCapacityUnits: &read, WriteCapacityUnits: &write}
}

func TestThroughput_SwitchToProvisionedStartsWithOneSecond(t *testing.T) {
	_, client, clock := limitedEngine(t)
	createProvisioned(t, client, 10, 50, 40)
	write := func(owner string) func(int) error {
		return func(n int) error {
			item := attributes{"pk": text(owner + strconv.Itoa(n))}
			if owner != "" {
				item["owner"] = text(owner)
			}
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: item})
			return err
		}
	}
	const code = "ProvisionedThroughputExceededException"
	if n := admitted(t, code, write("o")); n != 40 {
		t.Errorf("%d writes to the index at first, want 40", n)
	}
	switchToOnDemand(t, client)
	for n := range 200 {
		if err := write("o")(n); err != nil {
			t.Fatalf("an on-demand write: %v", err)
		}
	}
	// The units that the table and the index would have accumulated are dropped.
	clock.add(time.Hour)
	switchToProvisioned(t, client, units(10, 8), units(10, 3))
	if n := admitted(t, code, write("p")); n != 3 {
		t.Errorf("%d writes to the index after the switch, want 3", n)
	}
	if n := admitted(t, code, write("")); n != 5 {
		t.Errorf("%d further writes to the table, want 5", n)
	}
	clock.add(2 * time.Second)
	if n := admitted(t, code, write("q")); n != 6 {
		t.Errorf("%d writes to the index after 2 s, want 6", n)
	}
}

// shownThroughput is ProvisionedThroughput of a description.
type shownThroughput struct {
	LastIncreaseDateTime, LastDecreaseDateTime float64
	NumberOfDecreasesToday                     int
	ReadCapacityUnits, WriteCapacityUnits      int64
}

// throughputs returns the throughput of the table and of its index.
func throughputs(t *testing.T, engine *embedded.Engine) (table, index shownThroughput) {
	t.Helper()
	var shown struct {
		Table struct {
			ProvisionedThroughput  shownThroughput
			GlobalSecondaryIndexes []struct{ ProvisionedThroughput shownThroughput }
		}
	}
	if err := json.Unmarshal([]byte(ask(t, engine, "DescribeTable", `{"TableName":"orders"}`)), &shown); err != nil {
		t.Fatal(err)
	}
	return shown.Table.ProvisionedThroughput, shown.Table.GlobalSecondaryIndexes[0].ProvisionedThroughput
}

func TestDescriptionsShowTheChangesOfTheThroughput(t *testing.T) {
	const morning = 1_000_000 // 13:46:40 UTC
	clock := &testClock{now: time.Unix(morning, 0)}
	dir := t.TempDir()
	engine, err := embedded.Open(dir, embedded.WithClock(clock.time), embedded.WithSweepInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	client := clientOf(engine)
	check := func(what string, wantTable, wantIndex shownThroughput) {
		t.Helper()
		if table, index := throughputs(t, engine); table != wantTable || index != wantIndex {
			t.Errorf("%s:\n got %+v and %+v\nwant %+v and %+v", what, table, index, wantTable, wantIndex)
		}
	}
	change := func(to types.ProvisionedThroughput) {
		t.Helper()
		must(client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: aws.String("orders"), ProvisionedThroughput: &to}))(t)
	}

	createProvisioned(t, client, 5, 5, 5)
	index := shownThroughput{ReadCapacityUnits: 5, WriteCapacityUnits: 5}
	check("new", shownThroughput{ReadCapacityUnits: 5, WriteCapacityUnits: 5}, index)
	clock.add(time.Second)
	change(units(6, 4)) // an increase and a decrease
	table := shownThroughput{morning + 1, morning + 1, 1, 6, 4}
	check("6 and 4", table, index)
	clock.add(time.Second)
	change(units(3, 3))
	table = shownThroughput{morning + 1, morning + 2, 2, 3, 3}
	check("3 and 3", table, index)

	// The switch to on-demand is a decrease of the index only.
	clock.add(time.Second)
	switchToOnDemand(t, client)
	table.ReadCapacityUnits, table.WriteCapacityUnits = 0, 0
	index = shownThroughput{0, morning + 3, 1, 0, 0}
	check("on-demand", table, index)
	clock.add(24 * time.Hour)
	table.NumberOfDecreasesToday, index.NumberOfDecreasesToday = 0, 0
	check("on the next day", table, index)

	// The switch back does not count as an increase.
	switchToProvisioned(t, client, units(7, 8), units(9, 10))
	table.ReadCapacityUnits, table.WriteCapacityUnits = 7, 8
	index.ReadCapacityUnits, index.WriteCapacityUnits = 9, 10
	check("provisioned", table, index)

	closeEngine(t, engine)
	if engine, err = embedded.Open(dir, embedded.WithClock(clock.time), embedded.WithSweepInterval(0)); err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, engine)
	check("opened again", table, index)
}
