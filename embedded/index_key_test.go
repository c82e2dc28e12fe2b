package embedded_test

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// matchTable has the hash key pk (S), and the global index "matches" on cup (S), year (N) and round
// (S), game (N), with ALL.
const matchTable = `{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",
	"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
	"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},` + matchAttributes + `],
	"GlobalSecondaryIndexes":[` + matchIndex + `]}`

const matchAttributes = `{"AttributeName":"cup","AttributeType":"S"},{"AttributeName":"year","AttributeType":"N"},
	{"AttributeName":"round","AttributeType":"S"},{"AttributeName":"game","AttributeType":"N"}`

const matchIndex = `{"IndexName":"matches","Projection":{"ProjectionType":"ALL"},"KeySchema":[
	{"AttributeName":"cup","KeyType":"HASH"},{"AttributeName":"year","KeyType":"HASH"},
	{"AttributeName":"round","KeyType":"RANGE"},{"AttributeName":"game","KeyType":"RANGE"}]}`

const addMatchIndex = `{"TableName":"tab","AttributeDefinitions":[` + matchAttributes + `],
	"GlobalSecondaryIndexUpdates":[{"Create":` + matchIndex + `}]}`

// match returns the JSON of an item with the key attributes, each in JSON and left out if empty.
func match(pk, cup, year, round, game string) string {
	item := `{"pk":{"S":"` + pk + `"}`
	for name, value := range map[string]string{"cup": cup, "year": year, "round": round, "game": game} {
		if value != "" {
			item += `,"` + name + `":` + value
		}
	}
	return item + `}`
}

func TestIndex_ItemsWithoutAllKeyAttributesAreLeftOut(t *testing.T) {
	const cup, year, round, game = `{"S":"a"}`, `{"N":"1"}`, `{"S":"final"}`, `{"N":"1"}`
	engine := openWith(t, simpleTable)
	for _, item := range []string{
		match("all", cup, year, round, game), match("other", cup, year, round, `{"N":"2"}`),
		match("no cup", "", year, round, game), match("no year", cup, "", round, game), match("no game", cup, year, round, ""),
		match("wrong cup", `{"N":"1"}`, year, round, game), match("wrong year", cup, `{"S":"1"}`, round, game),
		match("wrong round", cup, year, `{"L":[]}`, game), match("wrong game", cup, year, round, `{"BOOL":true}`),
		match("empty", cup, year, `{"S":""}`, game),
		match("long cup", `{"S":"`+strings.Repeat("a", 2049)+`"}`, year, round, game),
		match("long round", cup, year, `{"S":"`+strings.Repeat("a", 1025)+`"}`, game),
		match("longest round", cup, year, `{"S":"`+strings.Repeat("z", 1024)+`"}`, game),
	} {
		run(t, engine, []step{{"PutItem", `{"TableName":"tab","Item":` + item + `}`, `{}`}})
	}
	run(t, engine, []step{{"UpdateTable", addMatchIndex, `{"TableDescription":{…`}})
	waitForIndexes(t, engine, "tab")
	const query = `{"TableName":"tab","IndexName":"matches","KeyConditionExpression":"cup = :c AND #y = :y","ProjectionExpression":"pk",` +
		`"ExpressionAttributeNames":{"#y":"year"},"ExpressionAttributeValues":{":c":{"S":"a"},":y":{"N":"1"}}}`
	const indexed = `{"Count":3,"Items":[{"pk":{"S":"all"}},{"pk":{"S":"other"}},{"pk":{"S":"longest round"}}],"ScannedCount":3}`
	run(t, engine, []step{
		{"Query", query, indexed},
		{"Scan", `{"TableName":"tab","IndexName":"matches","Select":"COUNT"}`, `{"Count":3,"ScannedCount":3}`},
		// The other items can be changed and deleted.
		{"DeleteItem", `{"TableName":"tab","Key":{"pk":{"S":"wrong cup"}}}`, `{}`},
		{"UpdateItem", `{"TableName":"tab","Key":{"pk":{"S":"no game"}},"UpdateExpression":"SET game = :g","ExpressionAttributeValues":{":g":{"N":"0"}}}`, `{}`},
		{"Query", query, `{"Count":4,"Items":[{"pk":{"S":"no game"}},{"pk":{"S":"all"}},{"pk":{"S":"other"}},{"pk":{"S":"longest round"}}],"ScannedCount":4}`},
	})
}

