package embedded_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestConsumedCapacityIsAsDocumented(t *testing.T) {
	// The item {"pk":"a","d":…} has 4 bytes besides the text.
	item := func(size int) string { return `{"pk":{"S":"a"},"d":{"S":"` + strings.Repeat("x", size-4) + `"}}` }
	put := func(size int, rest string) string {
		return `{"TableName":"tab","Item":` + item(size) + `,"ReturnConsumedCapacity":"TOTAL"` + rest + `}`
	}
	units := func(n float64) string {
		return fmt.Sprintf(`{"ConsumedCapacity":{"CapacityUnits":%v,"TableName":"tab"}}`, n)
	}
	const (
		get  = `{"TableName":"tab","Key":{"pk":{"S":"a"}},"ProjectionExpression":"pk","ReturnConsumedCapacity":"TOTAL"`
		none = `{"TableName":"tab","Key":{"pk":{"S":"z"}},"ReturnConsumedCapacity":"TOTAL"`
	)
	got := func(n float64) string {
		return fmt.Sprintf(`{"ConsumedCapacity":{"CapacityUnits":%v,"TableName":"tab"},"Item":{"pk":{"S":"a"}}}`, n)
	}
	engine := openWith(t, simpleTable)
	run(t, engine, []step{
		{"PutItem", put(1024, ""), units(1)},
		{"PutItem", put(1025, ""), units(2)},
		{"PutItem", put(10, ""), units(2)},   // the old item was the larger one
		{"PutItem", put(10, ""), units(1)},   // the old item is small
		{"PutItem", put(4096, ""), units(4)}, //
		{"GetItem", get + `}`, got(0.5)},     // 4 KB, eventually
		{"GetItem", get + `,"ConsistentRead":true}`, got(1)},
		{"PutItem", put(4097, ""), units(5)},
		{"GetItem", get + `}`, got(1)},
		{"GetItem", get + `,"ConsistentRead":true}`, got(2)},
		{"GetItem", none + `}`, units(0.5)},
		{"GetItem", none + `,"ConsistentRead":true}`, units(1)},
		{"BatchGetItem", `{"RequestItems":{"tab":{"Keys":[{"pk":{"S":"a"}},{"pk":{"S":"z"}}],"ProjectionExpression":"pk"}},"ReturnConsumedCapacity":"TOTAL"}`,
			`{"ConsumedCapacity":[{"CapacityUnits":1.5,"TableName":"tab"}],"Responses":{"tab":[{"pk":{"S":"a"}}]},"UnprocessedKeys":{}}`},
		{"DeleteItem", none + `}`, units(1)},
		{"PutItem", put(10, `,"ConditionExpression":"attribute_not_exists(pk)"`), "ConditionalCheckFailedException: The conditional request failed"},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"UpdateExpression":"REMOVE d","ReturnConsumedCapacity":"INDEXES"}`,
			`{"ConsumedCapacity":{"CapacityUnits":5,"Table":{"CapacityUnits":5},"TableName":"tab"}}`},
		{"DeleteItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}},"ReturnConsumedCapacity":"TOTAL"}`, units(1)},
		{"BatchWriteItem", `{"RequestItems":{"tab":[{"PutRequest":{"Item":` + item(1025) + `}},{"DeleteRequest":{"Key":{"pk":{"S":"z"}}}}]},"ReturnConsumedCapacity":"TOTAL"}`,
			`{"ConsumedCapacity":[{"CapacityUnits":3,"TableName":"tab"}],"UnprocessedItems":{}}`},
	})
	counters := engine.Counters()
	// The failed conditional write consumes 5 units, for the stored item.
	if want := 1 + 2 + 2 + 1 + 4 + 5 + 1 + 5 + 5 + 1 + 3.0; counters.Units["tab"].Write != want {
		t.Errorf("write units: %v, want %v", counters.Units["tab"].Write, want)
	}
	if want := 0.5 + 1 + 1 + 2 + 0.5 + 1 + 1.5; counters.Units["tab"].Read != want {
		t.Errorf("read units: %v, want %v", counters.Units["tab"].Read, want)
	}
	if counters.Requests["PutItem"] != 7 || counters.Requests["GetItem"] != 6 || counters.Requests["CreateTable"] != 1 {
		t.Errorf("requests: %v", counters.Requests)
	}
}

