package embedded_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal/embedded"
)

func putAction(pk, rest string) string {
	return `{"Put":{"TableName":"tab","Item":{"pk":{"S":"` + pk + `"}}` + rest + `}}`
}

func TestTransaction_AllChangesOrNone(t *testing.T) {
	const fresh = `,"ConditionExpression":"attribute_not_exists(pk)"`
	cancelled := "TransactionCanceledException: Transaction cancelled, please refer cancellation reasons for specific reasons "
	run(t, openWith(t, simpleTable), []step{
		{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"old"},"n":{"N":"1"}}}`, `{}`},
		{"TransactWriteItems", `{"TransactItems":[` + putAction("a", fresh) + `,` + putAction("old", fresh+`,"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`) + `]}`,
			cancelled + `[None, ConditionalCheckFailed] {"CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Item":{"n":{"N":"1"},` +
				`"pk":{"S":"old"}},"Message":"The conditional request failed"}]}`},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}}}`, `{}`},
		{"TransactWriteItems", `{"TransactItems":[` + putAction("a", fresh) + `,
			{"Update":{"TableName":"tab","Key":{"pk":{"S":"old"}},"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}},
			{"ConditionCheck":{"TableName":"tab","Key":{"pk":{"S":"none"}},"ConditionExpression":"attribute_not_exists(pk)"}},
			{"Delete":{"TableName":"tab","Key":{"pk":{"S":"gone"}}}}],"ReturnConsumedCapacity":"TOTAL"}`,
			`{"ConsumedCapacity":[{"CapacityUnits":8,"TableName":"tab","WriteCapacityUnits":8}]}`},
		{"TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"tab","Key":{"pk":{"S":"old"}}}},{"Get":{"TableName":"tab","Key":{"pk":{"S":"none"}}}},` +
			`{"Get":{"TableName":"tab","Key":{"pk":{"S":"a"}},"ProjectionExpression":"x"}}],"ReturnConsumedCapacity":"TOTAL"}`,
			`{"ConsumedCapacity":[{"CapacityUnits":6,"ReadCapacityUnits":6,"TableName":"tab"}],"Responses":[{"Item":{"n":{"N":"2"},"pk":{"S":"old"}}},{},{"Item":{}}]}`},
		{"TransactWriteItems", `{"TransactItems":[` + putAction("b", "") + `,{"Update":{"TableName":"tab","Key":{"pk":{"S":"old"}},"UpdateExpression":"SET ` +
			`n = list_append(n, n)"}}]}`,
			cancelled + `[None, ValidationError] {"CancellationReasons":[{"Code":"None"},{"Code":"ValidationError","Message":"…`},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"b"}}}`, `{}`},
	})
}

func TestTransactionsAreChecked(t *testing.T) {
	many := make([]string, 101)
	for i := range many {
		many[i] = putAction(fmt.Sprint(i), "")
	}
	large := strings.Repeat("x", 390<<10)
	big := make([]string, 11)
	for i := range big {
		big[i] = fmt.Sprintf(`{"Put":{"TableName":"tab","Item":{"pk":{"S":"%d"},"d":{"S":"%s"}}}}`, i, large)
	}
	write := func(actions ...string) string { return `{"TransactItems":[` + strings.Join(actions, ",") + `]}` }
	run(t, openWith(t, simpleTable), []step{
		{"TransactWriteItems", write(), "ValidationException: 1 validation error detected: Value '[]' at 'transactItems' failed to satisfy " +
			"constraint: Member must have length greater than or equal to 1"},
		{"TransactWriteItems", write(many...), "ValidationException: 1 validation error detected: Value '[101 actions]' at 'transactItems' failed to " +
			"satisfy constraint: Member must have length less than or equal to 100"},
		{"TransactWriteItems", write(many[:100]...), `{}`},
		{"TransactWriteItems", write(putAction("a", ""), `{"Delete":{"TableName":"tab","Key":{"pk":{"S":"a"}}}}`),
			"ValidationException: Transaction request cannot include multiple operations on one item"},
		{"TransactWriteItems", write(`{}`), "ValidationException: TransactItems can only contain one of Check, Put, Update or Delete"},
		{"TransactWriteItems", write(big...), "ValidationException: Transaction payload size cannot exceed 4MB"},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"none","Item":{"pk":{"S":"a"}}}}]}`, "ResourceNotFoundException: Requested resource not found"},
		{"TransactWriteItems", write(`{"Update":{"TableName":"tab","Key":{"pk":{"S":"a"}}}}`),
			"ValidationException: 1 validation error detected: Value null at 'transactItems.1.member.update.updateExpression' failed to satisfy constraint: " +
				"Member must not be null"},
		{"TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"tab","Key":{"pk":{"S":"a"}}}},{"Get":{"TableName":"tab","Key":{"pk":{"S":"a"}}}}]}`,
			"ValidationException: Transaction request cannot include multiple operations on one item"},
	})
}

