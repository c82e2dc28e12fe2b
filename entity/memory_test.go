package entity_test

import (
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// An idle entity takes at most 1 KiB beside its state, with what the journal holds for its writer.
func TestIdleEntityIsSmall(t *testing.T) {
	const entities, most = 2000, 1024
	ids := make([]string, entities)
	for i := range ids {
		ids[i] = fmt.Sprint("id-", i)
	}
	s := setup(t, dynajournal.TableOptions{})
	write := func(hosted *accounts) {
		var group errgroup.Group
		group.SetLimit(10)
		for _, id := range ids {
			group.Go(func() error {
				_, err := hosted.Update(t.Context(), id, func(tx *accountTx) error { tx.Record(Deposited{1}); return nil })
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	write(s.accounts()) // the engine has the items, so that it grows no more
	hosted := s.accounts()
	load := func(id string) error {
		_, err := hosted.Update(t.Context(), id, func(*accountTx) error { return nil })
		return err
	}
	if err := load("warm"); err != nil {
		t.Fatal(err)
	}
	before := heap()
	for _, id := range ids {
		if err := load(id); err != nil {
			t.Fatal(err)
		}
	}
	loaded := heap()
	each := (int64(loaded) - int64(before)) / entities
	t.Logf("an idle entity takes %d bytes", each)
	if each > most {
		t.Errorf("an idle entity takes %d bytes, want at most %d", each, most)
	}
	runtime.KeepAlive(hosted)
	_ = entity.Options{}
}

// heap returns the bytes of all that is reachable.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