func TestConsumedCapacity_EachChangedIndex(t *testing.T) {
	engine := openWith(t, richTable)
	const (
		key    = `"TableName":"rich","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"ReturnConsumedCapacity":"INDEXES"`
		names  = `,"ExpressionAttributeNames":{"#w":"when"}`
		values = `,"ExpressionAttributeValues":{":v":`
	)
	capacity := func(table, local, group, all float64) string {
		text := fmt.Sprintf(`{"ConsumedCapacity":{"CapacityUnits":%v`, table+local+group+all)
		if group+all > 0 {
			var parts []string
			if all > 0 {
				parts = append(parts, fmt.Sprintf(`"all":{"CapacityUnits":%v}`, all))
			}
			if group > 0 {
				parts = append(parts, fmt.Sprintf(`"group":{"CapacityUnits":%v}`, group))
			}
			text += `,"GlobalSecondaryIndexes":{` + strings.Join(parts, ",") + `}`
		}
		if local > 0 {
			text += fmt.Sprintf(`,"LocalSecondaryIndexes":{"local":{"CapacityUnits":%v}}`, local)
		}
		return text + fmt.Sprintf(`,"Table":{"CapacityUnits":%v},"TableName":"rich"}}`, table)
	}
	run(t, engine, []step{
		// No index has all its keys.
		{"UpdateItem", `{` + key + `,"UpdateExpression":"SET more = :v"` + values + `{"S":"1"}}}`, capacity(1, 0, 0, 0)},
		// The item gets an entry in the local index.
		{"UpdateItem", `{` + key + `,"UpdateExpression":"SET #w = :v"` + names + values + `{"N":"1"}}}`, capacity(1, 1, 0, 0)},
		// The item gets entries in the global indexes.
		{"UpdateItem", `{` + key + `,"UpdateExpression":"SET grp = :v"` + values + `{"S":"g"}}}`, capacity(1, 0, 1, 1)},
		// Nothing changes.
		{"UpdateItem", `{` + key + `,"UpdateExpression":"SET grp = :v"` + values + `{"S":"g"}}}`, capacity(1, 0, 0, 0)},
		// Only the index with all attributes has this one.
		{"UpdateItem", `{` + key + `,"UpdateExpression":"SET more = :v"` + values + `{"S":"2"}}}`, capacity(1, 0, 0, 1)},
		// An attribute that two indexes contain changes.
		{"UpdateItem", `{` + key + `,"UpdateExpression":"SET extra = :v"` + values + `{"S":"2"}}}`, capacity(1, 0, 1, 1)},
		// The entries move: one is deleted, one is put.
		{"UpdateItem", `{` + key + `,"UpdateExpression":"SET grp = :v"` + values + `{"S":"h"}}}`, capacity(1, 0, 2, 2)},
		// The entries of two move, the third changes.
		{"UpdateItem", `{` + key + `,"UpdateExpression":"SET #w = :v"` + names + values + `{"N":"2"}}}`, capacity(1, 2, 2, 1)},
		// Large values count in the indexes that contain them.
		{"UpdateItem", `{` + key + `,"UpdateExpression":"SET more = :v"` + values + `{"S":"` + strings.Repeat("x", 2048) + `"}}}`, capacity(3, 0, 0, 3)},
		// All entries are deleted.
		{"DeleteItem", `{` + key + `}`, capacity(3, 1, 1, 3)},
	})
	for _, index := range []string{"local", "group", "all"} {
		if page := read(t, engine, "Scan", `{"TableName":"rich","IndexName":"`+index+`"}`); page.Count != 0 {
			t.Errorf("index %s still has %d entries", index, page.Count)
		}
	}
}
