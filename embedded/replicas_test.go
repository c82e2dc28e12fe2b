package embedded_test

import (
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded"
)

// replicated is a request that gives table tab replicas.
func replicated(updates, consistency string) string {
	if consistency != "" {
		consistency = `,"MultiRegionConsistency":"` + consistency + `"`
	}
	return `{"TableName":"tab","ReplicaUpdates":[` + updates + `]` + consistency + `}`
}

const (
	inParis   = `{"Create":{"RegionName":"eu-west-3"}}`
	inIreland = `{"Create":{"RegionName":"eu-west-1"}}`
)

func TestReplicasAreStoredAndShown(t *testing.T) {
	const done = `{"TableDescription":{…`
	folder := t.TempDir()
	engine, err := embedded.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	run(t, engine, []step{
		{"CreateTable", simpleTable, done},
		{"UpdateTable", replicated(inParis+","+inIreland, ""), done},
		{"UpdateTable", replicated(inParis, ""), wrong + "Replica already exists in region eu-west-3"},
		{"UpdateTable", replicated(`{"Delete":{"RegionName":"eu-west-2"}}`, ""), wrong + "There is no replica in region eu-west-2"},
		{"UpdateTable", replicated("", "STRONG"), wrong + "MultiRegionConsistency can only be specified when replicas are created"},
		{"UpdateTable", replicated(`{"Create":{"RegionName":"eu-west-2"}}`, "STRONG"), wrong + "MultiRegionConsistency of a global table can't be changed"},
		{"UpdateTable", replicated(`{"Create":{}}`, "ALWAYS"), "ValidationException: 2 validation errors detected: …"},
		{"UpdateTable", replicated(`{"Delete":{"RegionName":"eu-west-3"}}`, ""), done},
	})
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	engine, err = embedded.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	got := describe(t, engine, "tab")
	if encode(t, got["Replicas"]) != `[{"RegionName":"eu-west-1","ReplicaStatus":"ACTIVE"}]` || got["MultiRegionConsistency"] != "EVENTUAL" {
		t.Errorf("got %v, %v", got["Replicas"], got["MultiRegionConsistency"])
	}
	ask(t, engine, "UpdateTable", replicated(`{"Delete":{"RegionName":"eu-west-1"}}`, ""))
	if got := describe(t, engine, "tab"); got["Replicas"] != nil || got["MultiRegionConsistency"] != nil {
		t.Errorf("without replicas: %v", got)
	}
}

func TestStrongReplicasForbidTimeToLiveTransactionsAndLocalIndexes(t *testing.T) {
	const (
		done      = `{"TableDescription":{…`
		expiry    = `{"TableName":"tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ends"}}`
		strong    = wrong + "A table with multi-Region strong consistency "
		noExpiry  = "ValidationException: TimeToLive is not supported on a table with multi-Region strong consistency"
		noActions = "ValidationException: Transactions are not supported on a table with multi-Region strong consistency"
		item      = `"TableName":"tab","Item":{"pk":{"S":"a"}}`
	)
	all := replicated(inParis+","+inIreland, "STRONG")
	engine := openWith(t, simpleTable)
	run(t, engine, []step{
		{"UpdateTable", all, done},
		{"UpdateTimeToLive", expiry, noExpiry},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{` + item + `}}]}`, noActions},
		{"TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"tab","Key":{"pk":{"S":"a"}}}}]}`, noActions},
		{"ExecuteTransaction", `{"TransactStatements":[{"Statement":"INSERT INTO tab VALUE {'pk':'a'}"}]}`, noActions},
		{"PutItem", `{` + item + `,"ConditionExpression":"attribute_not_exists(pk)"}`, `{}`},
	})
	if got := describe(t, engine, "tab"); got["MultiRegionConsistency"] != "STRONG" {
		t.Errorf("got %v", got["MultiRegionConsistency"])
	}
	run(t, openWith(t, simpleTable), []step{
		{"PutItem", `{` + item + `}`, `{}`},
		{"UpdateTable", all, strong + "must be empty when it gets its replicas"},
	})
	run(t, openWith(t, simpleTable), []step{
		{"UpdateTimeToLive", expiry, `{"TimeToLiveSpecification":{…`},
		{"UpdateTable", all, strong + "can't have time to live"},
	})
	run(t, openWith(t, richTable), []step{
		{"UpdateTable", strings.ReplaceAll(all, `"tab"`, `"rich"`), strong + "can't have local secondary indexes"},
	})
}
