package entity_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// BenchmarkInMemory compares calls that need no request with a map read under a mutex plus an
// indirect call.
func BenchmarkInMemory(b *testing.B) {
	b.Run("map", func(b *testing.B) {
		b.ReportAllocs()
		var mu sync.Mutex
		loaded := map[string]*Account{"anna": {Balance: 1}}
		sum := 0
		show := func(a Account) error { sum += a.Balance; return nil }
		for b.Loop() {
			mu.Lock()
			a := loaded["anna"]
			mu.Unlock()
			if err := show(*a); err != nil {
				b.Fatal(err)
			}
		}
	})
	hosted := setup(b, dynajournal.TableOptions{}).accounts()
	do(b, hosted, "anna", deposit(1))

	b.Run("View", func(b *testing.B) {
		b.ReportAllocs()
		sum := 0
		show := func(a Account) error { sum += a.Balance; return nil }
		for b.Loop() {
			if _, err := hosted.View(b.Context(), "anna", show, entity.InMemory); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("command", func(b *testing.B) {
		b.ReportAllocs()
		sum := 0
		command := func(tx *accountTx) error { sum += tx.State().Balance; return nil }
		ctx := context.Background()
		for b.Loop() {
			if _, err := hosted.Update(ctx, "anna", command); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkManyEntities compares commands of many callers with appends.
func BenchmarkManyEntities(b *testing.B) {
	const entities, callers = 10_000, 64
	s := setup(b, dynajournal.TableOptions{})
	j := s.Journal()
	hosted := s.open(j, accountType(), entity.Options{})
	writers := make([]*dynajournal.Writer, entities)
	ids := make([]string, entities)
	var group errgroup.Group
	group.SetLimit(callers)
	for i := range entities {
		ids[i] = fmt.Sprint("id-", i)
		group.Go(func() (err error) {
			if writers[i], err = j.Recover(b.Context(), ids[i], dynajournal.RecoverOptions{}, nil); err == nil {
				_, err = hosted.Update(b.Context(), ids[i], func(*accountTx) error { return nil })
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	for name, call := range map[string]func(i int) error{
		"entities": func(i int) error {
			_, err := hosted.Update(b.Context(), ids[i], func(tx *accountTx) error { tx.Record(Deposited{1}); return nil })
			return err
		},
		"journal": func(i int) error {
			_, err := writers[i].Append(b.Context(), Deposited{1})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(callers / runtime.GOMAXPROCS(0))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := call(rand.IntN(entities)); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
