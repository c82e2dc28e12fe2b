package embedded_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

var (
	indexKeyTables = flag.Int("indexkey.tables", testsize.Of(8, 60),
		"the number of random tables that are queried by keys with several attributes")
	indexKeySeed = flag.Uint64("indexkey.seed", 1, "the seed of the first of these tables")
)

// TestIndexKeys_RandomQueries compares Query, Scan and
// SELECT on random indexes with a filter and a sort of the items that were written. The index is
// created with the table or added to the filled table, and the folder is opened again in between.
func TestIndexKeys_RandomQueries(t *testing.T) {
	for seed := *indexKeySeed; seed < *indexKeySeed+uint64(*indexKeyTables); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 18))
			m := newKeyModel(r)
			engine, dir := openMemory(t), ""
			if seed%4 < 2 {
				dir = filepath.Join(t.TempDir(), "engine")
				engine = openFolder(t, dir)
			}
			m.create(t, clientOf(engine), seed%2 == 0)
			for range 60 {
				m.change(t, clientOf(engine))
			}
			if seed%2 != 0 {
				m.addIndex(t, engine)
			}
			for range 20 {
				m.change(t, clientOf(engine))
			}
			if dir != "" {
				closeEngine(t, engine)
				engine = openFolder(t, dir)
			}
			for range 60 {
				m.query(t, clientOf(engine))
			}
			m.scan(t, clientOf(engine))
			closeEngine(t, engine)
		})
	}
}

// keyModel has the items of the table "keys", which has the key pk (S), and the key of its index
// "idx".
type keyModel struct {
	random       *rand.Rand
	hash, ranges []keyColumn
	items        map[string]attributes
}

type keyColumn struct{ name, kind string }

// keyValues are values that a wrong encoding would confuse or put in a wrong order: prefixes of
// each other, zero bytes, and numbers whose texts have another order.
var keyValues = map[string][]string{
	"S": {"\x00", "\x00\x00", "\x00\x01", "\x00a", "\x01", "a", "a\x00", "a\x00\x00", "a\x00b", "a\x01", "aa", "ab", "b", "\u007f", "ÿ", "\U0010ffff"},
	"B": {"\x00", "\x00\x00", "\x00\xfe", "\x00\xff", "\x00\xff\x00", "\x01", "a", "a\x00", "a\x00\xff", "a\xff", "\xfe", "\xff", "\xff\x00", "\xff\xff"},
	"N": {"-1e125", "-100", "-10.5", "-10", "-9.9", "-1", "-1e-130", "0", "1e-130", "0.1", "1", "1.01", "9.9", "10", "10.5", "100", "1e125"},
}

func newKeyModel(r *rand.Rand) *keyModel {
	m := &keyModel{random: r, items: map[string]attributes{}}
	column := func(prefix string, i int) keyColumn {
		return keyColumn{prefix + strconv.Itoa(i), []string{"S", "N", "B"}[r.IntN(3)]}
	}
	for i := range 1 + r.IntN(4) {
		m.hash = append(m.hash, column("h", i))
	}
	for i := range r.IntN(5) {
		m.ranges = append(m.ranges, column("r", i))
	}
	return m
}

func (m *keyModel) columns() []keyColumn { return slices.Concat(m.hash, m.ranges) }

// value returns a random value of the column. HASH attributes have few, so that items share them.
func (m *keyModel) value(c keyColumn) types.AttributeValue {
	values := keyValues[c.kind]
	if c.name[0] == 'h' {
		values = values[len(values)-2:]
	}
	return keyValue(c.kind, values[m.random.IntN(len(values))])
}

func keyValue(kind, value string) types.AttributeValue {
	switch kind {
	case "S":
		return text(value)
	case "N":
		return number(value)
	}
	return &types.AttributeValueMemberB{Value: []byte(value)}
}

func (m *keyModel) definitions() []types.AttributeDefinition {
	var list []types.AttributeDefinition
	for _, c := range m.columns() {
		list = append(list, types.AttributeDefinition{
			AttributeName: aws.String(c.name), AttributeType: types.ScalarAttributeType(c.kind),
		})
	}
	return list
}

func (m *keyModel) keySchema() []types.KeySchemaElement {
	var list []types.KeySchemaElement
	for i, c := range m.columns() {
		role := types.KeyTypeHash
		if i >= len(m.hash) {
			role = types.KeyTypeRange
		}
		list = append(list, types.KeySchemaElement{AttributeName: aws.String(c.name), KeyType: role})
	}
	return list
}

func (m *keyModel) create(t *testing.T, client *dynamodb.Client, indexed bool) {
	t.Helper()
	pk := types.AttributeDefinition{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}
	in := &dynamodb.CreateTableInput{
		TableName: aws.String("keys"), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{pk},
	}
	if indexed {
		in.AttributeDefinitions = append(in.AttributeDefinitions, m.definitions()...)
		in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
			IndexName: aws.String("idx"), KeySchema: m.keySchema(), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}}
	}
	must(client.CreateTable(t.Context(), in))(t)
}

