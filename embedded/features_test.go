package embedded_test

import (
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded"
)

func TestOperationsOfMissingFeaturesAreUnknown(t *testing.T) {
	partiql := []string{"ExecuteStatement", "BatchExecuteStatement"}
	transactions := []string{"TransactWriteItems", "TransactGetItems"}
	cases := []struct {
		without     []embedded.Feature
		left, stays []string
	}{
		{nil, nil, append(append([]string{"ExecuteTransaction"}, partiql...), transactions...)},
		{[]embedded.Feature{embedded.PartiQL}, append(partiql, "ExecuteTransaction"), transactions},
		{[]embedded.Feature{embedded.Transactions}, append(transactions, "ExecuteTransaction"), partiql},
		{[]embedded.Feature{"partiql", "transactions"}, append(append([]string{"ExecuteTransaction"}, partiql...), transactions...), nil},
	}
	for _, c := range cases {
		engine := openMemory(t, embedded.WithoutFeatures(c.without...))
		for _, operation := range c.left {
			if got := ask(t, engine, operation, "{}"); !strings.HasPrefix(got, "UnknownOperationException") {
				t.Errorf("without %v, %s: %s", c.without, operation, got)
			}
		}
		for _, operation := range append(c.stays, "PutItem", "BatchWriteItem") {
			if got := ask(t, engine, operation, "{}"); !strings.HasPrefix(got, "ValidationException") {
				t.Errorf("without %v, %s: %s", c.without, operation, got)
			}
		}
	}
}

func TestUnknownFeaturesAreRefused(t *testing.T) {
	engine, err := embedded.OpenMemory(embedded.WithoutFeatures("tables"))
	if err == nil {
		_ = engine.Close()
	}
	if err == nil || !strings.Contains(err.Error(), `unknown feature "tables"`) {
		t.Errorf("got %v", err)
	}
}
