package systemtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// TestTablesWhoseCreationIsInterrupted stops CreateTables at each of its requests, before it is
// done or when its response is lost. Until the creation is complete, the journal cannot be opened:
// without its header it would count as a JVM's. The next call completes the creation.
func TestTablesWhoseCreationIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{false, true} {
		for nth, cut := 1, true; cut; nth++ {
			engine := openEngine(t)
			config := dynajournal.Config{AWS: engine.AWSConfig(), Retries: -1}
			stop, err := engine.Inject(embedded.Fault{Effect: embedded.EffectReset, Applied: applied, Nth: nth})
			if err != nil {
				t.Fatal(err)
			}
			cut = dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}) != nil
			stop()
			at := fmt.Sprintf("cut at request %d (done: %v)", nth, applied)
			j, err := dynajournal.Open(t.Context(), config)
			switch {
			case err == nil:
				wantWholeJournal(t, at, config, j)
			case !cut || !errors.Is(err, dynajournal.ErrTableNotFound) && !errors.Is(err, dynajournal.ErrNoHeader):
				t.Errorf("%s: Open: %v", at, err)
			}
			if _, err := dynajournal.UpdateTables(t.Context(), config, dynajournal.UpdateOptions{}); j == nil && err == nil {
				t.Errorf("%s: UpdateTables takes it for a JVM's", at)
			}
			createTables(t, config, dynajournal.TableOptions{})
			if j, err = dynajournal.Open(t.Context(), config); err != nil {
				t.Fatalf("%s: Open after the second call: %v", at, err)
			}
			wantWholeJournal(t, at+", and called again", config, j)
		}
	}
}

// wantWholeJournal checks that an open journal is native and complete, and closes it.
func wantWholeJournal(t *testing.T, at string, config dynajournal.Config, j *dynajournal.Journal) {
	t.Helper()
	tables, err := dynajournal.DescribeTables(t.Context(), config)
	whole := err == nil && len(tables) == 2 && tables[0].TTL == "expires" && len(tables[0].Indexes) == 1 && tables[0].Indexes[0].Name == "ids-idx"
	if !j.Native() || !whole {
		t.Errorf("%s: it is open, native: %v, with %+v, %v", at, j.Native(), tables, err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