// TestKeysWithSeveralAttributesCanHaveTheirFullSizes uses zero bytes, which have the longest
// encoding.
func TestKeysWithSeveralAttributesCanHaveTheirFullSizes(t *testing.T) {
	names := strings.Split("abcdefgh", "")
	var definitions, key, item, condition, values []string
	for i, name := range names {
		role, size := "HASH", 2048
		if i >= 4 {
			role, size = "RANGE", 1024
		}
		value := `{"B":"` + base64.StdEncoding.EncodeToString(make([]byte, size)) + `"}`
		definitions = append(definitions, `{"AttributeName":"`+name+`","AttributeType":"B"}`)
		key = append(key, `{"AttributeName":"`+name+`","KeyType":"`+role+`"}`)
		item = append(item, `"`+name+`":`+value)
		condition = append(condition, name+" = :"+name)
		values = append(values, `":`+name+`":`+value)
	}
	dir := filepath.Join(t.TempDir(), "engine")
	engine := openFolder(t, dir)
	run(t, engine, []step{{"CreateTable", `{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",
		"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},` + strings.Join(definitions, ",") + `],
		"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
		"GlobalSecondaryIndexes":[{"IndexName":"idx","Projection":{"ProjectionType":"KEYS_ONLY"},"KeySchema":[` + strings.Join(key, ",") + `]}]}`,
		`{"TableDescription":{…`}})
	for _, pk := range []string{"1", "2"} {
		run(t, engine, []step{{"PutItem", `{"TableName":"tab","Item":{"pk":{"S":"` + pk + `"},` + strings.Join(item, ",") + `}}`, `{}`}})
	}
	before := encode(t, describe(t, engine, "tab"))
	closeEngine(t, engine)
	engine = openFolder(t, dir)
	defer closeEngine(t, engine)
	if after := encode(t, describe(t, engine, "tab")); after != before {
		t.Errorf("the table is described as %s, before as %s", after, before)
	}
	query := `{"TableName":"tab","IndexName":"idx","ProjectionExpression":"pk","KeyConditionExpression":"` + strings.Join(condition, " AND ") +
		`","ExpressionAttributeValues":{` + strings.Join(values, ",") + `}`
	run(t, engine, []step{
		{"Query", query + `}`, `{"Count":2,"Items":[{"pk":{"S":"1"}},{"pk":{"S":"2"}}],"ScannedCount":2}`},
		{"Query", query + `,"ExclusiveStartKey":{"pk":{"S":"1"},` + strings.Join(item, ",") + `}}`, `{"Count":1,"Items":[{"pk":{"S":"2"}}],"ScannedCount":1}`},
	})
}

func TestIndexesWithSeveralKeyAttributesFollowTransactionsAndStreams(t *testing.T) {
	engine := openWith(t, matchTable)
	client := clientOf(engine)
	arn := enableStream(t, client, "tab", types.StreamViewTypeNewImage)
	item := func(pk, game string) string {
		return match(pk, `{"S":"a"}`, `{"N":"1"}`, `{"S":"final"}`, `{"N":"`+game+`"}`)
	}
	const count = `{"TableName":"tab","IndexName":"matches","Select":"COUNT"}`
	run(t, engine, []step{
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"tab","Item":` + item("1", "1") + `}},{"Put":{"TableName":"tab","Item":` + item("2", "2") + `}}]}`, `{}`},
		{"Scan", count, `{"Count":2,"ScannedCount":2}`},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"tab","Item":` + item("3", "3") + `}},
			{"ConditionCheck":{"TableName":"tab","Key":{"pk":{"S":"none"}},"ConditionExpression":"attribute_exists(pk)"}}]}`, `TransactionCanceledException: …`},
		{"Scan", count, `{"Count":2,"ScannedCount":2}`},
		{"TransactWriteItems", `{"TransactItems":[{"Delete":{"TableName":"tab","Key":{"pk":{"S":"1"}}}},
			{"Update":{"TableName":"tab","Key":{"pk":{"S":"2"}},"UpdateExpression":"REMOVE round"}}]}`, `{}`},
		{"Scan", count, `{"Count":0,"ScannedCount":0}`},
		{"BatchExecuteStatement", `{"Statements":[{"Statement":"INSERT INTO tab VALUE {'pk':'4','cup':'a','year':1,'round':'final','game':4}"},
			{"Statement":"UPDATE tab SET round = 'first' WHERE pk = '2'"}]}`, `{"Responses":[{"TableName":"tab"},{"TableName":"tab"}]}`},
		{"ExecuteStatement", `{"Statement":"SELECT pk FROM tab.matches WHERE cup = 'a' AND \"year\" = 1 ORDER BY round DESC"}`, `{"Items":[{"pk":{"S":"2"}},{"pk":{"S":"4"}}]}`},
	})
	var events []string
	for _, r := range readerOf(streamsOf(engine), arn).mustNext(t) {
		events = append(events, fmt.Sprint(r.EventName, " ", len(r.Dynamodb.Keys)))
	}
	if got, want := strings.Join(events, ", "), "INSERT 1, INSERT 1, REMOVE 1, MODIFY 1, INSERT 1, MODIFY 1"; got != want {
		t.Errorf("the stream has %s, want %s", got, want)
	}
}

func TestFaultsHitKeysWithSeveralAttributes(t *testing.T) {
	engine := openWith(t, matchTable)
	inject(t, engine, "throttling,key=a|1")
	query := func(year string) string {
		return `{"TableName":"tab","IndexName":"matches","Select":"COUNT","KeyConditionExpression":"cup = :c AND #y = :y",` +
			`"ExpressionAttributeNames":{"#y":"year"},"ExpressionAttributeValues":{":c":{"S":"a"},":y":{"N":"` + year + `"}}}`
	}
	statement := func(year string) string {
		return `{"Statement":"SELECT pk FROM tab.matches WHERE cup = 'a' AND \"year\" = ` + year + ` AND round = 'x' AND game = 1.0"}`
	}
	run(t, engine, []step{
		{"Query", query("1.0"), `ThrottlingException: …`},
		{"Query", query("2"), `{"Count":0,"ScannedCount":0}`},
		{"ExecuteStatement", statement("1"), `ThrottlingException: …`},
		{"ExecuteStatement", statement("3"), `{"Items":[]}`},
	})
	inject(t, engine, "throttling,sort-key=x|1")
	run(t, engine, []step{
		{"ExecuteStatement", statement("3"), `ThrottlingException: …`},
		{"ExecuteStatement", `{"Statement":"SELECT pk FROM tab.matches WHERE cup = 'a' AND \"year\" = 3 AND round = 'x'"}`, `{"Items":[]}`},
	})
}
