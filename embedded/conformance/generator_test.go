//go:build differential

package conformance_test

import (
	"math/rand/v2"
	"strings"
)

// generatedTables are the tables of the generated requests: gen with keys S and N, a local and a
// global index, num with the key N, and bin with the key B.
var generatedTables = []string{
	`{"TableName":"gen","BillingMode":"PAY_PER_REQUEST",
		"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"},
			{"AttributeName":"g","AttributeType":"S"},{"AttributeName":"w","AttributeType":"N"}],
		"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
		"LocalSecondaryIndexes":[{"IndexName":"loc","Projection":{"ProjectionType":"KEYS_ONLY"},
			"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"w","KeyType":"RANGE"}]}],
		"GlobalSecondaryIndexes":[{"IndexName":"glo","Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["x"]},
			"KeySchema":[{"AttributeName":"g","KeyType":"HASH"},{"AttributeName":"w","KeyType":"RANGE"}]}]}`,
	`{"TableName":"num","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"N"}],
		"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}`,
	`{"TableName":"bin","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"B"}],
		"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}`,
}

// generator generates requests. It leaves out requests after which dynoxide is known to store
// something else, as all later responses would differ: requests that set elements beyond the end of
// a list, or index keys of the wrong length.
type generator struct{ *rand.Rand }

func (g generator) pick(options ...string) string { return options[g.IntN(len(options))] }

func (g generator) sometimes(text string) string { return g.pick("", "", text) }

func (g generator) number() string {
	return g.pick("0", "1", "2", "3", "-1", "-2.5", "10", "1e2", "0.001", "98765432109876543210")
}

func (g generator) text() string { return g.pick("a", "b", "c", "ab", "é") }

func (g generator) binary() string { return g.pick("AA==", "AAE=", "/w==") }

// key returns a table and a key of an item in it.
func (g generator) key() (table, key string) {
	switch g.IntN(6) {
	case 0:
		return "num", `"pk":{"N":"` + g.number() + `"}`
	case 1:
		return "bin", `"pk":{"B":"` + g.binary() + `"}`
	}
	return "gen", `"pk":{"S":"` + g.text() + `"},"sk":{"N":"` + g.number() + `"}`
}

func (g generator) value() string {
	return g.pick(`{"S":"`+g.text()+`"}`, `{"S":""}`, `{"N":"`+g.number()+`"}`, `{"B":"`+g.binary()+`"}`, `{"BOOL":true}`, `{"NULL":true}`,
		`{"L":[{"N":"1"},{"S":"y"},{"L":[]}]}`, `{"M":{"k":{"N":"7"},"l":{"L":[]}}}`, `{"SS":["p","q"]}`, `{"NS":["1","2.5"]}`, `{"BS":["AA=="]}`)
}

func (g generator) attributes() string {
	var text strings.Builder
	for _, name := range []string{"v", "u", "x"} {
		text.WriteString(g.sometimes(`,"` + name + `":` + g.value()))
	}
	text.WriteString(g.pick("", `,"n":{"N":"`+g.number()+`"}`))
	text.WriteString(g.pick("", `,"w":{"N":"`+g.number()+`"}`))
	text.WriteString(g.pick("", `,"g":{"S":"`+g.text()+`"}`))
	text.WriteString(g.pick("", `,"doc":{"M":{"k":`+g.value()+`,"l":{"L":[{"N":"1"},`+g.value()+`]}}}`))
	return text.String()
}

// condition returns a condition on attributes, with the values that it uses.
func (g generator) condition() (condition, values string) {
	value := g.value()
	number, text := `{"N":"`+g.number()+`"}`, `{"S":"`+g.text()+`"}`
	switch g.IntN(10) {
	case 0:
		return "attribute_exists(v)", ""
	case 1:
		return "attribute_not_exists(pk) OR attribute_exists(doc.k)", ""
	case 2:
		return "v = :c", `":c":` + value
	case 3:
		return "NOT v = :c OR u <> :c", `":c":` + value
	case 4:
		return "n > :c AND n <= :d OR w BETWEEN :c AND :c", `":c":` + number + `,":d":{"N":"` + g.number() + `"}`
	case 5:
		return "v IN (:c, :d) OR doc.l[0] = :d", `":c":` + value + `,":d":` + number
	case 6:
		return "begins_with(g, :c) OR contains(x, :c)", `":c":` + text
	case 7:
		return "size(x) > :c", `":c":` + number
	case 8:
		return "attribute_type(v, :c)", `":c":{"S":"` + g.pick("S", "N", "L", "M", "NULL", "SS") + `"}`
	}
	return "(attribute_exists(v) OR n = :c) AND NOT (w = :c)", `":c":` + number
}

