package projection

import (
	"errors"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// Of two processes that have read the same lease, one takes it. The other can't store a checkpoint.
func TestCheckpointNeedsTheLease(t *testing.T) {
	t.Parallel()
	engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{Projections: true}); err != nil {
		t.Fatal(err)
	}
	journal, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = journal.Close() })
	c := &consumer{group: &Group{journal: journal, table: openTable(journal)}, arn: "arn/label", set: "set"}
	read := func() lease {
		t.Helper()
		leases, err := c.leases(t.Context(), []string{"shard"})
		if err != nil {
			t.Fatal(err)
		}
		return leases[0]
	}
	none := read()
	for _, before := range []lease{none, {}} {
		if before.shard == "" {
			before = read()
		}
		taken, err := c.write(t.Context(), before, "first")
		if err != nil {
			t.Fatal(err)
		}
		before.checkpoint = "wrong"
		if _, err := c.write(t.Context(), before, "second"); !errors.Is(err, errAgain) {
			t.Errorf("the second process: %v", err)
		}
		if now := read(); now != taken || now.worker != "first" || now.checkpoint != "" {
			t.Errorf("the lease is %+v, taken was %+v", now, taken)
		}
	}
}
