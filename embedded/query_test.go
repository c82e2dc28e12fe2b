package embedded_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded"
)

// fill puts items into the rich table: for pk a and b, sk from -2 to 3. when is the absolute value
// of sk, and grp is g for even sk.
func fill(t *testing.T, engine *embedded.Engine) {
	t.Helper()
	for _, pk := range []string{"a", "b"} {
		for sk := -2; sk <= 3; sk++ {
			grp := ""
			if sk%2 == 0 {
				grp = `,"grp":{"S":"g"}`
			}
			body := fmt.Sprintf(`{"TableName":"rich","Item":{"pk":{"S":"%s"},"sk":{"N":"%d"},"when":{"N":"%d"},"extra":{"S":"e"},"more":{"S":"m"}%s}}`,
				pk, sk, max(sk, -sk), grp)
			if got := ask(t, engine, "PutItem", body); got != "{}" {
				t.Fatal(got)
			}
		}
	}
}

// readResult is the response of a Query or Scan.
type readResult struct {
	Items               []map[string]map[string]any
	Count, ScannedCount int
	LastEvaluatedKey    json.RawMessage
	NextToken           string
	ConsumedCapacity    struct{ CapacityUnits float64 }
}

func read(t *testing.T, engine *embedded.Engine, operation, body string) readResult {
	t.Helper()
	got := ask(t, engine, operation, body)
	var a readResult
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		t.Fatalf("%s: %s", body, got)
	}
	return a
}

func (a readResult) keys() string {
	var keys []string
	for _, item := range a.Items {
		keys = append(keys, fmt.Sprint(item["pk"]["S"], item["sk"]["N"]))
	}
	return strings.Join(keys, " ")
}

func TestQueriesSelectByKeyInOrder(t *testing.T) {
	engine := openWith(t, richTable)
	fill(t, engine)
	for _, c := range []struct{ condition, values, rest, want string }{
		{"pk = :p", `":p":{"S":"a"}`, "", "a-2 a-1 a0 a1 a2 a3"},
		{"pk = :p", `":p":{"S":"a"}`, `,"ScanIndexForward":false`, "a3 a2 a1 a0 a-1 a-2"},
		{"pk = :p AND sk = :s", `":p":{"S":"a"},":s":{"N":"1.0"}`, "", "a1"},
		{"pk = :p AND sk < :s", `":p":{"S":"a"},":s":{"N":"0"}`, "", "a-2 a-1"},
		{"pk = :p AND sk <= :s", `":p":{"S":"a"},":s":{"N":"0"}`, "", "a-2 a-1 a0"},
		{"pk = :p AND sk > :s", `":p":{"S":"b"},":s":{"N":"1"}`, "", "b2 b3"},
		{"pk = :p AND sk >= :s", `":p":{"S":"b"},":s":{"N":"1"}`, "", "b1 b2 b3"},
		{":s >= sk AND :p = pk", `":p":{"S":"b"},":s":{"N":"-1"}`, "", "b-2 b-1"},
		{"pk = :p AND sk BETWEEN :s AND :e", `":p":{"S":"b"},":s":{"N":"-1"},":e":{"N":"0"}`, "", "b-1 b0"},
		{"pk = :p AND sk > :s", `":p":{"S":"b"},":s":{"N":"3"}`, "", ""},
		{"pk = :p", `":p":{"S":"none"}`, "", ""},
		{"pk = :p", `":p":{"S":"a"}`, `,"IndexName":"local"`, "a0 a-1 a1 a-2 a2 a3"},
		{"pk = :p AND #w = :w", `":p":{"S":"a"},":w":{"N":"1"}`, `,"IndexName":"local","ExpressionAttributeNames":{"#w":"when"}`, "a-1 a1"},
		{"grp = :p AND #w > :w", `":p":{"S":"g"},":w":{"N":"1"}`, `,"IndexName":"group","ExpressionAttributeNames":{"#w":"when"}`, "a-2 a2 b-2 b2"},
		{"grp = :p", `":p":{"S":"g"},":x":{"S":"b"}`, `,"IndexName":"all","FilterExpression":"pk = :x"`, "b-2 b0 b2"},
		{"pk = :p", `":p":{"S":"a"},":x":{"S":"g"}`, `,"FilterExpression":"grp <> :x"`, "a-1 a1 a3"},
	} {
		got := read(t, engine, "Query", fmt.Sprintf(`{"TableName":"rich","KeyConditionExpression":"%s","ExpressionAttributeValues":{%s}%s}`,
			c.condition, c.values, c.rest))
		if got.keys() != c.want || got.Count != len(got.Items) {
			t.Errorf("%s %s: got %q, want %q", c.condition, c.rest, got.keys(), c.want)
		}
	}
}

