package embedded_test

import (
	"fmt"
	"strings"
	"testing"
)

// The units were measured on DynamoDB (nubo-db/dynoxide, tests/partiql_index_consumed_capacity.rs,
// cases M1 to M5, H, U2, V1, C1 and D1). The table has a global and a local index.
func TestConsumedCapacity_StatementsAsMeasured(t *testing.T) {
	const indexed = `,"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"},` +
		`{"AttributeName":"sk","AttributeType":"S"},{"AttributeName":"l","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST",` +
		`"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],` +
		`"GlobalSecondaryIndexes":[{"IndexName":"glo","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],` +
		`"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["proj"]}}],"LocalSecondaryIndexes":[{"IndexName":"loc",` +
		`"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"l","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}]}`
	large := "'" + strings.Repeat("x", 3000) + "'"
	insert := func(table, item string) string {
		return fmt.Sprintf(`{"Statement":"INSERT INTO %s VALUE {'sk':'1',%s}"}`, table, item)
	}
	batch := func(statements ...string) string {
		return `{"ReturnConsumedCapacity":"INDEXES","Statements":[` + strings.Join(statements, ",") + `]}`
	}
	sum := func(table string, total, own, global, local float64) string {
		text := fmt.Sprintf(`{"CapacityUnits":%v`, total)
		if global > 0 {
			text += fmt.Sprintf(`,"GlobalSecondaryIndexes":{"glo":{"CapacityUnits":%v}}`, global)
		}
		if local > 0 {
			text += fmt.Sprintf(`,"LocalSecondaryIndexes":{"loc":{"CapacityUnits":%v}}`, local)
		}
		return text + fmt.Sprintf(`,"Table":{"CapacityUnits":%v},"TableName":%q}`, own, table)
	}
	capacity := func(sums ...string) string { return `{"ConsumedCapacity":[` + strings.Join(sums, ",") + `],…` }
	engine := openWith(t, `{"TableName":"tab"`+indexed, `{"TableName":"other"`+indexed)
	run(t, engine, []step{
		{"BatchExecuteStatement", batch(insert("tab", "'pk':'m2','g':'g1'")), capacity(sum("tab", 2, 1, 1, 0))},
		{"BatchExecuteStatement", batch(insert("tab", "'pk':'m3','other':'o'")), capacity(sum("tab", 1, 1, 0, 0))},
		{"BatchExecuteStatement", batch(insert("tab", "'pk':'m5','g':'g1'"), insert("tab", "'pk':'m6','g':'g1'")), capacity(sum("tab", 4, 2, 2, 0))},
		// Nothing succeeds: nothing is reported.
		{"BatchExecuteStatement", batch(insert("tab", "'pk':'m2','g':'g1'")), `{"Responses":[…`},
		// One of two fails.
		{"BatchExecuteStatement", batch(insert("tab", "'pk':'m2','g':'g1'"), insert("tab", "'pk':'m7','g':'g1'")), capacity(sum("tab", 3, 1, 1, 0))},
		{"BatchExecuteStatement", batch(insert("tab", "'pk':'h1','g':'g1','l':'L','proj':"+large), insert("other", "'pk':'h2','g':'g1'")),
			capacity(sum("tab", 9, 3, 3, 3), sum("other", 2, 1, 1, 0))},
		// Failed statements are charged for the stored items: one, one, and three units.
		{"BatchExecuteStatement", batch(insert("tab", "'pk':'u1','proj':"+large)), capacity(sum("tab", 3, 3, 0, 0))},
		{"BatchExecuteStatement", batch(insert("tab", "'pk':'m2'"), insert("tab", "'pk':'m3'"), insert("tab", "'pk':'u1'"), insert("tab", "'pk':'u5','g':'g1'")),
			capacity(sum("tab", 7, 1, 1, 0))},
		{"BatchExecuteStatement", batch(`{"Statement":"SELECT * FROM tab WHERE pk = 'm2' AND sk = '1'"}`, `{"Statement":"SELECT * FROM tab WHERE pk = 'm3' AND sk = '1'"}`),
			capacity(sum("tab", 1, 1, 0, 0))},
		{"ExecuteStatement", `{"ReturnConsumedCapacity":"INDEXES",` + insert("tab", "'pk':'c1','g':'g1','l':'L'")[1:],
			`{"ConsumedCapacity":` + sum("tab", 3, 1, 1, 1) + `,…`},
		// A transaction doubles the units of the table, but not the units of its indexes.
		{"ExecuteTransaction", `{"ReturnConsumedCapacity":"TOTAL","TransactStatements":[` + insert("tab", "'pk':'d1','g':'g1','l':'L'") + `]}`,
			`{"ConsumedCapacity":[{"CapacityUnits":4,"TableName":"tab","WriteCapacityUnits":4}],…`},
		{"TransactWriteItems", `{"ReturnConsumedCapacity":"TOTAL","TransactItems":[{"Put":{"TableName":"tab","Item":{"pk":{"S":"a1"},"sk":{"S":"1"},"g":{"S":"g"}}}}]}`,
			`{"ConsumedCapacity":[{"CapacityUnits":3,"TableName":"tab","WriteCapacityUnits":3}]}`},
	})
	// With the effect, each statement that has a table is reported, even if it failed.
	inject(t, engine, "statement-capacity")
	run(t, engine, []step{
		{"BatchExecuteStatement", batch(insert("tab", "'pk':'m2','g':'g1'"), insert("none", "'pk':'m2'"), insert("tab", "'pk':'m8','g':'g1'")),
			capacity(sum("tab", 1, 1, 0, 0), sum("tab", 2, 1, 1, 0))},
		{"BatchExecuteStatement", batch(insert("tab", "'pk':'m2','g':'g1'")), capacity(sum("tab", 1, 1, 0, 0))},
	})
}
