package systemtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// holesHook collects the holes that live queries waited for.
type holesHook struct {
	mu    sync.Mutex
	holes []string
}

func (h *holesHook) OnHole(_ context.Context, hole dynajournal.Hole) {
	h.mu.Lock()
	defer h.mu.Unlock()
	how := "came"
	if hole.Passed {
		how = "passed"
	}
	h.holes = append(h.holes, fmt.Sprintf("%d-%d %s after %v", hole.First, hole.Last, how, hole.Waited))
}

func (h *holesHook) seen() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.holes, "; ")
}

// awaiting is a live query of a shared journal in a bubble.
type awaiting struct {
	*planting

	journal *dynajournal.Journal
	hook    *holesHook
	log     *bytes.Buffer
	*following
}

// seals stores seals, as a recovery does.
func (a *awaiting) seals(numbers ...int64) {
	a.t.Helper()
	a.put(func(p *planted) {
		for _, seq := range numbers {
			p.items[seq] = modelItem{}
		}
	})
}

// give checks the events that the query has returned after a time.
func (a *awaiting) give(passed time.Duration, want string) {
	a.t.Helper()
	time.Sleep(passed)
	synctest.Wait()
	if got := a.after(0); got != want {
		a.t.Errorf("%v later it has given %q, want %q", passed, got, want)
	}
}

// inASharedBubble runs a test in a bubble, with a shared journal of 1 and of 10 shards.
func inASharedBubble(t *testing.T, run func(t *testing.T, a *awaiting), change ...func(*dynajournal.Config)) {
	t.Helper()
	for _, shards := range []int{1, 10} {
		t.Run(fmt.Sprintf("%d shards", shards), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hook, log := &holesHook{}, &bytes.Buffer{}
				config := dynajournal.Config{
					AWS: openEngine(t, embedded.WithSweepInterval(0)).AWSConfig(), SequenceShards: shards, Hooks: []dynajournal.Hook{{OnHole: hook.OnHole}},
					Logger: slog.New(slog.NewTextHandler(log, nil)),
				}
				for _, f := range change {
					f(&config)
				}
				createTables(t, config, kinds["shared"])
				run(t, &awaiting{
					planting: newPlanting(t, config, shards, false),
					journal:  openJournal(t, config), hook: hook, log: log,
				})
			})
		})
	}
}

// A JVM stores a later event before an earlier one. A live query must wait for the earlier event
// and not skip it.
func TestLiveQueryWaitsForTheNumberBefore(t *testing.T) {
	t.Parallel()
	const soon = 4 * time.Second // a poll is at most 3 s later
	batch, before := modelBatch{2, 5, modelWriters[0]}, modelBatch{98, 103, modelWriters[0]}
	for name, c := range map[string]struct {
		before func(a *awaiting) // stores the items at the start of the query
		given  string            // the events that the query returns then
		later  func(a *awaiting) // stores more items after half a minute
		then   string            // the events that the query has returned after later
		over   string            // the events that the query has returned if later is not called
		// hole is the hole that it waits for.
		hole string
	}{
		"one event": {
			func(a *awaiting) { a.events(1, 1); a.events(3, 4) }, "1",
			func(a *awaiting) { a.events(2, 2) }, "1-4", "1,3-4", "2-2",
		},
		"the first event": {
			func(a *awaiting) { a.events(3, 3) }, "",
			func(a *awaiting) { a.events(1, 2) }, "1-3", "3", "1-2",
		},
		"the last event of a block": {
			func(a *awaiting) { a.events(1, 98); a.events(100, 100); a.highMark(100) }, "1-98",
			func(a *awaiting) { a.events(99, 99) }, "1-100", "1-98,100", "99-99",
		},
		"the first event of a block": {
			func(a *awaiting) { a.events(1, 99); a.events(101, 101) }, "1-99",
			func(a *awaiting) { a.events(100, 100); a.highMark(100) }, "1-101", "1-99,101", "100-100",
		},
		"events on both sides of a border": {
			func(a *awaiting) { a.events(1, 95); a.events(105, 106); a.highMark(100) }, "1-95",
			func(a *awaiting) { a.events(96, 104) }, "1-106", "1-95,105-106", "96-104",
		},
		"a member of an atomic write": {
			func(a *awaiting) { a.events(1, 1); a.members(2, 3, batch); a.members(5, 5, batch); a.events(6, 6) }, "1",
			func(a *awaiting) { a.members(4, 4, batch) }, "1-6", "1,6", "4-4",
		},
		"the first member of an atomic write": {
			func(a *awaiting) { a.events(1, 1); a.members(3, 5, batch); a.events(6, 6) }, "1",
			func(a *awaiting) { a.members(2, 2, batch) }, "1-6", "1,6", "2-2",
		},
		"the end of an atomic write": {
			func(a *awaiting) { a.events(1, 1); a.members(2, 3, batch); a.events(6, 6) }, "1",
			func(a *awaiting) { a.members(4, 5, batch) }, "1-6", "1,6", "4-5",
		},
		"an atomic write over a border": {
			func(a *awaiting) {
				a.events(1, 97)
				a.members(98, 98, before)
				a.members(101, 103, before)
				a.events(104, 104)
				a.highMark(100)
			}, "1-97",
			func(a *awaiting) { a.members(99, 100, before) }, "1-104", "1-97,104", "99-100",
		},
	} {
		t.Run(name+" comes", func(t *testing.T) {
			t.Parallel()
			inASharedBubble(t, func(t *testing.T, a *awaiting) {
				c.before(a)
				a.following = follow(t, a.journal, "a")
				a.give(30*time.Second, c.given)
				c.later(a)
				a.give(soon, c.then)
				if seen := a.hook.seen(); !strings.HasPrefix(seen, c.hole+" came after 3") {
					t.Errorf("the hook was told %q", seen)
				}
			})
		})
		t.Run(name+" never comes", func(t *testing.T) {
			t.Parallel()
			inASharedBubble(t, func(t *testing.T, a *awaiting) {
				c.before(a)
				a.following = follow(t, a.journal, "a")
				a.give(dynajournal.DefaultHoleWait-time.Millisecond, c.given)
				a.give(time.Millisecond, c.over)
				c.later(a) // too late
				a.give(time.Minute, c.over)
				if seen := a.hook.seen(); seen != c.hole+" passed after 1m0s" {
					t.Errorf("the hook was told %q", seen)
				}
				first, last, _ := strings.Cut(c.hole, "-")
				if log := a.log.String(); strings.Count(log, "\n") != 1 ||
					!strings.Contains(log, "persistence_id=a first="+first+" last="+last+" waited=1m0s") {
					t.Errorf("the log is %q", log)
				}
			})
		})
	}
}