func TestLegacyQueriesAndScans(t *testing.T) {
	engine := openWith(t, richTable)
	fill(t, engine)
	const a = `"KeyConditions":{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"a"}]}`
	for _, c := range []struct{ operation, rest, want string }{
		{"Query", a + `}`, "a-2 a-1 a0 a1 a2 a3"},
		{"Query", a + `,"sk":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"0"},{"N":"1"}]}}`, "a0 a1"},
		{"Query", a + `},"QueryFilter":{"grp":{"ComparisonOperator":"NOT_NULL"}}`, "a-2 a0 a2"},
		{"Query", a + `},"FilterExpression":"attribute_exists(grp)"`, "a-2 a0 a2"},
		{"Scan", `"ScanFilter":{"sk":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"3"}]}}`, "a3 b3"},
		{"Scan", `"ScanFilter":{"sk":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"3"}]},"pk":{"ComparisonOperator":"EQ",` +
			`"AttributeValueList":[{"S":"b"}]}},"ConditionalOperator":"OR"`,
			"a3 b-2 b-1 b0 b1 b2 b3"},
	} {
		got := read(t, engine, c.operation, `{"TableName":"rich",`+c.rest+`}`)
		keys := strings.Fields(got.keys())
		if c.operation == "Scan" {
			slices.SortStableFunc(keys, func(x, y string) int { return strings.Compare(x[:1], y[:1]) })
		}
		if strings.Join(keys, " ") != c.want {
			t.Errorf("%s: got %q, want %q", c.rest, keys, c.want)
		}
	}
	run(t, engine, []step{
		{"Query", `{"TableName":"rich","KeyConditions":{"pk":{"ComparisonOperator":"GT","AttributeValueList":[{"S":"a"}]}}}`,
			"ValidationException: Query key condition not supported"},
		{"Query", `{"TableName":"rich",` + a + `},"KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`,
			"ValidationException: Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {KeyConditions} " +
				"Expression parameters: {KeyConditionExpression}"},
		{"Query", `{"TableName":"rich",` + a + `},"QueryFilter":{"sk":{"ComparisonOperator":"NOT_NULL"}}}`,
			"ValidationException: QueryFilter can only contain non-primary key attributes: Primary key attribute: sk"},
	})
}

func TestQueriesAreChecked(t *testing.T) {
	engine := openWith(t, richTable)
	fill(t, engine)
	query := func(rest string) string {
		return `{"TableName":"rich","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}}` + rest + `}`
	}
	run(t, engine, []step{
		{"Query", `{"TableName":"rich"}`,
			"ValidationException: Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."},
		{"Query", query(`,"Limit":0`),
			"ValidationException: 1 validation error detected: Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1"},
		{"Query", query(`,"IndexName":"none"`), "ValidationException: The table does not have the specified index: none"},
		{"Query", `{"TableName":"rich","IndexName":"group","ConsistentRead":true,"KeyConditionExpression":"grp = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`,
			"ValidationException: Consistent reads are not supported on global secondary indexes"},
		{"Query", `{"TableName":"rich","IndexName":"group","KeyConditionExpression":"grp = :p","ExpressionAttributeValues":{":p":{"S":"a"}},"Select":"ALL_ATTRIBUTES"}`,
			wrong + "Select type ALL_ATTRIBUTES is not supported for global secondary index group because its projection type is not ALL"},
		{"Query", `{"TableName":"rich","IndexName":"group","KeyConditionExpression":"grp = :p","ExpressionAttributeValues":{":p":{"S":"a"}},"ProjectionExpression":"more"}`,
			wrong + "Global secondary index group does not project [more]"},
		{"Query", query(`,"FilterExpression":"sk = :p"`),
			"ValidationException: Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"},
		{"Query", query(`,"ExclusiveStartKey":{"pk":{"S":"a"}}`), "ValidationException: The provided starting key is invalid"},
		{"Query", query(`,"ExclusiveStartKey":{"pk":{"S":"b"},"sk":{"N":"1"}}`),
			"ValidationException: The provided starting key is outside query boundaries based on provided conditions"},
		{"Query", `{"TableName":"rich","KeyConditionExpression":"pk = :p AND sk > :s","ExpressionAttributeValues":{":p":{"S":"a"},":s":{"N":"1"}},` +
			`"ExclusiveStartKey":{"pk":{"S":"a"},"sk":{"N":"0"}}}`,
			"ValidationException: The provided starting key does not match the range key predicate"},
		{"Query", query(`,"Select":"SPECIFIC_ATTRIBUTES"`),
			"ValidationException: Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"},
		{"Scan", `{"TableName":"rich","Segment":1}`,
			"ValidationException: The TotalSegments parameter is required but was not present in the request when Segment parameter is present"},
		{"Scan", `{"TableName":"rich","TotalSegments":4}`,
			"ValidationException: The Segment parameter is required but was not present in the request when parameter TotalSegments is present"},
		{"Scan", `{"TableName":"rich","Segment":4,"TotalSegments":4}`,
			"ValidationException: The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 4 is not less than TotalSegments: 4"},
	})
}

