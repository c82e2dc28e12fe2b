package dynajournal_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// queriesHook counts Queries that have ended.
type queriesHook struct{ ended atomic.Int64 }

func (h *queriesHook) OnRequest(_ context.Context, r dynajournal.Request) {
	if r.Operation == "Query" {
		h.ended.Add(1)
	}
}

// However slow a consumer is, no more than Config.ReplayParallelism partitions are read ahead of it: the memory of a replay does
// not grow with the journal.
func TestReplayReadsNoFurtherAheadThanItMay(t *testing.T) {
	const partitions, eventsOfPartition = 30, 100
	for _, parallelism := range []int{1, 3, 10} {
		synctest.Test(t, func(t *testing.T) {
			engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
			if err != nil {
				t.Fatal(err)
			}
			queries := &queriesHook{}
			config := dynajournal.Config{AWS: engine.AWSConfig(), ReplayParallelism: parallelism, Hooks: []dynajournal.Hook{queries}}
			if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}); err != nil {
				t.Fatal(err)
			}
			j, err := dynajournal.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			w := recoverWriter(t, j, "a", 0)
			for range partitions { // batches of their own, as one has to be read as a whole
				appendStrings(t, w, eventsOfPartition, true)
			}
			before := queries.ended.Load()
			furthest := int64(0)
			for e, err := range j.Events(t.Context(), "a", dynajournal.Range{}) {
				if err != nil {
					t.Fatal(err)
				}
				if e.SequenceNumber%10 != 0 {
					continue
				}
				synctest.Wait() // until the reading ahead has come as far as it does
				// The partition of the event, and the next one, which the end of its last batch may stand in, are not ahead.
				ahead := queries.ended.Load() - before - e.SequenceNumber/eventsOfPartition - 1
				furthest = max(furthest, ahead)
			}
			if furthest != int64(parallelism) {
				t.Errorf("with a parallelism of %d, %d partitions are read ahead", parallelism, furthest)
			}
			if err := errors.Join(j.Close(), engine.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
