package systemtest

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

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

// A replay reads at most Config.ReplayParallelism partitions ahead of its consumer, however slow
// the consumer is: the memory of a replay does not grow with the journal.
func TestReplayReadsNoFurtherAheadThanItMay(t *testing.T) {
	const partitions, eventsOfPartition = 30, 100
	for _, parallelism := range []int{1, 3, 10} {
		synctest.Test(t, func(t *testing.T) {
			engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
			if err != nil {
				t.Fatal(err)
			}
			queries := &queriesHook{}
			config := dynajournal.Config{AWS: engine.AWSConfig(), ReplayParallelism: parallelism, Hooks: []dynajournal.Hook{{OnRequest: queries.OnRequest}}}
			if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}); err != nil {
				t.Fatal(err)
			}
			j, err := dynajournal.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			w := recoverWriter(t, j, "a", 0)
			for range partitions { // separate atomic writes, because each must be read as a whole
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
				synctest.Wait() // until the journal stops reading ahead
				// The partition of the event does not count, and neither does the next one, which
				// may have the end of its last atomic write.
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

// goroutinesHook collects the goroutines that send requests.
type goroutinesHook struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (h *goroutinesHook) OnRequest(context.Context, dynajournal.Request) {
	var stack [64]byte
	_, name, _ := bytes.Cut(stack[:runtime.Stack(stack[:], false)], []byte(" "))
	name, _, _ = bytes.Cut(name, []byte(" "))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen[string(name)] = true
}

// A replay reads its pages with one goroutine for each partition that it may read ahead, and its
// own goroutine, for any number of pages: each stack grows once. A small entity takes two
// goroutines, for its marks and its page.
func TestReplay_ReusesReaders(t *testing.T) {
	const partitions, eventsOfPartition, parallelism = 20, 100, 3
	hook := &goroutinesHook{seen: map[string]bool{}}
	j := openFresh(t, dynajournal.TableOptions{}, func(c *dynajournal.Config) {
		c.ReplayParallelism, c.Hooks = parallelism, []dynajournal.Hook{{OnRequest: hook.OnRequest}}
	})
	w := recoverWriter(t, j, "long", 0)
	for range partitions {
		appendStrings(t, w, eventsOfPartition, true)
	}
	appendStrings(t, recoverWriter(t, j, "short", 0), 1, false)
	for pid, most := range map[string]int{"long": parallelism + 1, "short": 2} {
		clear(hook.seen)
		recoverWriter(t, j, pid, 0)
		if got := len(hook.seen); got > most {
			t.Errorf("%d goroutines read the %s journal, want at most %d", got, pid, most)
		}
	}
}

// If requests wait for connections, nothing is read ahead. Many concurrent replays, whose consumers
// are all at their first event, have the page of that event in memory, and at most the pages for
// which a connection was free when it arrived. After that they continue, and read each partition
// once.
func TestReplay_NoReadAheadWithoutFreeConnections(t *testing.T) {
	const replays, partitions, connections = 20, 8, 2
	synctest.Test(t, func(t *testing.T) {
		engine := openEngine(t, embedded.WithSweepInterval(0))
		queries := &queriesHook{}
		config := dynajournal.Config{AWS: engine.AWSConfig(), MaxConnections: connections, Hooks: []dynajournal.Hook{{OnRequest: queries.OnRequest}}}
		createTables(t, config, kinds["native"])
		j := openJournal(t, config)
		w := recoverWriter(t, j, "a", 0)
		const events = partitions*100 - 50
		if _, err := w.AppendEach(t.Context(), slices.Repeat([]any{"event"}, events)...); err != nil {
			t.Fatal(err)
		}
		before := queries.ended.Load()
		goOn := make(chan struct{})
		var all sync.WaitGroup
		for range replays {
			all.Go(func() {
				seen := 0
				for _, err := range j.Events(t.Context(), "a", dynajournal.Range{}) {
					if err != nil {
						t.Error(err)
					}
					if seen++; seen == 1 {
						<-goOn
					}
				}
				if seen != events {
					t.Errorf("%d events, want %d", seen, events)
				}
			})
		}
		synctest.Wait() // every consumer has its first event, and the read-ahead has ended
		if sent := queries.ended.Load() - before; sent > replays*(1+connections) {
			t.Errorf("%d replays hold %d pages, want at most %d", replays, sent, replays*(1+connections))
		}
		close(goOn)
		all.Wait()
		if read := queries.ended.Load() - before; read != replays*partitions {
			t.Errorf("%d partitions were read, want %d", read, replays*partitions)
		}
	})
}

// A consumer that panics, or ends its goroutine in the middle of its events, must not leak readers.
func TestReadersEndWithAConsumerThatPanics(t *testing.T) {
	j := openFresh(t, dynajournal.TableOptions{})
	w := recoverWriter(t, j, "a", 0)
	for range 5 {
		appendStrings(t, w, 100, true)
	}
	before := goleak.IgnoreCurrent()
	for name, end := range map[string]func(){"panics": func() { panic("the consumer's") }, "ends": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			var consumer sync.WaitGroup
			consumer.Go(func() {
				defer func() { _ = recover() }()
				for range j.Events(t.Context(), "a", dynajournal.Range{}) {
					end()
				}
			})
			consumer.Wait()
		})
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