func TestLocalIndexesFetchAttributesThatTheyDoNotHold(t *testing.T) {
	engine := openWith(t, richTable)
	fill(t, engine)
	const query = `{"TableName":"rich","IndexName":"local","KeyConditionExpression":"pk = :p AND #w = :w","ExpressionAttributeNames":{"#w":"when"},` +
		`"ExpressionAttributeValues":{":p":{"S":"a"},":w":{"N":"0"}},"ReturnConsumedCapacity":"INDEXES"`
	run(t, engine, []step{
		{"Query", query + `}`, `{"ConsumedCapacity":{"CapacityUnits":0.5,"LocalSecondaryIndexes":{"local":{"CapacityUnits":0.5}},` +
			`"Table":{"CapacityUnits":0},"TableName":"rich"},` +
			`"Count":1,"Items":[{"pk":{"S":"a"},"sk":{"N":"0"},"when":{"N":"0"}}],"ScannedCount":1}`},
		{"Query", query + `,"Select":"ALL_ATTRIBUTES"}`, `{"ConsumedCapacity":{"CapacityUnits":1,"LocalSecondaryIndexes":{"local":{"CapacityUnits":0.5}},` +
			`"Table":{"CapacityUnits":0.5},"TableName":"rich"},` +
			`"Count":1,"Items":[{"extra":{"S":"e"},"grp":{"S":"g"},"more":{"S":"m"},"pk":{"S":"a"},"sk":{"N":"0"},"when":{"N":"0"}}],"ScannedCount":1}`},
		{"Query", query + `,"ProjectionExpression":"more"}`, `{"ConsumedCapacity":{"CapacityUnits":1,` +
			`"LocalSecondaryIndexes":{"local":{"CapacityUnits":0.5}},"Table":{"CapacityUnits":0.5},"TableName":"rich"},` +
			`"Count":1,"Items":[{"more":{"S":"m"}}],"ScannedCount":1}`},
	})
}

func TestPagesHaveNoGapsAndNoDuplicates(t *testing.T) {
	engine := openWith(t, richTable)
	fill(t, engine)
	for _, c := range []struct{ operation, body string }{
		{"Query", `"KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}}`},
		{"Query", `"KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}},"ScanIndexForward":false`},
		{"Query", `"KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}},"IndexName":"local","ScanIndexForward":false`},
		{"Query", `"KeyConditionExpression":"grp = :p","ExpressionAttributeValues":{":p":{"S":"g"}},"IndexName":"group"`},
		{"Query", `"KeyConditionExpression":"grp = :p","ExpressionAttributeValues":{":p":{"S":"g"}},"IndexName":"all","ScanIndexForward":false`},
		{"Scan", `"Select":"ALL_ATTRIBUTES"`},
		{"Scan", `"IndexName":"group"`},
	} {
		whole := read(t, engine, c.operation, `{"TableName":"rich",`+c.body+`}`)
		for limit := 1; limit <= 4; limit++ {
			var pages []string
			start := ""
			for {
				page := read(t, engine, c.operation, fmt.Sprintf(`{"TableName":"rich","Limit":%d,%s%s}`, limit, c.body, start))
				if keys := page.keys(); keys != "" {
					pages = append(pages, keys)
				}
				if page.LastEvaluatedKey == nil {
					break
				}
				start = `,"ExclusiveStartKey":` + string(page.LastEvaluatedKey)
			}
			if got := strings.Join(pages, " "); got != whole.keys() || got == "" {
				t.Errorf("%s %s by %d: got %q, want %q", c.operation, c.body, limit, got, whole.keys())
			}
		}
	}
}

