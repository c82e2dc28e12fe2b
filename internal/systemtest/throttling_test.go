package systemtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// throttledLoad is the result of entities that write as fast as they can, in a bubble, whose clock
// advances only while all of them wait.
type throttledLoad struct {
	// events has the number of events of each entity, ended the number after the first second. At
	// first no time passes while there are saved units, and the entities that come first use them
	// up.
	events, ended []int64
	// requests is the number of requests with events. throttled is the number of them that were
	// refused.
	requests, throttled int64
	// gaveUp is the number of appends that used up their attempts.
	gaveUp int64
}

func (l throttledLoad) total() int64 {
	sum := int64(0)
	for _, n := range l.events {
		sum += n
	}
	return sum
}

// triesHook counts attempts of writes.
type triesHook struct{ requests, throttled atomic.Int64 }

func (h *triesHook) OnRequest(_ context.Context, r dynajournal.Request) {
	h.requests.Add(1)
	if r.Err != nil {
		h.throttled.Add(1)
	}
}

// loadThrottled lets entities write events of eventBytes bytes, for the given time, to an engine
// that throttles like DynamoDB.
func loadThrottled(t *testing.T, config dynajournal.Config, opts dynajournal.TableOptions, entities, eventBytes int, length time.Duration) throttledLoad {
	t.Helper()
	load := throttledLoad{events: make([]int64, entities), ended: make([]int64, entities)}
	payload := bytes.Repeat([]byte{0xa5}, eventBytes)
	synctest.Test(t, func(t *testing.T) {
		engine, err := embedded.OpenMemory(embedded.WithThroughput(), embedded.WithSweepInterval(0))
		if err != nil {
			t.Fatal(err)
		}
		tries := &triesHook{}
		config.AWS, config.Hooks = engine.AWSConfig(), []dynajournal.Hook{{OnRequest: tries.OnRequest}}
		if err := dynajournal.CreateTables(t.Context(), config, opts); err != nil {
			t.Fatal(err)
		}
		j, err := dynajournal.Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		writers := make([]*dynajournal.Writer, entities)
		for i := range writers {
			writers[i] = recoverWriter(t, j, fmt.Sprintf("entity-%d", i), 0)
		}
		tries.requests.Store(0)
		tries.throttled.Store(0)
		var gaveUp atomic.Int64
		start := time.Now()
		var all errgroup.Group
		for i, w := range writers {
			all.Go(func() error {
				for time.Since(start) < length {
					_, err := w.Append(t.Context(), payload)
					if errors.Is(err, dynajournal.ErrWriterEnded) {
						// with its event written, and its high mark refused
						var again *dynajournal.Writer
						if again, err = j.Recover(t.Context(), w.PersistenceID(), dynajournal.RecoverOptions{}, nil); err == nil {
							w = again
							continue
						}
					}
					switch {
					case errors.Is(err, dynajournal.ErrThrottled):
						gaveUp.Add(1)
					case err != nil:
						return err
					default:
						load.events[i]++
						if time.Since(start) > time.Second {
							load.ended[i]++
						}
					}
				}
				return nil
			})
		}
		if err := all.Wait(); err != nil {
			t.Error(err)
		}
		load.requests, load.throttled, load.gaveUp = tries.requests.Load(), tries.throttled.Load(), gaveUp.Load()
		if err := errors.Join(j.Close(), engine.Close()); err != nil {
			t.Error(err)
		}
	})
	return load
}

// Both ways of writing are throttled: statement by statement, and put by put.
var bothWays = map[string]dynajournal.GroupCommit{"group commit": dynajournal.GroupCommitAuto, "without group commit": dynajournal.GroupCommitOff}

func skipLoad(t *testing.T) {
	t.Helper()
	if testing.Short() || testsize.Race {
		t.Skip("skipped: it writes some thousand events, which takes long with the race detector")
	}
}

// Every partition key allows 1,000 units per second. Entities do not share keys, so each of many
// entities gets as much as a single one.
func TestThroughputGrowsWithTheEntities(t *testing.T) {
	testsize.NeedsLong(t, "it writes for some seconds")
	skipLoad(t)
	const eventBytes, unitsASecond = 20 << 10, 1000
	const length = 3 * time.Second
	for name, way := range bothWays {
		t.Run(name, func(t *testing.T) {
			config := dynajournal.Config{GroupCommit: way}
			alone := loadThrottled(t, config, dynajournal.TableOptions{}, 1, eventBytes, length).total()
			if want := int64(unitsASecond*length.Seconds()) / (eventBytes>>10 + 1); alone < want {
				t.Fatalf("one entity wrote %d events, want at least %d", alone, want)
			}
			for _, entities := range []int{4, 16} {
				if got := loadThrottled(t, config, dynajournal.TableOptions{}, entities, eventBytes, length).total(); got < alone*int64(entities)*9/10 {
					t.Errorf("%d entities wrote %d events, one alone %d", entities, got, alone)
				}
			}
		})
	}
}

// Writers use a table with too little capacity up to its limit. They send no more requests than
// retries with growing pauses need, and no entity starves.
func TestThrottledWritersUseTheLimitFairly(t *testing.T) {
	testsize.NeedsLong(t, "fewer entities, or a shorter time, tell too little")
	skipLoad(t)
	const units, entities, length = 500, 64, 6 * time.Second
	for name, way := range bothWays {
		t.Run(name, func(t *testing.T) {
			opts := dynajournal.TableOptions{ReadUnits: 10 * units, WriteUnits: units}
			load := loadThrottled(t, dynajournal.Config{GroupCommit: way}, opts, entities, 512, length)
			// a new table has saved up a second's units
			limit := int64(units * (length.Seconds() + 1))
			// each first event has taken one more unit, for the index
			limit -= int64(entities)
			if got := load.total(); got < limit*9/10 || got > limit*11/10 {
				t.Errorf("%d events were written, the limit is %d", got, limit)
			}
			t.Logf("%d events, %d tries, %d throttled, %d appends gave up; an entity has %d to %d after the first second",
				load.total(), load.requests, load.throttled, load.gaveUp, slices.Min(load.ended), slices.Max(load.ended))
			const triesForAnEvent = 10
			if most := triesForAnEvent * load.total(); load.requests > most {
				t.Errorf("%d requests for %d events, want at most %d", load.requests, load.total(), most)
			}
			// The pauses are random, so a few entities can be unlucky.
			const apart, unlucky = 8, 3
			mean := int64(units * (length.Seconds() - 1) / float64(entities))
			slices.Sort(load.ended)
			if load.ended[0] == 0 || load.ended[unlucky] < mean/apart || load.ended[entities-1-unlucky] > mean*apart {
				t.Errorf("after the first second the entities wrote %v events; the mean is %d", load.ended, mean)
			}
		})
	}
}
