package bench

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// projectionsWriter is the environment variable with which TestTableOfProjections writes the table
// of bench/RESULTS.md, instead of comparing it with the figures.
const projectionsWriter = "DYNAJOURNAL_BENCH_PROJECTIONS"

// projectionRows are the rows of the table: a text, a figure without the prefix "projections-", its
// base, and the goal.
var projectionRows = [][4]string{
	{"an append, while a projection follows: requests", "cost/writer/requests", "a table without a stream", "the same"},
	{"the same: write units", "cost/writer/write-units", "the same", "the same"},
	{"at least once, one new event of an id: requests", "cost/at-least-once-image-1/requests", "", ""},
	{"the same: read units", "cost/at-least-once-image-1/read-units", "", "0"},
	{"the same: write units", "cost/at-least-once-image-1/write-units", "", "2"},
	{"at least once, 100 new events of an id: requests an event", "cost/at-least-once-image-100/requests", "", ""},
	{"the same: read units", "cost/at-least-once-image-100/read-units", "", "0"},
	{"the same: write units", "cost/at-least-once-image-100/write-units", "", "at most 0.1"},
	{"the same, the stream has keys only: read units", "cost/at-least-once-keys-100/read-units", "", "at most 0.6"},
	{"transactional, one new event of an id, which puts an item: requests", "cost/transactional-image-1/requests", "a bare transaction of the item", ""},
	{"the same: read units", "cost/transactional-image-1/read-units", "the same", "0"},
	{"the same: write units", "cost/transactional-image-1/write-units", "the same", "2 more"},
	{"transactional, 100 new events of an id: requests an event", "cost/transactional-image-100/requests", "the same", ""},
	{"the same: read units", "cost/transactional-image-100/read-units", "the same", "0"},
	{"the same: write units", "cost/transactional-image-100/write-units", "the same", "2 more"},
	{"a minute without events, 100 ids: read units of the journal table", "idle/journal-read-units", "a live query of each id", "0"},
	{"the same: requests to all tables", "idle/requests", "the same", ""},
	{"the same: read units", "idle/read-units", "the same", ""},
	{"the same: write units", "idle/write-units", "the same", ""},
	{"the same: requests to the stream", "idle/stream-requests", "", ""},
	{"the same: requests to all tables", "idle/requests-to-slices", "an index by slice and time", ""},
	{"the same: read units", "idle/read-units-to-slices", "the same", ""},
	{"an append: write units", "beside/written-write-units-to-slices", "the same", ""},
	{"90 new events of an id: requests an event", "beside/requests-to-slices", "the same", ""},
	{"the same: read units", "beside/read-units-to-slices", "the same", ""},
	{"the same: read units", "beside/read-units", "a live query of the id", ""},
	{"events missed where 15 are shown 3 minutes late", "beside/missed-to-slices", "an index by slice and time", "0"},
	{"at least once, 1 new event an id: events", "speed/1/events", "a bare loop of GetRecords", ""},
	{"at least once, 10 new events an id: events", "speed/10/events", "the same", ""},
	{"at least once, 50 new events an id: events", "speed/50/events", "the same", "at least 0.7"},
	{"at least once, 200 new events an id: events", "speed/200/events", "the same", "at least 0.85"},
	{"the same: client CPU an event", "speed/200/cpu", "the same", ""},
	{"transactional, which puts an item: events", "once/transactions/events", "bare transactions of the same items", "at least 0.5"},
	{"the same: client CPU an event", "once/transactions/cpu", "the same", ""},
	{"from the append to the handler: p50", "lag/p50", "the pause between polls", ""},
	{"the same: p99", "lag/p99", "the same", "below 2"},
	{"the first sweep of all ids: time", "sweep/new/time", "a bare Query of each id", ""},
	{"the same: requests an id", "sweep/new/requests", "the same", ""},
	{"the same: read units an id", "sweep/new/read-units", "the same", ""},
	{"the same: write units an id", "sweep/new/write-units", "the same", ""},
	{"a sweep that finds nothing: time", "sweep/again/time", "the same", ""},
	{"the same: requests an id", "sweep/again/requests", "the same", ""},
	{"the same: read units an id", "sweep/again/read-units", "the same", ""},
}

// TestTableOfProjections compares the table of bench/RESULTS.md with the figures in the repository.
func TestTableOfProjections(t *testing.T) {
	t.Parallel()
	found := map[string]Figure{}
	for _, f := range readFigures(t, "figures/projections.jsonl") {
		found[f.Name] = f
	}
	var table strings.Builder
	table.WriteString("| what | projection | compared with | there | ratio | goal |\n|---|---|---|---|---|---|\n")
	for _, row := range projectionRows {
		f, ok := found["projections-"+row[1]]
		if !ok {
			t.Errorf("there is no figure projections-%s", row[1])
		}
		base, ratio := shown(f.Base, f.Unit), strconv.FormatFloat(f.Ratio, 'f', 2, 64)
		if row[2] == "" {
			base = ""
		}
		if f.Base == 0 {
			ratio = ""
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s | %s |\n", row[0], shown(f.Value, f.Unit), row[2], base, ratio, row[3])
	}
	const path = "../bench/RESULTS.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	marked := regexp.MustCompile(`(?m)^\| what \| projection \|.*\n(\|.*\n)*`)
	switch at := marked.FindIndex(page); {
	case at == nil:
		t.Fatalf("%s has no such table", path)
	case os.Getenv(projectionsWriter) != "":
		changed := string(page[:at[0]]) + table.String() + string(page[at[1]:])
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	case string(page[at[0]:at[1]]) != table.String():
		t.Errorf("the table of %s is not that of the figures: write it with %s=1", path, projectionsWriter)
	}
}

// shown formats a figure with its significant digits and its unit.
func shown(v float64, unit string) string {
	digits := 3
	if v >= 1000 {
		digits = len(strconv.FormatFloat(v, 'f', 0, 64))
	}
	text := strconv.FormatFloat(v, 'g', digits, 64)
	for i := len(text) - 3; i > 0 && !strings.Contains(text, "."); i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	switch unit {
	case requests, readUnits, writeUnits, missedEvents: // the row names them
		return text
	}
	return text + " " + unit
}