// update returns an update, with the values that it uses.
func (g generator) update() (update, values string) {
	value, number := g.value(), `{"N":"`+g.number()+`"}`
	switch g.IntN(10) {
	case 0:
		return "SET v = :u, u = :u", `":u":` + value
	case 1:
		return "SET v = if_not_exists(v, :u) REMOVE x", `":u":` + value
	case 2:
		return "SET n = n + :u", `":u":` + number
	case 3:
		return "ADD n :u", `":u":` + number
	case 4:
		return "ADD v :u", `":u":{"SS":["q","r"]}`
	case 5:
		// The SET is needed: an update that only deletes does not create an item, which dynoxide
		// does not implement.
		return "SET w = :w DELETE v :u", `":u":{"SS":["p","q"]},":w":` + number
	case 6:
		return "SET doc.k = :u", `":u":` + value
	case 7:
		return "SET doc.l[0] = :u REMOVE doc.k", `":u":` + value
	case 8:
		return "SET w = :u REMOVE g", `":u":` + number
	}
	return "SET v = list_append(if_not_exists(v, :e), :u)", `":e":{"L":[]},":u":{"L":[` + value + `]}`
}

func (g generator) show() string {
	return g.sometimes(`,"ReturnConsumedCapacity":"` + g.pick("TOTAL", "INDEXES") + `"`)
}

// guard returns the parameters of a write for a condition, or for no condition. They include the
// other values of the write.
func (g generator) guard(values string) string {
	if g.IntN(2) == 0 {
		if values == "" {
			return ""
		}
		return `,"ExpressionAttributeValues":{` + values + `}`
	}
	condition, more := g.condition()
	text := `,"ConditionExpression":"` + condition + `"` + g.sometimes(`,"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`)
	if values != "" && more != "" {
		values += ","
	}
	if values += more; values != "" {
		text += `,"ExpressionAttributeValues":{` + values + `}`
	}
	return text
}

// request returns the next request.
func (g generator) request() (operation, body string) {
	switch g.IntN(16) {
	case 0, 1, 2:
		table, key := g.key()
		return "PutItem", `{"TableName":"` + table + `","Item":{` + key + g.attributes() + `}` + g.guard("") + g.sometimes(`,"ReturnValues":"ALL_OLD"`) + g.show() + `}`
	case 3, 4:
		table, key := g.key()
		update, values := g.update()
		return "UpdateItem", `{"TableName":"` + table + `","Key":{` + key + `},"UpdateExpression":"` + update + `"` + g.guard(values) +
			g.sometimes(`,"ReturnValues":"`+g.pick("ALL_NEW", "ALL_OLD", "NONE")+`"`) + g.show() + `}`
	case 5:
		table, key := g.key()
		return "DeleteItem", `{"TableName":"` + table + `","Key":{` + key + `}` + g.guard("") + g.sometimes(`,"ReturnValues":"ALL_OLD"`) + g.show() + `}`
	case 6:
		table, key := g.key()
		return "GetItem", `{"TableName":"` + table + `","Key":{` + key + `}` + g.sometimes(`,"ConsistentRead":true`) + g.show() + `}`
	case 7, 8:
		return "Query", g.query()
	case 9:
		return "Scan", `{"TableName":"` + g.pick("gen", "num", "bin", `gen","IndexName":"loc`, `gen","IndexName":"glo`) + `"` + g.filter() + g.sometimes(`,"Select":"COUNT"`) + g.show() + `}`
	case 10:
		return g.batch()
	case 11:
		return g.transaction()
	case 12:
		return g.statement()
	case 13:
		return g.legacy()
	case 14:
		return g.wrong()
	}
	table, key := g.key()
	return "GetItem", `{"TableName":"` + table + `","Key":{` + key + `},"ProjectionExpression":"` + g.pick("v", "doc.k, n", "doc.l[0], doc.k", "pk, doc.l[1]") + `"}`
}

func (g generator) filter() string {
	if g.IntN(2) == 0 {
		return ""
	}
	condition, values := g.condition()
	if strings.Contains(condition, "pk") {
		return ""
	}
	text := `,"FilterExpression":"` + condition + `"`
	if values != "" {
		text += `,"ExpressionAttributeValues":{` + values + `}`
	}
	return text
}

