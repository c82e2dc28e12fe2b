package embedded_test

import (
	"fmt"
	"strings"
	"testing"
)

// statement returns a request for ExecuteStatement.
func statement(text, parameters, rest string) string {
	body := fmt.Sprintf(`{"Statement":%q`, text)
	if parameters != "" {
		body += `,"Parameters":[` + parameters + `]`
	}
	return body + rest + `}`
}

func TestStatementsInsertUpdateDeleteAndSelect(t *testing.T) {
	run(t, openWith(t, simpleTable), []step{
		{"ExecuteStatement", statement("INSERT INTO tab VALUE {'pk':?,'n':1}", `{"S":"a"}`, `,"ReturnConsumedCapacity":"TOTAL"`),
			`{"ConsumedCapacity":{"CapacityUnits":1,"TableName":"tab"},"Items":[]}`},
		{"ExecuteStatement", statement("INSERT INTO tab VALUE {'pk':?,'n':1}", `{"S":"a"}`, ""), "DuplicateItemException: Duplicate primary key exists in table"},
		{"ExecuteStatement", statement("UPDATE tab SET n = n + ? WHERE pk = 'a' RETURNING ALL NEW *", `{"N":"4"}`, ""), `{"Items":[{"n":{"N":"5"},"pk":{"S":"a"}}]}`},
		{"ExecuteStatement", statement("UPDATE tab SET n = 6 WHERE pk = 'a' AND n = 7", "", ""), "ConditionalCheckFailedException: The conditional request failed"},
		{"ExecuteStatement", statement("UPDATE tab SET n = 6 WHERE pk = 'none'", "", ""), "ConditionalCheckFailedException: The conditional request failed"},
		{"ExecuteStatement", statement("SELECT n FROM tab WHERE pk = ?", `{"S":"a"}`, `,"ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"`),
			`{"ConsumedCapacity":{"CapacityUnits":1,"TableName":"tab"},"Items":[{"n":{"N":"5"}}]}`},
		{"ExecuteStatement", statement("SELECT * FROM tab WHERE pk IN ['a','b']", "", ""), `{"Items":[{"n":{"N":"5"},"pk":{"S":"a"}}]}`},
		{"ExecuteStatement", statement("SELECT * FROM tab WHERE n > 5", "", ""), `{"Items":[]}`},
		{"ExecuteStatement", statement("DELETE FROM tab WHERE pk = 'a' RETURNING ALL OLD *", "", ""), `{"Items":[{"n":{"N":"5"},"pk":{"S":"a"}}]}`},
		{"ExecuteStatement", statement("DELETE FROM tab WHERE pk = 'a'", "", ""), `{"Items":[]}`},
		{"ExecuteStatement", statement("SELECT * FROM none", "", ""), "ResourceNotFoundException: Requested resource not found"},
		{"ExecuteStatement", statement("SELECT FROM", "", ""), "ValidationException: Statement wasn't well formed, can't be processed: …"},
		{"ExecuteStatement", statement("SELECT * FROM tab WHERE pk = ?", "", ""), "ValidationException: Number of parameters in request and statement don't match."},
		{"ExecuteStatement", statement("INSERT INTO tab VALUE {'n':1}", "", ""), wrong + "Missing the key pk in the item"},
		{"ExecuteStatement", statement("DELETE FROM tab WHERE n = 1", "", ""), "ValidationException: Where clause does not contain a mandatory equality on all key attributes"},
		{"ExecuteStatement", `{}`, "ValidationException: 1 validation error detected: Value null at 'statement' failed to satisfy constraint: Member must not be null"},
	})
}