func (m *keyModel) addIndex(t *testing.T, engine *embedded.Engine) {
	t.Helper()
	must(clientOf(engine).UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName: aws.String("keys"), AttributeDefinitions: m.definitions(),
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName: aws.String("idx"), KeySchema: m.keySchema(), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}}},
	}))(t)
	waitForIndexes(t, engine, "keys")
}

// change puts or deletes an item. Some items lack a key attribute of the index.
func (m *keyModel) change(t *testing.T, client *dynamodb.Client) {
	t.Helper()
	pk := "p" + strconv.Itoa(m.random.IntN(70))
	if m.random.IntN(12) == 0 {
		delete(m.items, pk)
		must(client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("keys"), Key: attributes{"pk": text(pk)}}))(t)
		return
	}
	item := attributes{"pk": text(pk)}
	left := -1
	if m.random.IntN(6) == 0 {
		left = m.random.IntN(len(m.columns()))
	}
	for i, c := range m.columns() {
		if i != left {
			item[c.name] = m.value(c)
		}
	}
	m.items[pk] = item
	must(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("keys"), Item: item}))(t)
}

// indexed returns the keys of the items in the index.
func (m *keyModel) indexed() []string {
	var keys []string
	for pk, item := range m.items {
		if len(item) == 1+len(m.columns()) {
			keys = append(keys, pk)
		}
	}
	slices.Sort(keys)
	return keys
}

// condition is a random key condition, in its three forms, and the items that it selects.
type condition struct {
	expression, statement []string
	conditions            map[string]types.Condition
	values                attributes
	parameters            []types.AttributeValue
	selects               func(item attributes) bool
}

func (m *keyModel) condition() *condition {
	c := &condition{conditions: map[string]types.Condition{}, values: attributes{}, selects: func(attributes) bool { return true }}
	pinned := attributes{}
	if keys := m.indexed(); len(keys) > 0 && m.random.IntN(10) > 0 {
		pinned = m.items[keys[m.random.IntN(len(keys))]]
	}
	value := func(column keyColumn) types.AttributeValue {
		if v := pinned[column.name]; v != nil && m.random.IntN(5) > 0 {
			return v
		}
		return m.value(column)
	}
	for _, column := range m.hash {
		v := pinned[column.name]
		if v == nil {
			v = m.value(column)
		}
		c.add(column, "=", v)
	}
	tests := m.random.IntN(len(m.ranges) + 1)
	for i, column := range m.ranges[:tests] {
		operator := "="
		if i == tests-1 {
			operator = []string{"=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"}[m.random.IntN(7)]
		}
		v := value(column)
		switch {
		case operator == "begins_with" && column.kind == "N":
			c.add(column, ">", v)
		case operator == "begins_with":
			whole := plain(v)
			c.add(column, operator, keyValue(column.kind, prefixOf(whole, m.random.IntN(3))))
		case operator == "BETWEEN":
			w := value(column)
			if compareValues(v, w) > 0 {
				v, w = w, v
			}
			c.add(column, operator, v, w)
		default:
			c.add(column, operator, v)
		}
	}
	m.random.Shuffle(len(c.expression), func(i, j int) { c.expression[i], c.expression[j] = c.expression[j], c.expression[i] })
	return c
}

// prefixOf returns the first characters of a text, at least one.
func prefixOf(whole string, characters int) string {
	for i := range whole {
		if i > 0 && characters <= 0 {
			return whole[:i]
		}
		characters--
	}
	return whole
}

func (c *condition) add(column keyColumn, operator string, values ...types.AttributeValue) {
	name, low, before := column.name, values[0], c.selects
	c.values[":"+name] = low
	c.parameters = append(c.parameters, values...)
	legacy := map[string]types.ComparisonOperator{
		"=": "EQ", "<": "LT", "<=": "LE", ">": "GT", ">=": "GE", "BETWEEN": "BETWEEN", "begins_with": "BEGINS_WITH",
	}
	c.conditions[name] = types.Condition{ComparisonOperator: legacy[operator], AttributeValueList: values}
	switch operator {
	case "BETWEEN":
		c.values[":"+name+"x"] = values[1]
		c.expression = append(c.expression, fmt.Sprintf("%[1]s BETWEEN :%[1]s AND :%[1]sx", name))
		c.statement = append(c.statement, name+" BETWEEN ? AND ?")
	case "begins_with":
		c.expression = append(c.expression, fmt.Sprintf("begins_with(%[1]s, :%[1]s)", name))
		c.statement = append(c.statement, "begins_with("+name+", ?)")
	default:
		c.expression = append(c.expression, fmt.Sprintf("%[1]s %[2]s :%[1]s", name, operator))
		c.statement = append(c.statement, name+" "+operator+" ?")
	}
	c.selects = func(item attributes) bool {
		order := compareValues(item[name], low)
		meets := map[string]bool{"=": order == 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}
		switch operator {
		case "BETWEEN":
			return before(item) && order >= 0 && compareValues(item[name], values[1]) <= 0
		case "begins_with":
			return before(item) && strings.HasPrefix(plain(item[name]), plain(low))
		}
		return before(item) && meets[operator]
	}
}