func (g generator) query() string {
	condition, values, index := "pk = :p", `":p":{"S":"`+g.text()+`"}`, ""
	sort := "sk"
	switch g.IntN(4) {
	case 0:
		index, sort = `,"IndexName":"loc"`, "w"
	case 1:
		condition, index, sort = "g = :p", `,"IndexName":"glo"`, "w"
	}
	switch g.IntN(3) {
	case 0:
		condition += " AND " + sort + " " + g.pick("=", "<", "<=", ">", ">=") + " :q"
		values += `,":q":{"N":"` + g.number() + `"}`
	case 1:
		condition += " AND " + sort + " BETWEEN :q AND :r"
		values += `,":q":{"N":"-1"},":r":{"N":"` + g.pick("0", "2", "1000") + `"}`
	}
	text := `{"TableName":"gen","KeyConditionExpression":"` + condition + `","ExpressionAttributeValues":{` + values + `}` + index + g.show()
	if index == "" {
		// Entries of an index with equal keys have no defined order.
		return text + g.sometimes(`,"ScanIndexForward":false`) + g.sometimes(`,"Limit":`+g.pick("1", "2", "5")) + `}`
	}
	return text + `,"Select":"COUNT"}`
}

func (g generator) batch() (operation, body string) {
	key := func() string { return `{"pk":{"S":"` + g.text() + `"},"sk":{"N":"` + g.number() + `"}}` }
	if g.IntN(2) == 0 {
		return "BatchGetItem", `{"RequestItems":{"gen":{"Keys":[` + key() + `,` + key() + `,` + key() + `]},"num":{"Keys":[{"pk":{"N":"` + g.number() + `"}}]}}` + g.show() + `}`
	}
	return "BatchWriteItem", `{"RequestItems":{"gen":[{"PutRequest":{"Item":` + strings.TrimSuffix(key(), "}") + g.attributes() + `}}},` +
		`{"DeleteRequest":{"Key":` + key() + `}}]}` + g.show() + `}`
}

func (g generator) transaction() (operation, body string) {
	key := func() string { return `{"pk":{"S":"` + g.text() + `"},"sk":{"N":"` + g.number() + `"}}` }
	if g.IntN(3) == 0 {
		return "TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"gen","Key":` + key() + `}},{"Get":{"TableName":"gen","Key":` + key() + `}}]` + g.show() + `}`
	}
	condition, values := g.condition()
	check := `{"ConditionCheck":{"TableName":"gen","Key":` + key() + `,"ConditionExpression":"` + condition + `"`
	if values != "" {
		check += `,"ExpressionAttributeValues":{` + values + `}`
	}
	update, values := g.update()
	return "TransactWriteItems", `{"TransactItems":[` + check + `}},` +
		`{"Put":{"TableName":"gen","Item":` + strings.TrimSuffix(key(), "}") + g.attributes() + `}}},` +
		`{"Update":{"TableName":"gen","Key":` + key() + `,"UpdateExpression":"` + update + `","ExpressionAttributeValues":{` + values + `}}},` +
		`{"Delete":{"TableName":"num","Key":{"pk":{"N":"` + g.number() + `"}}}}]` + g.show() + `}`
}

func (g generator) statement() (operation, body string) {
	where := ` WHERE pk = '` + g.pick("a", "b", "c") + `' AND sk = ` + g.pick("0", "1", "2", "3")
	statement := g.pick(
		"INSERT INTO gen VALUE {'pk':'"+g.pick("a", "b", "c")+"','sk':"+g.pick("0", "1", "2", "3")+",'n':5,'v':'inserted'}",
		"UPDATE gen SET n = "+g.pick("1", "2")+where, "UPDATE gen REMOVE v"+where, "DELETE FROM gen"+where,
		"SELECT * FROM gen"+where, "SELECT pk, n FROM gen WHERE pk = 'a' AND sk > 1", "SELECT n FROM gen WHERE pk = 'b'")
	if g.IntN(3) == 0 {
		return "BatchExecuteStatement", `{"Statements":[{"Statement":"` + statement + `"}]` + g.show() + `}`
	}
	return "ExecuteStatement", `{"Statement":"` + statement + `"` + g.show() + `}`
}