func TestSelectsReadIndexesInPages(t *testing.T) {
	engine := openWith(t, richTable)
	fill(t, engine)
	for _, c := range []struct{ text, want string }{
		{"SELECT * FROM rich WHERE pk = 'a'", "a-2 a-1 a0 a1 a2 a3"},
		{"SELECT * FROM rich WHERE pk = 'a' ORDER BY sk DESC", "a3 a2 a1 a0 a-1 a-2"},
		{"SELECT * FROM rich WHERE pk IN ['b','a'] AND sk > 1", "b2 b3 a2 a3"},
		{"SELECT * FROM rich WHERE pk = 'a' AND sk BETWEEN 0 AND 1", "a0 a1"},
		{`SELECT pk, sk FROM rich."group" WHERE grp = 'g' AND "when" = 0`, "a0 b0"},
		{`SELECT * FROM rich."local" WHERE pk = 'b' AND "when" > 1`, "b-2 b2 b3"},
		{"SELECT * FROM rich WHERE pk = 'a' AND attribute_type(grp, 'S')", "a-2 a0 a2"},
	} {
		for _, limit := range []int{0, 1, 2, 5} {
			var pages []string
			rest := ""
			if limit > 0 {
				rest = fmt.Sprintf(`,"Limit":%d`, limit)
			}
			for token := ""; ; {
				page := read(t, engine, "ExecuteStatement", statement(c.text, "", rest+token))
				if keys := page.keys(); keys != "" {
					pages = append(pages, keys)
				}
				if limit > 0 && len(page.Items) > limit {
					t.Errorf("%s: a page of %d", c.text, len(page.Items))
				}
				if page.NextToken == "" {
					break
				}
				token = `,"NextToken":"` + page.NextToken + `"`
			}
			if got := strings.Join(pages, " "); got != c.want {
				t.Errorf("%s by %d: got %q, want %q", c.text, limit, got, c.want)
			}
		}
	}
	first := read(t, engine, "ExecuteStatement", statement("SELECT * FROM rich", "", `,"Limit":1`))
	run(t, engine, []step{
		{"ExecuteStatement", statement("SELECT * FROM rich WHERE pk = 'a'", "", `,"NextToken":"`+first.NextToken+`"`), "ValidationException: Invalid NextToken"},
		{"ExecuteStatement", statement("SELECT * FROM rich", "", `,"NextToken":"x"`), "ValidationException: Invalid NextToken"},
		{"ExecuteStatement", statement(`SELECT more FROM rich."group" WHERE grp = 'g'`, "", ""), wrong + "Global secondary index group does not project [more]"},
		{"ExecuteStatement", statement(`SELECT * FROM rich."none"`, "", ""), "ValidationException: The table does not have the specified index"},
	})
}

func TestStatementsOfABatchFailIndividually(t *testing.T) {
	run(t, openWith(t, simpleTable), []step{
		{"BatchExecuteStatement", `{"Statements":[
			{"Statement":"INSERT INTO tab VALUE {'pk':'old','n':1}"},{"Statement":"INSERT INTO tab VALUE {'pk':'old1'}"},
			{"Statement":"INSERT INTO tab VALUE {'pk':'old2','n':1}"},{"Statement":"INSERT INTO tab VALUE {'pk':'old3'}"}]}`,
			`{"Responses":[{"TableName":"tab"},{"TableName":"tab"},{"TableName":"tab"},{"TableName":"tab"}]}`},
		{"BatchExecuteStatement", `{"Statements":[
			{"Statement":"INSERT INTO tab VALUE {'pk':'a'}"},
			{"Statement":"INSERT INTO tab VALUE {'pk':'old1'}"},
			{"Statement":"INSERT INTO tab VALUE {'pk':'old2'}","ReturnValuesOnConditionCheckFailure":"ALL_OLD"},
			{"Statement":"UPDATE tab SET n = 3 WHERE pk = 'old3' AND n = 2"},
			{"Statement":"INSERT INTO none VALUE {'pk':'a'}"},
			{"Statement":"INSERT INTO tab"},
			{"Statement":"INSERT INTO tab VALUE {'n':1}"},
			{"Statement":"UPDATE tab SET n = ? WHERE pk = 'old'","Parameters":[{"N":"7"}]}],"ReturnConsumedCapacity":"TOTAL"}`,
			`{"ConsumedCapacity":[{"CapacityUnits":5,"TableName":"tab"}],"Responses":[` +
				`{"TableName":"tab"},` +
				`{"Error":{"Code":"DuplicateItem","Message":"Duplicate primary key exists in table"},"TableName":"tab"},` +
				`{"Error":{"Code":"DuplicateItem","Item":{"n":{"N":"1"},"pk":{"S":"old2"}},"Message":"Duplicate primary key exists in table"},"TableName":"tab"},` +
				`{"Error":{"Code":"ConditionalCheckFailed","Message":"The conditional request failed"},"TableName":"tab"},` +
				`{"Error":{"Code":"ResourceNotFound","Message":"Requested resource not found"},"TableName":"none"},` +
				`{"Error":{"Code":"ValidationError","Message":"Statement wasn't well formed, can't be processed: …`},
		{"BatchExecuteStatement", `{"Statements":[{"Statement":"SELECT n FROM tab WHERE pk = 'old'"},{"Statement":"SELECT n FROM tab WHERE pk = 'none'"},` +
			`{"Statement":"SELECT n FROM tab WHERE n = 1"}]}`,
			`{"Responses":[{"Item":{"n":{"N":"7"}},"TableName":"tab"},{"TableName":"tab"},{"Error":{"Code":"ValidationError","Message":"Select statements ` +
				`within BatchExecuteStatement must specify the primary key in the where clause."},"TableName":"tab"}]}`},
		{"BatchExecuteStatement", `{"Statements":[{"Statement":"SELECT n FROM tab WHERE pk = 'old'"},{"Statement":"DELETE FROM tab WHERE pk = 'old'"}]}`,
			"ValidationException: Read and write requests together in the same batch is not supported."},
		{"BatchExecuteStatement", `{"Statements":[` + strings.Repeat(`{"Statement":"DELETE FROM tab WHERE pk = 'old'"},`, 25) + `{"Statement":"DELETE FROM ` +
			`tab WHERE pk = 'old'"}]}`,
			"ValidationException: 1 validation error detected: Value '[26 statements]' at 'statements' failed to satisfy constraint: Member must have length " +
				"less than or equal to 25"},
	})
}