func TestQuery_PageEndsAtOneMegabyteBeforeFilter(t *testing.T) {
	engine := openWith(t, simpleTable)
	large := strings.Repeat("x", 300<<10)
	for i := range 6 {
		if got := ask(t, engine, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"%d"},"d":{"S":"%s"}}}`, i, large)); got != "{}" {
			t.Fatal(got)
		}
	}
	page := read(t, engine, "Scan", `{"TableName":"tab","FilterExpression":"attribute_not_exists(d)","ReturnConsumedCapacity":"TOTAL","ConsistentRead":true}`)
	// Four items exceed a megabyte: 4 × (300 KiB + 4 bytes) is 301 units, rounded once.
	if page.Count != 0 || page.ScannedCount != 4 || page.LastEvaluatedKey == nil || page.ConsumedCapacity.CapacityUnits != 301 {
		t.Errorf("first page: %d of %d, last %s, units %v", page.Count, page.ScannedCount, page.LastEvaluatedKey, page.ConsumedCapacity)
	}
	page = read(t, engine, "Scan", `{"TableName":"tab","Select":"COUNT","ExclusiveStartKey":`+string(page.LastEvaluatedKey)+`}`)
	if page.Count != 2 || page.Items != nil || page.LastEvaluatedKey != nil {
		t.Errorf("second page: %d, %v, last %s", page.Count, page.Items, page.LastEvaluatedKey)
	}
}

func TestScan_EachItemIsInOneSegment(t *testing.T) {
	engine := openWith(t, simpleTable)
	for i := range 100 {
		ask(t, engine, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"%d"}}}`, i))
	}
	for _, segments := range []int{1, 2, 3, 7, 1000} {
		seen := map[string]int{}
		largest := 0
		for segment := range segments {
			page := read(t, engine, "Scan", fmt.Sprintf(`{"TableName":"tab","Segment":%d,"TotalSegments":%d}`, segment, segments))
			largest = max(largest, page.Count)
			for _, item := range page.Items {
				seen[fmt.Sprint(item["pk"]["S"])]++
			}
		}
		if len(seen) != 100 || segments > 1 && largest > 80 {
			t.Errorf("%d segments: %d items, %d in one segment", segments, len(seen), largest)
		}
		for pk, times := range seen {
			if times != 1 {
				t.Errorf("%d segments: item %s came %d times", segments, pk, times)
			}
		}
	}
	first := read(t, engine, "Scan", `{"TableName":"tab","Segment":0,"TotalSegments":2,"Limit":1}`)
	got := ask(t, engine, "Scan", `{"TableName":"tab","Segment":1,"TotalSegments":2,"ExclusiveStartKey":`+string(first.LastEvaluatedKey)+`}`)
	if !strings.HasPrefix(got, "ValidationException: The provided starting key is invalid: Invalid ExclusiveStartKey.") {
		t.Errorf("a key of another segment: %s", got)
	}
}

func TestTextsAndBinariesSortByTheirBytes(t *testing.T) {
	engine := openWith(t, strings.NewReplacer(`"tab"`, `"txt"`, `}],
	"Attr`, `},{"AttributeName":"sk","KeyType":"RANGE"}],
	"Attr`, `"AttributeType":"S"}]`, `"AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}]`).Replace(simpleTable))
	keys := []string{"~", "a", "ab", "b", "B", "ä", "日", "a\\u0000", "😀"}
	for _, key := range keys {
		if got := ask(t, engine, "PutItem", `{"TableName":"txt","Item":{"pk":{"S":"p"},"sk":{"S":"`+key+`"}}}`); got != "{}" {
			t.Fatal(got)
		}
	}
	sorts := func(condition, values string) string {
		page := read(t, engine, "Query", `{"TableName":"txt","KeyConditionExpression":"pk = :p`+condition+`","ExpressionAttributeValues":{":p":{"S":"p"}`+values+`}}`)
		var all []string
		for _, item := range page.Items {
			all = append(all, fmt.Sprintf("%q", item["sk"]["S"]))
		}
		return strings.Join(all, " ")
	}
	if got, want := sorts("", ""), `"B" "a" "a\x00" "ab" "b" "~" "ä" "日" "😀"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := sorts(" AND begins_with(sk, :s)", `,":s":{"S":"a"}`), `"a" "a\x00" "ab"`; got != want {
		t.Errorf("begins with a: got %s, want %s", got, want)
	}
	if got, want := sorts(" AND begins_with(sk, :s)", `,":s":{"S":"a\u0000"}`), `"a\x00"`; got != want {
		t.Errorf("begins with a and a zero byte: got %s, want %s", got, want)
	}
}
