package legacy_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/legacy"
)

// Several processes make the table of a journal when they start, on a service that describes new
// tables late. Each process succeeds.
func TestCreateTable_ByThreeProcesses(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			engine, err := embedded.OpenMemory(embedded.WithSeed(seed), embedded.WithFaults(
				embedded.Fault{Effect: embedded.EffectStaleDescription, Delay: 3 * time.Second, Probability: 0.5},
			))
			if err != nil {
				t.Fatal(err)
			}
			defer engine.Close()
			config := legacy.Config{Layout: legacy.HashKey, Journal: dynajournal.Config{AWS: engine.AWSConfig()}}
			var all sync.WaitGroup
			var errs [3]error
			for i := range errs {
				all.Go(func() { errs[i] = legacy.CreateTable(t.Context(), config) })
			}
			all.Wait()
			if err := errors.Join(errs[:]...); err != nil {
				t.Fatalf("round %d: %v", seed, err)
			}
		})
	}
}