func TestTransaction_TokenIsIdempotentForTenMinutes(t *testing.T) {
	var lock sync.Mutex
	now := time.Unix(1_800_000_000, 0)
	engine := openMemory(t, embedded.WithSweepInterval(0), embedded.WithClock(func() time.Time {
		lock.Lock()
		defer lock.Unlock()
		return now
	}))
	add := func(n string) string {
		return `{"ClientRequestToken":"t1","ReturnConsumedCapacity":"TOTAL","TransactItems":[{"Update":{"TableName":"tab","Key":{"pk":{"S":"a"}},` +
			`"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{":n":{"N":"` + n + `"}}}}]}`
	}
	const read = `{"TableName":"tab","Key":{"pk":{"S":"a"}},"ProjectionExpression":"n"}`
	sweep := func() {
		if _, err := engine.SweepExpired(); err != nil {
			t.Fatal(err)
		}
	}
	run(t, engine, []step{
		{"CreateTable", simpleTable, `{"TableDescription":{…`},
		{"TransactWriteItems", add("1"), `{"ConsumedCapacity":[{"CapacityUnits":2,"TableName":"tab","WriteCapacityUnits":2}]}`},
		{"TransactWriteItems", add("1"), `{"ConsumedCapacity":[{"CapacityUnits":2,"ReadCapacityUnits":2,"TableName":"tab"}]}`},
		{"GetItem", read, `{"Item":{"n":{"N":"1"}}}`},
		{"TransactWriteItems", add("2"), "IdempotentParameterMismatchException: The request was rejected because it was retried with the same token but " +
			"with different request parameters."},
	})
	now = now.Add(10*time.Minute - time.Second)
	sweep()
	run(t, engine, []step{
		{"TransactWriteItems", add("1"), `{"ConsumedCapacity":[{"CapacityUnits":2,"ReadCapacityUnits":2,"TableName":"tab"}]}`},
		{"GetItem", read, `{"Item":{"n":{"N":"1"}}}`},
	})
	now = now.Add(time.Second)
	sweep()
	run(t, engine, []step{
		{"TransactWriteItems", add("2"), `{"ConsumedCapacity":[{"CapacityUnits":2,"TableName":"tab","WriteCapacityUnits":2}]}`},
		{"GetItem", read, `{"Item":{"n":{"N":"3"}}}`},
	})
}

// TestConcurrentTransactionsKeepTheSum moves money between accounts from many goroutines, while
// others read.
func TestConcurrentTransactionsKeepTheSum(t *testing.T) {
	engine := openWith(t, simpleTable)
	const accounts, rounds = 5, 100
	for i := range accounts {
		ask(t, engine, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"%d"},"n":{"N":"100"}}}`, i))
	}
	move := func(from, to int) string {
		const update = `{"Update":{"TableName":"tab","Key":{"pk":{"S":"%d"}},"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{":n":{"N":"%d"}}}}`
		return fmt.Sprintf(`{"TransactItems":[`+update+`,`+update+`]}`, from, -1, to, 1)
	}
	var gets []string
	for i := range accounts {
		gets = append(gets, fmt.Sprintf(`{"Get":{"TableName":"tab","Key":{"pk":{"S":"%d"}},"ProjectionExpression":"n"}}`, i))
	}
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range rounds {
				from := (worker + i) % accounts
				if got := ask(t, engine, "TransactWriteItems", move(from, (from+1+worker%2)%accounts)); got != "{}" {
					t.Error(got)
				}
			}
		})
	}
	for range rounds {
		got := ask(t, engine, "TransactGetItems", `{"TransactItems":[`+strings.Join(gets, ",")+`]}`)
		sum := 0
		for _, part := range strings.Split(got, `"N":"`)[1:] {
			n := 0
			if _, err := fmt.Sscan(strings.SplitN(part, `"`, 2)[0], &n); err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if sum != accounts*100 {
			t.Errorf("the sum is %d: %s", sum, got)
		}
	}
	group.Wait()
}

func TestPutItem_OneOfManyConditionalPutsSucceeds(t *testing.T) {
	engine := openWith(t, simpleTable)
	for round := range 500 {
		body := fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"%d"}},"ConditionExpression":"attribute_not_exists(pk)"}`, round)
		var lock sync.Mutex
		var group sync.WaitGroup
		successes := 0
		start := make(chan struct{})
		for range 8 {
			group.Go(func() {
				<-start
				switch got := ask(t, engine, "PutItem", body); got {
				case "{}":
					lock.Lock()
					successes++
					lock.Unlock()
				case "ConditionalCheckFailedException: The conditional request failed":
				default:
					t.Error(got)
				}
			})
		}
		close(start)
		group.Wait()
		if successes != 1 {
			t.Fatalf("%d succeeded", successes)
		}
	}
}