// texts returns the values of the condition, in the order of the statement.
func (c *condition) texts() []string {
	texts := make([]string, len(c.parameters))
	for i, v := range c.parameters {
		texts[i] = plain(v)
	}
	return texts
}

func plain(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	}
	return ""
}

func compareValues(a, b types.AttributeValue) int {
	if _, is := a.(*types.AttributeValueMemberN); !is {
		return strings.Compare(plain(a), plain(b))
	}
	// float64 distinguishes all numbers of keyValues.
	x, _ := strconv.ParseFloat(plain(a), 64)
	y, _ := strconv.ParseFloat(plain(b), 64)
	return cmp.Compare(x, y)
}

// want returns the keys of the items that the condition selects, in the order of the index. Items
// with equal index keys are in the order of their primary keys.
func (m *keyModel) want(c *condition, forward bool) []string {
	keys := slices.DeleteFunc(m.indexed(), func(pk string) bool { return !c.selects(m.items[pk]) })
	slices.SortFunc(keys, func(x, y string) int {
		for _, column := range m.ranges {
			if order := compareValues(m.items[x][column.name], m.items[y][column.name]); order != 0 {
				return order
			}
		}
		return strings.Compare(x, y)
	})
	if !forward {
		slices.Reverse(keys)
	}
	return keys
}

// query runs a random query in pages, and the same query as a SELECT.
func (m *keyModel) query(t *testing.T, client *dynamodb.Client) {
	t.Helper()
	c, forward := m.condition(), m.random.IntN(2) == 0
	want := m.want(c, forward)
	in := &dynamodb.QueryInput{TableName: aws.String("keys"), IndexName: aws.String("idx"), ScanIndexForward: aws.Bool(forward)}
	if m.random.IntN(4) == 0 {
		in.KeyConditions = c.conditions
	} else {
		in.KeyConditionExpression, in.ExpressionAttributeValues = aws.String(strings.Join(c.expression, " AND ")), c.values
	}
	var got []string
	for more := true; more; more = in.ExclusiveStartKey != nil {
		in.Limit = aws.Int32(1 + m.random.Int32N(5))
		page := must(client.Query(t.Context(), in))(t)
		got = append(got, primaryKeys(page.Items)...)
		m.checkLast(t, page.LastEvaluatedKey, got)
		in.ExclusiveStartKey = page.LastEvaluatedKey
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v %q, forward %t:\n got %v\nwant %v", c.statement, c.texts(), forward, got, want)
	}
	m.selectItems(t, client, c, m.want(c, true))
}

func (m *keyModel) selectItems(t *testing.T, client *dynamodb.Client, c *condition, want []string) {
	t.Helper()
	in := &dynamodb.ExecuteStatementInput{
		Statement: aws.String(`SELECT * FROM "keys"."idx" WHERE ` + strings.Join(c.statement, " AND ")), Parameters: c.parameters,
	}
	var got []string
	for more := true; more; more = in.NextToken != nil {
		in.Limit = aws.Int32(1 + m.random.Int32N(5))
		page := must(client.ExecuteStatement(t.Context(), in))(t)
		got = append(got, primaryKeys(page.Items)...)
		in.NextToken = page.NextToken
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s %q:\n got %v\nwant %v", *in.Statement, c.texts(), got, want)
	}
}

// checkLast checks that LastEvaluatedKey has the key attributes of the last item, in the table and
// in the index.
func (m *keyModel) checkLast(t *testing.T, last attributes, keys []string) {
	t.Helper()
	if last == nil {
		return
	}
	item := m.items[keys[len(keys)-1]]
	if len(last) != len(item) {
		t.Errorf("LastEvaluatedKey has %d attributes, want %d", len(last), len(item))
	}
	for name, v := range item {
		if last[name] == nil || compareValues(last[name], v) != 0 {
			t.Errorf("LastEvaluatedKey has %s %v, want %v", name, last[name], v)
		}
	}
}

func primaryKeys(items []attributes) []string {
	keys := make([]string, len(items))
	for i, item := range items {
		keys[i] = plain(item["pk"])
	}
	return keys
}

// scan reads the index in pages and in segments.
func (m *keyModel) scan(t *testing.T, client *dynamodb.Client) {
	t.Helper()
	for _, segments := range []int32{1, 3} {
		var got []string
		for segment := range segments {
			in := &dynamodb.ScanInput{
				TableName: aws.String("keys"), IndexName: aws.String("idx"), Segment: aws.Int32(segment), TotalSegments: aws.Int32(segments),
			}
			for more := true; more; more = in.ExclusiveStartKey != nil {
				in.Limit = aws.Int32(1 + m.random.Int32N(9))
				page := must(client.Scan(t.Context(), in))(t)
				got = append(got, primaryKeys(page.Items)...)
				in.ExclusiveStartKey = page.LastEvaluatedKey
			}
		}
		slices.Sort(got)
		if want := m.indexed(); !slices.Equal(got, want) {
			t.Errorf("a Scan in %d segments:\n got %v\nwant %v", segments, got, want)
		}
	}
}