func TestBatchExecuteStatement_SameItemTwice(t *testing.T) {
	run(t, openWith(t, simpleTable), []step{
		{"BatchExecuteStatement", `{"Statements":[
			{"Statement":"INSERT INTO tab VALUE {'pk':'a','n':1}"},
			{"Statement":"UPDATE tab SET n = n + 10 WHERE pk = 'a'"}]}`,
			"ValidationException: Provided list of item keys contains duplicates"},
		{"GetItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}}}`, `{}`},
	})
}

func TestTransactionsOfStatements(t *testing.T) {
	cancelled := "TransactionCanceledException: Transaction cancelled, please refer cancellation reasons for specific reasons "
	run(t, openWith(t, simpleTable), []step{
		{"ExecuteTransaction", `{"TransactStatements":[{"Statement":"INSERT INTO tab VALUE {'pk':'a','n':1}"},{"Statement":"INSERT INTO tab VALUE ` +
			`{'pk':'b'}"}],"ReturnConsumedCapacity":"TOTAL"}`,
			`{"ConsumedCapacity":[{"CapacityUnits":4,"TableName":"tab","WriteCapacityUnits":4}],"Responses":[]}`},
		{"ExecuteTransaction", `{"TransactStatements":[{"Statement":"INSERT INTO tab VALUE {'pk':'c'}"},{"Statement":"INSERT INTO tab VALUE {'pk':'b'}"}]}`,
			cancelled + `[None, DuplicateItem] {"CancellationReasons":[{"Code":"None"},{"Code":"DuplicateItem","Message":"Duplicate primary key exists in table"}]}`},
		{"ExecuteTransaction", `{"TransactStatements":[{"Statement":"INSERT INTO tab VALUE {'pk':'c'}"},{"Statement":"EXISTS(SELECT * FROM tab WHERE pk = 'a' AND n = 2)"}]}`,
			cancelled + `[None, ConditionalCheckFailed] {…`},
		{"ExecuteTransaction", `{"TransactStatements":[{"Statement":"SELECT * FROM tab WHERE pk = 'a'"},{"Statement":"SELECT * FROM tab WHERE pk = 'c'"}]}`,
			`{"Responses":[{"Item":{"n":{"N":"1"},"pk":{"S":"a"}}},{}]}`},
		{"ExecuteTransaction", `{"TransactStatements":[{"Statement":"INSERT INTO tab VALUE {'pk':'c'}"},{"Statement":"EXISTS(SELECT * FROM tab WHERE pk = ` +
			`'a' AND n = 1)"}],"ClientRequestToken":"t"}`, `{"Responses":[]}`},
		{"ExecuteTransaction", `{"TransactStatements":[{"Statement":"INSERT INTO tab VALUE {'pk':'c'}"},{"Statement":"EXISTS(SELECT * FROM tab WHERE pk = ` +
			`'a' AND n = 1)"}],"ClientRequestToken":"t"}`, `{"Responses":[]}`},
		{"ExecuteTransaction", `{"TransactStatements":[{"Statement":"SELECT * FROM tab WHERE pk = 'a'"},{"Statement":"DELETE FROM tab WHERE pk = 'c'"}]}`,
			"ValidationException: ExecuteTransaction API does not support both read and write operations in the same request."},
	})
}
