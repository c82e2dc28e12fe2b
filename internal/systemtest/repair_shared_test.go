package systemtest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
)

// In a native journal, a low mark that expires comes from a purge by an earlier version. In a
// shared journal it does not, and a repair treats it like any other low mark.
func TestRepair_SharedLowMarkThatExpires(t *testing.T) {
	t.Parallel()
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createTables(t, config, kinds["shared"])
	j := openJournal(t, config)
	a := &arrangement{
		Rand: rand.New(rand.NewPCG(1, 1)), pid: "a", shards: j.SequenceShards(), shared: true,
		items: map[string]map[string]types.AttributeValue{},
	}
	a.put("journal-SL-a-0", 0, map[string]any{"seq": 5, "removed": 5, "expires": 1})
	a.event(5, "A")
	a.event(6, "A", 6, 8)
	a.event(7, "A", 6, 8)
	a.event(8, "B")
	putAll(t, dynamodb.NewFromConfig(config.AWS), slices.Collect(maps.Values(a.items)))
	options := dynajournal.VerifyOptions{RemoveIncomplete: true, Archive: func(dynajournal.RemovedItem) error { return nil }}
	var repaired int
	for f, err := range j.Repair(t.Context(), "a", options) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Kind == dynajournal.FindingIncompleteBatch && f.Repaired {
			repaired++
		}
	}
	if repaired != 1 {
		t.Errorf("%d incomplete atomic writes were repaired, want 1", repaired)
	}
}