// A query waits for several numbers at the same time if it sees them together.
func TestLiveQueryWaitsForSeveralNumbers(t *testing.T) {
	t.Parallel()
	inASharedBubble(t, func(t *testing.T, a *awaiting) {
		for _, seq := range []int64{1, 3, 5, 8} {
			a.events(seq, seq)
		}
		a.following = follow(t, a.journal, "a")
		a.give(10*time.Second, "1")
		a.events(2, 2)
		a.events(7, 7)
		a.give(10*time.Second, "1-3")
		a.give(39*time.Second, "1-3")
		a.give(time.Second, "1-3,5,7-8")
		a.events(10, 10)
		a.give(59*time.Second, "1-3,5,7-8")
		a.events(4, 4) // too late
		a.give(4*time.Second, "1-3,5,7-8,10")
		got := a.hook.seen()
		if want := "4-4 passed after 1m0s; 6-6 passed after 1m0s; 9-9 passed"; !strings.HasPrefix(got, "2-2 came after 1") || !strings.Contains(got, want) {
			t.Errorf("the hook was told %q", got)
		}
	})
}

// A live query does not wait in these cases.
func TestLiveQueryDoesNotWait(t *testing.T) {
	t.Parallel()
	batch := modelBatch{2, 5, modelWriters[0]}
	for name, c := range map[string]struct {
		before func(a *awaiting)
		from   int64
		want   string
	}{
		"before the first number wanted": {func(a *awaiting) { a.events(1, 1); a.events(4, 5) }, 4, "4-5"},
		"for sealed numbers":             {func(a *awaiting) { a.events(1, 1); a.seals(2, 3); a.events(4, 5) }, 1, "1,4-5"},
		"for deleted numbers": {func(a *awaiting) {
			a.events(1, 5)
			a.removed(1, 3)
			a.put(func(p *planted) { p.lows = []modelLow{{seq: 4, jvm: true}} })
		}, 1, "4-5"},
		"for a number that is too far back": {func(a *awaiting) { a.events(1, 1); a.events(3, 1002); a.highMark(1000) }, 1, "1,3-1002"},
		"for members of an atomic write of which one is sealed": {func(a *awaiting) {
			a.events(1, 1)
			a.members(2, 2, batch)
			a.members(5, 5, batch)
			a.seals(4)
			a.events(6, 6)
		}, 1, "1,6"},
		"for members after a sealed one": {func(a *awaiting) {
			a.events(1, 1)
			a.members(2, 2, batch)
			a.members(5, 5, batch)
			a.seals(3)
			a.events(6, 6)
		}, 1, "1,6"},
		"at the end": {func(a *awaiting) { a.events(1, 1); a.members(2, 3, batch) }, 1, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inASharedBubble(t, func(t *testing.T, a *awaiting) {
				c.before(a)
				a.following = followFrom(t, a.journal, "a", c.from)
				a.give(0, c.want)
				if seen := a.hook.seen(); seen != "" {
					t.Errorf("the hook was told %q", seen)
				}
			})
		})
	}
	t.Run("for less than 1000 numbers it does", func(t *testing.T) {
		t.Parallel()
		inASharedBubble(t, func(t *testing.T, a *awaiting) {
			a.events(1, 1)
			a.events(3, 1001)
			a.highMark(1000)
			a.following = follow(t, a.journal, "a")
			a.give(59*time.Second, "1")
			a.events(1002, 1002) // the hole is now too far back, as the next poll finds
			a.give(time.Second, "1,3-1002")
		})
	})
	t.Run("with a negative HoleWait", func(t *testing.T) {
		t.Parallel()
		inASharedBubble(t, func(t *testing.T, a *awaiting) {
			a.events(1, 1)
			a.events(3, 3)
			a.following = follow(t, a.journal, "a")
			a.give(0, "1,3")
		}, func(c *dynajournal.Config) { c.HoleWait = -1 })
	})
	t.Run("in a native journal or a current query", func(t *testing.T) {
		t.Parallel()
		inABubble(t, func(t *testing.T, j *dynajournal.Journal, s *planting, _ *pollsHook) {
			s.events(1, 1)
			s.events(3, 3)
			start, got := time.Now(), []int64{}
			for e, err := range j.CurrentEventsByPersistenceID(t.Context(), "a", 0, 0) {
				if err != nil {
					t.Error(err)
				}
				got = append(got, e.SequenceNumber)
			}
			if text := numbersText(got); text != "1,3" {
				t.Errorf("a current query gave %q", text)
			}
			if text := recordsText(records(t, j, "a", 0)); text != "1, closed 2-2, 3" {
				t.Errorf("the records are %q", text)
			}
			if j.Native() {
				if text := follow(t, j, "a").after(0); text != "1,3" {
					t.Errorf("a live query gave %q", text)
				}
			}
			if !time.Now().Equal(start) {
				t.Error("a query waited")
			}
		})
	})
}

