package entity_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// each calls do with n ids, some at the same time.
func each(t *testing.T, n int, do func(ctx context.Context, id string) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(10)
	for i := range n {
		group.Go(func() error { return do(ctx, fmt.Sprint("id-", i)) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// heap returns the bytes of all objects in memory that are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // frees what the first one has emptied from pools
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// An idle entity takes at most 1 KiB in addition to its state. That includes its writer. The test
// is not parallel, because it measures the whole heap.
func TestIdleEntityIsSmall(t *testing.T) { //nolint:paralleltest // see above
	const most = 1024
	entities := testsize.Of(3000, 10_000)
	s := setup(t, dynajournal.TableOptions{})
	writer := s.accounts()
	each(t, entities, func(ctx context.Context, id string) error {
		_, err := writer.Update(ctx, id, func(tx *accountTx) error { tx.Record(Deposited{1}); return nil })
		return err
	})
	hosted := s.accounts() // it only reads, so that the engine does not grow
	before := heap()
	each(t, entities, func(ctx context.Context, id string) error {
		_, err := hosted.Update(ctx, id, func(*accountTx) error { return nil })
		return err
	})
	if got := (heap() - before) / int64(entities); got > most {
		t.Errorf("an idle entity takes %d bytes, want at most %d", got, most)
	}
	if got := hosted.Stats().Loaded; got != entities {
		t.Errorf("%d entities are loaded, want %d", got, entities)
	}
}