// legacy returns a request with legacy parameters.
func (g generator) legacy() (operation, body string) {
	table, key := g.key()
	comparison := g.pick(`{"ComparisonOperator":"EQ","AttributeValueList":[`+g.value()+`]}`, `{"ComparisonOperator":"NULL"}`, `{"ComparisonOperator":"NOT_NULL"}`,
		`{"ComparisonOperator":"GE","AttributeValueList":[{"N":"`+g.number()+`"}]}`, `{"ComparisonOperator":"IN","AttributeValueList":[{"N":"1"},{"N":"2"}]}`)
	switch g.IntN(5) {
	case 0:
		return "UpdateItem", `{"TableName":"` + table + `","Key":{` + key + `},"AttributeUpdates":{"v":{"Action":"PUT","Value":` + g.value() + `},"n":{"Action":"ADD","Value":{"N":"1"}},` +
			`"u":{"Action":"DELETE"}},"ReturnValues":"ALL_NEW"}`
	case 1:
		return "PutItem", `{"TableName":"` + table + `","Item":{` + key + g.attributes() + `},"Expected":{"v":` + comparison + `}}`
	case 2:
		return "Scan", `{"TableName":"` + table + `","ScanFilter":{"n":` + comparison + `},"AttributesToGet":["pk","n"]}`
	case 3:
		return "DeleteItem", `{"TableName":"` + table + `","Key":{` + key + `},"Expected":{"n":{"Exists":false}}}`
	}
	return "Query", `{"TableName":"gen","KeyConditions":{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"` + g.text() + `"}]},` +
		`"sk":{"ComparisonOperator":"` + g.pick("EQ", "LT", "LE", "GT", "GE") + `","AttributeValueList":[{"N":"` + g.number() + `"}]}}}`
}

// wrong returns an invalid request.
func (g generator) wrong() (operation, body string) {
	bodies := []string{
		`PutItem {"TableName":"gen","Item":{"pk":{"S":"a"}}}`,
		`PutItem {"TableName":"gen","Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}`,
		`PutItem {"TableName":"gen","Item":{"pk":{"S":"a"},"sk":{"N":"1"},"w":{"S":"1"}}}`,
		`PutItem {"TableName":"gen","Item":{"pk":{"S":""},"sk":{"N":"1"}}}`,
		`PutItem {"TableName":"num","Item":{"pk":{"N":"x"}}}`,
		`PutItem {"TableName":"num","Item":{"pk":{"N":"1e200"}}}`,
		`PutItem {"TableName":"num","Item":{"pk":{"N":"1"},"s":{"SS":[]}}}`,
		`PutItem {"TableName":"num","Item":{"pk":{"N":"1"},"s":{"SS":["a","a"]}}}`,
		`PutItem {"TableName":"num","Item":{"pk":{"N":"1"}},"ConditionExpression":"name = :a","ExpressionAttributeValues":{":a":{"N":"1"}}}`,
		`UpdateItem {"TableName":"num","Key":{"pk":{"N":"1"}},"UpdateExpression":"SET pk = :a","ExpressionAttributeValues":{":a":{"N":"1"}}}`,
		`UpdateItem {"TableName":"num","Key":{"pk":{"N":"1"}},"UpdateExpression":"SET a = :a, a.b = :a","ExpressionAttributeValues":{":a":{"N":"1"}}}`,
		`UpdateItem {"TableName":"num","Key":{"pk":{"N":"1"}},"UpdateExpression":"SET a = "}`,
		`GetItem {"TableName":"num","Key":{"pk":{"S":"1"}}}`,
		`GetItem {"TableName":"none","Key":{"pk":{"S":"1"}}}`,
		`Query {"TableName":"gen"}`,
		`Query {"TableName":"gen","IndexName":"none","KeyConditionExpression":"pk = :a","ExpressionAttributeValues":{":a":{"S":"a"}}}`,
		`Query {"TableName":"gen","IndexName":"glo","ConsistentRead":true,"KeyConditionExpression":"g = :a","ExpressionAttributeValues":{":a":{"S":"a"}}}`,
		`Scan {"TableName":"gen","Segment":2,"TotalSegments":2}`,
		`BatchGetItem {"RequestItems":{"num":{"Keys":[{"pk":{"N":"1"}},{"pk":{"N":"1.0"}}]}}}`,
		`BatchWriteItem {"RequestItems":{"num":[{"PutRequest":{"Item":{"pk":{"N":"1"}}}},{"DeleteRequest":{"Key":{"pk":{"N":"1.0"}}}}]}}`,
		`TransactWriteItems {"TransactItems":[{"Delete":{"TableName":"num","Key":{"pk":{"N":"1"}}}},{"Delete":{"TableName":"num","Key":{"pk":{"N":"1"}}}}]}`,
		`ExecuteStatement {"Statement":"nonsense"}`,
		`CreateTable {"TableName":"gen","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}]}`,
		`DeleteTable {"TableName":"none"}`,
	}
	operation, body, _ = strings.Cut(g.pick(bodies...), " ")
	return operation, body
}