// A deletion of the number that a query waits for ends the wait as soon as a poll reads the low
// mark.
func TestDeletionEndsTheWait(t *testing.T) {
	t.Parallel()
	inASharedBubble(t, func(t *testing.T, a *awaiting) {
		a.events(1, 1)
		a.events(3, 5)
		a.following = follow(t, a.journal, "a")
		a.give(time.Second, "1")
		a.removed(1, 3)
		a.put(func(p *planted) { p.lows = []modelLow{{seq: 4, jvm: true}} })
		a.give(6*time.Minute, "1,4-5") // with 10 shards, each mark is read once in 5 minutes
	}, func(c *dynajournal.Config) { c.HoleWait = time.Hour })
}

// A wait ends at once if the context ends or the journal is closed.
func TestWaitForANumberEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(a *awaiting, cancel context.CancelFunc){
		"the context": func(_ *awaiting, cancel context.CancelFunc) { cancel() },
		"the journal": func(a *awaiting, _ context.CancelFunc) { _ = a.journal.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inASharedBubble(t, func(t *testing.T, a *awaiting) {
				a.events(1, 1)
				a.events(3, 3)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var ended time.Time
				var err error
				var query sync.WaitGroup
				query.Go(func() {
					for _, err = range a.journal.EventsByPersistenceID(ctx, "a", 0, 0, dynajournal.Poll{}) {
					}
					ended = time.Now()
				})
				time.Sleep(30*time.Second + 1)
				synctest.Wait()
				end(a, cancel)
				start := time.Now()
				query.Wait()
				if !ended.Equal(start) || !errors.Is(err, context.Canceled) && !errors.Is(err, dynajournal.ErrClosed) {
					t.Errorf("it ended %v later, with %v", ended.Sub(start), err)
				}
			})
		})
	}
}

// While a query waits for a number, a poll costs as much as an idle poll.
func TestCostOfWaitingForANumber(t *testing.T) {
	t.Parallel()
	polls := &pollsHook{polls: map[time.Time]dynajournal.Cost{}}
	inASharedBubble(t, func(t *testing.T, a *awaiting) {
		a.events(1, 1)
		a.events(3, 99)
		a.following = follow(t, a.journal, "a")
		a.give(20*time.Second, "1")
		polls.mu.Lock()
		clear(polls.polls)
		polls.mu.Unlock()
		a.give(5*time.Minute, "1")
		for at, cost := range polls.polls {
			if cost.Requests != 1 || cost.ReadUnits != 1 && cost.ReadUnits != min(3, 2*float64(a.shards)) {
				t.Errorf("at %v a poll cost %+v", at, cost)
			}
		}
		if n := len(polls.polls); n != 100 {
			t.Errorf("there were %d polls, want 100", n)
		}
	}, func(c *dynajournal.Config) {
		c.HoleWait, c.Hooks = time.Hour, append(c.Hooks, dynajournal.Hook{OnRequest: polls.OnRequest})
	})
}
