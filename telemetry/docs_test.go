package telemetry_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/telemetry"
)

// The page lists each metric, and no other one.
func TestMetrics_AreThoseOfThePage(t *testing.T) {
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| Metric | Kind | Unit | What it is |\n|---|---|---|---|\n")
	if !found {
		t.Fatal("the page has no table of metrics")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var want strings.Builder
	for _, m := range telemetry.Metrics {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", m.Name, m.Kind, m.Unit, m.Description)
	}
	if strings.TrimSpace(table) != strings.TrimSpace(want.String()) {
		t.Errorf("the page has\n%s\nwant\n%s", table, want.String())
	}
}
