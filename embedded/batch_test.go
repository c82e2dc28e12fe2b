package embedded_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestBatchesAreChecked(t *testing.T) {
	puts := func(n int) string {
		var requests []string
		for i := range n {
			requests = append(requests, fmt.Sprintf(`{"PutRequest":{"Item":{"pk":{"S":"%d"}}}}`, i))
		}
		return `{"RequestItems":{"tab":[` + strings.Join(requests, ",") + `]}}`
	}
	keys := func(n int) string {
		var keys []string
		for i := range n {
			keys = append(keys, fmt.Sprintf(`{"pk":{"S":"%d"}}`, i))
		}
		return `{"RequestItems":{"tab":{"Keys":[` + strings.Join(keys, ",") + `]}}}`
	}
	run(t, openWith(t, simpleTable), []step{
		{"BatchWriteItem", puts(25), `{"UnprocessedItems":{}}`},
		{"BatchWriteItem", puts(26), "ValidationException: 1 validation error detected: Value '{tab=[26 requests]}' at 'requestItems' failed to satisfy " +
			"constraint: Map value must satisfy constraint: " +
			"[Member must have length less than or equal to 25, Member must have length greater than or equal to 1]"},
		{"BatchWriteItem", puts(0), "ValidationException: 1 validation error detected: …"},
		{"BatchWriteItem", `{"RequestItems":{}}`, "ValidationException: The requestItems parameter is required for BatchWriteItem"},
		{"BatchWriteItem", `{"RequestItems":{"tab":[{"PutRequest":{"Item":{"pk":{"S":"a"}}}},{"DeleteRequest":{"Key":{"pk":{"S":"a"}}}}]}}`,
			"ValidationException: Provided list of item keys contains duplicates"},
		{"BatchWriteItem", `{"RequestItems":{"tab":[{"PutRequest":{"Item":{"pk":{"S":"fresh"}}}},{"DeleteRequest":{"Key":{"x":{"S":"a"}}}}]}}`,
			"ValidationException: The provided key element does not match the schema"},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"fresh"}}}`, `{}`},
		{"BatchWriteItem", `{"RequestItems":{"none":[{"PutRequest":{"Item":{"pk":{"S":"a"}}}}]}}`, "ResourceNotFoundException: Requested resource not found"},
		{"BatchGetItem", keys(101), "ValidationException: 1 validation error detected: Value at 'RequestItems.tab.member.Keys' failed to " +
			"satisfy constraint: Member must have length less than or equal to 100"},
		{"BatchGetItem", `{"RequestItems":{"tab":{"Keys":[{"pk":{"S":"a"}},{"pk":{"S":"a"}}]}}}`, "ValidationException: Provided list of item keys contains duplicates"},
		{"BatchGetItem", `{"RequestItems":{"none":{"Keys":[{"pk":{"S":"a"}}]}}}`, "ResourceNotFoundException: Requested resource not found"},
	})
}

func TestBatchGetItem_UnprocessedKeysThatDoNotFit(t *testing.T) {
	engine := openWith(t, simpleTable)
	large := strings.Repeat("x", 390<<10)
	var keys []string
	for i := range 50 {
		keys = append(keys, fmt.Sprintf(`{"pk":{"S":"%02d"}}`, i))
		ask(t, engine, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"%02d"},"d":{"S":"%s"}}}`, i, large))
	}
	got := ask(t, engine, "BatchGetItem", `{"RequestItems":{"tab":{"ProjectionExpression":"#p","ExpressionAttributeNames":{"#p":"pk"},`+
		`"ConsistentRead":true,"Keys":[`+strings.Join(keys, ",")+`]}}}`)
	// At most 42 items of 390 KiB fit into 16 MiB.
	want := `"UnprocessedKeys":{"tab":{"ConsistentRead":true,"ExpressionAttributeNames":{"#p":"pk"},"Keys":[` + strings.Join(keys[42:], ",") + `],` +
		`"ProjectionExpression":"#p"}}`
	if !strings.Contains(got, want) || strings.Count(got, `{"pk":`) != 50 {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestBatchesCanHaveSeveralTables(t *testing.T) {
	run(t, openWith(t, simpleTable, richTable), []step{
		{"BatchWriteItem", `{"RequestItems":{"tab":[{"PutRequest":{"Item":{"pk":{"S":"a"}}}}],"rich":[{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"N":"1"},` +
			`"grp":{"S":"g"}}}}]},"ReturnConsumedCapacity":"INDEXES"}`,
			`{"ConsumedCapacity":[{"CapacityUnits":2,"GlobalSecondaryIndexes":{"all":{"CapacityUnits":1}},"Table":{"CapacityUnits":1},"TableName":"rich"},` +
				`{"CapacityUnits":1,"Table":{"CapacityUnits":1},"TableName":"tab"}],"UnprocessedItems":{}}`},
		{"BatchGetItem", `{"RequestItems":{"tab":{"Keys":[{"pk":{"S":"a"}}]},"rich":{"Keys":[{"pk":{"S":"a"},"sk":{"N":"1"}}],"AttributesToGet":["grp"]}}}`,
			`{"Responses":{"rich":[{"grp":{"S":"g"}}],"tab":[{"pk":{"S":"a"}}]},"UnprocessedKeys":{}}`},
	})
}

// The service returns a partial result if "more than 1MB per partition is requested", according to
// the page of BatchGetItem. An item that starts below 1 MB is still read, as in a page of a Query.
func TestBatchGetItem_OneMegabyteOfAPartition(t *testing.T) {
	engine := openWith(t, richTable)
	large := strings.Repeat("x", 390<<10)
	key := func(pk string, sk int) string { return fmt.Sprintf(`{"pk":{"S":"%s"},"sk":{"N":"%d"}}`, pk, sk) }
	var keys []string
	for sk := range 5 {
		for _, pk := range []string{"a", "b"} {
			keys = append(keys, key(pk, sk))
			ask(t, engine, "PutItem", fmt.Sprintf(`{"TableName":"rich","Item":{"pk":{"S":"%s"},"sk":{"N":"%d"},"d":{"S":"%s"}}}`, pk, sk, large))
		}
	}
	keys = append(keys, key("c", 0))
	get := func(keys []string) string {
		return ask(t, engine, "BatchGetItem", `{"RequestItems":{"rich":{"ProjectionExpression":"pk, sk","ConsistentRead":true,`+
			`"Keys":[`+strings.Join(keys, ",")+`]}},"ReturnConsumedCapacity":"TOTAL"}`)
	}
	// Three items of each partition are read, with 98 units each. The missing item costs one unit.
	got := get(keys)
	want := `{"ConsumedCapacity":[{"CapacityUnits":589,"TableName":"rich"}],"Responses":{"rich":[` + strings.Join(keys[:6], ",") + `]},` +
		`"UnprocessedKeys":{"rich":{"ConsistentRead":true,"Keys":[` + strings.Join(keys[6:10], ",") + `],"ProjectionExpression":"pk, sk"}}}`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	// The rest is read by the next request.
	got = get(keys[6:10])
	want = `{"ConsumedCapacity":[{"CapacityUnits":392,"TableName":"rich"}],"Responses":{"rich":[` + strings.Join(keys[6:10], ",") + `]},"UnprocessedKeys":{}}`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
