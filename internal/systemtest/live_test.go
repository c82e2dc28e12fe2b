package systemtest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// pollsHook collects the cost of each poll: the requests at one moment of a bubble's clock.
type pollsHook struct {
	mu    sync.Mutex
	polls map[time.Time]dynajournal.Cost
}

func (h *pollsHook) OnRequest(_ context.Context, r dynajournal.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	cost := h.polls[time.Now()]
	cost.Requests++
	cost.ReadUnits += r.Cost.ReadUnits
	h.polls[time.Now()] = cost
}

// following is a live query of events in a bubble.
type following struct {
	mu   sync.Mutex
	seen []int64
}

// follow starts a live query, which ends with the test.
func follow(t *testing.T, j *dynajournal.Journal, pid string) *following {
	t.Helper()
	return followFrom(t, j, pid, 0)
}

func followFrom(t *testing.T, j *dynajournal.Journal, pid string, from int64) *following {
	t.Helper()
	return followRange(t, j, pid, from, 0)
}

func followRange(t *testing.T, j *dynajournal.Journal, pid string, from, to int64) *following {
	t.Helper()
	f := &following{}
	ctx, cancel := context.WithCancel(t.Context())
	var query sync.WaitGroup
	query.Go(func() {
		for e, err := range j.EventsByPersistenceID(ctx, pid, from, to, dynajournal.Poll{}) {
			if err != nil {
				if ctx.Err() == nil {
					t.Errorf("a live query ended: %v", err)
				}
				return
			}
			f.mu.Lock()
			f.seen = append(f.seen, e.SequenceNumber)
			f.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		cancel()
		query.Wait()
	})
	return f
}

// after returns the numbers that the query has returned after a number of polls.
func (f *following) after(polls int) string {
	time.Sleep(time.Duration(polls) * dynajournal.DefaultPollLongest)
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return numbersText(slices.Clone(f.seen))
}

// planting stores items of one persistence id, as other writers leave them.
type planting struct {
	t      *testing.T
	client *dynamodb.Client
	shards int64
	// closes is true if writers close the free numbers below a write, as in a native journal.
	closes bool
	// taken has the numbers at which an item was stored.
	taken map[int64]bool
}

func newPlanting(t *testing.T, config dynajournal.Config, shards int, closes bool) *planting {
	return &planting{t, dynamodb.NewFromConfig(config.AWS), int64(shards), closes, map[int64]bool{}}
}

func (s *planting) put(change func(p *planted)) {
	s.t.Helper()
	p := &planted{model: model{items: map[int64]modelItem{}}}
	change(p)
	for seq := range p.items {
		s.taken[seq] = true
	}
	putAll(s.t, s.client, p.attributes("a", s.shards))
}

// close seals the free numbers below a write, if closes is set.
func (s *planting) close(below int64) {
	s.t.Helper()
	if !s.closes {
		return
	}
	s.put(func(p *planted) {
		for seq := int64(1); seq < below; seq++ {
			if !s.taken[seq] {
				p.items[seq] = modelItem{}
			}
		}
	})
}

func (s *planting) events(first, last int64) {
	s.t.Helper()
	s.close(first)
	s.put(func(p *planted) {
		for seq := first; seq <= last; seq++ {
			p.plantEvent(seq, modelBatch{}, modelWriters[0])
		}
	})
}

func (s *planting) members(first, last int64, of modelBatch) {
	s.t.Helper()
	s.close(of.start)
	s.put(func(p *planted) {
		for seq := first; seq <= last; seq++ {
			p.plantEvent(seq, of, of.writer)
		}
	})
}

func (s *planting) highMark(mark int64) {
	s.t.Helper()
	s.put(func(p *planted) { p.highs = []int64{mark} })
}

// removed removes the items that a JVM's deletion removes.
func (s *planting) removed(first, last int64) {
	s.t.Helper()
	table := dynajournal.DefaultJournalTable
	for seq := first; seq <= last; seq++ {
		if _, err := s.client.DeleteItem(s.t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: fmt.Sprintf("journal-P-a-%d", seq/modelBlock)},
			"num": &types.AttributeValueMemberN{Value: strconv.FormatInt(seq%modelBlock, 10)},
		}}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// inABubble opens a journal of each column of the cost table, each with hooks, in a bubble.
func inABubble(t *testing.T, run func(t *testing.T, j *dynajournal.Journal, s *planting, hook *pollsHook)) {
	t.Helper()
	for _, column := range costColumns {
		t.Run(column.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hook := &pollsHook{polls: map[time.Time]dynajournal.Cost{}}
				config := dynajournal.Config{
					AWS: openEngine(t, embedded.WithSweepInterval(0)).AWSConfig(), SequenceShards: column.shards, Hooks: []dynajournal.Hook{{OnRequest: hook.OnRequest}},
				}
				createTables(t, config, column.opts)
				j := openJournal(t, config)
				run(t, j, newPlanting(t, config, column.shards, j.Native()), hook)
			})
		})
	}
}

// While nothing is written, a poll of a live query is one request. It takes one unit in a native
// journal. In a shared journal, every tenth poll reads marks and takes up to three units.
func TestCostOfIdleChecks(t *testing.T) {
	t.Parallel()
	batch := modelBatch{6, 9, modelWriters[1]}
	for name, prepare := range map[string]func(s *planting){
		"nothing":                     func(*planting) {},
		"5 events":                    func(s *planting) { s.events(1, 5) },
		"a full partition":            func(s *planting) { s.events(1, 99) },
		"two partitions":              func(s *planting) { s.events(1, 150); s.highMark(100) },
		"parts of an atomic write":    func(s *planting) { s.events(1, 5); s.members(7, 7, batch); s.members(9, 9, batch) },
		"a high mark without events":  func(s *planting) { s.events(1, 5); s.highMark(100) },
		"a high mark that is damaged": func(s *planting) { s.events(1, 5); s.highMark(100_000_000) },
		"low marks of both sides that are as high": func(s *planting) {
			for shard, mark := range map[int64]map[string]any{s.shards - 1: {"seq": 0, "low": 6, "removed": 6}, 0: {"seq": 6}} {
				item := eventKey(fmt.Sprintf("journal-SL-a-%d", shard), 0)
				addAttributes(item, mark)
				putAll(s.t, s.client, []map[string]types.AttributeValue{item})
			}
		},
		"a low mark after its event": func(s *planting) { s.put(func(p *planted) { p.lows = []modelLow{{seq: 205}} }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inABubble(t, func(t *testing.T, j *dynajournal.Journal, s *planting, hook *pollsHook) {
				prepare(s)
				follow(t, j, "a").after(25) // the query waits for no number any more
				hook.mu.Lock()
				clear(hook.polls)
				hook.mu.Unlock()
				const polls = 100
				time.Sleep(polls * dynajournal.DefaultPollLongest)
				synctest.Wait()
				most := 1.0
				if !j.Native() {
					most = min(3, 2*float64(s.shards))
				}
				dear := 0
				for at, cost := range hook.polls {
					if cost.Requests != 1 || cost.ReadUnits != 1 && cost.ReadUnits != most {
						t.Errorf("at %v a poll cost %+v, want one request of 1 or %g units", at, cost, most)
					}
					if cost.ReadUnits > 1 {
						dear++
					}
				}
				if n := len(hook.polls); n != polls {
					t.Errorf("there were %d polls, want %d", n, polls)
				}
				if most > 1 && dear != polls/10 {
					t.Errorf("%d of %d polls read marks, want every tenth", dear, polls)
				}
			})
		})
	}
}

// Events that are written while a live query is idle are returned in order and once.
func TestLiveQuery_EventsWhileIdle(t *testing.T) {
	t.Parallel()
	over := modelBatch{98, 103, modelWriters[1]}
	first, second := modelBatch{3, 5, modelWriters[0]}, modelBatch{6, 8, modelWriters[1]}
	for name, c := range map[string]struct {
		before func(s *planting)
		// steps run one after the other, each when the query is idle again.
		steps []func(s *planting, j *dynajournal.Journal)
		want  string
	}{
		"the next event": {func(s *planting) { s.events(1, 5) }, []func(*planting, *dynajournal.Journal){
			func(s *planting, _ *dynajournal.Journal) { s.events(6, 6) },
		}, "1-6"},
		"the last event of a partition, then the next one's first": {func(s *planting) { s.events(1, 98) }, []func(*planting, *dynajournal.Journal){
			func(s *planting, _ *dynajournal.Journal) { s.events(99, 99) },
			func(s *planting, _ *dynajournal.Journal) { s.events(100, 100) },
		}, "1-100"},
		"an event after a hole at the end of a partition": {func(s *planting) { s.events(1, 98) }, []func(*planting, *dynajournal.Journal){
			func(s *planting, _ *dynajournal.Journal) { s.events(100, 100); s.highMark(100) },
		}, "1-98,100"},
		"an event after such a hole, later than its high mark": {func(s *planting) { s.events(1, 98) }, []func(*planting, *dynajournal.Journal){
			func(s *planting, _ *dynajournal.Journal) { s.highMark(100) },
			func(s *planting, _ *dynajournal.Journal) { s.events(100, 100) },
		}, "1-98,100"},
		"an event without a high mark, where readers look after a partition": {func(s *planting) {
			s.events(1, 99)
			s.put(func(p *planted) { p.items[100] = modelItem{} })
		}, []func(*planting, *dynajournal.Journal){
			func(s *planting, _ *dynajournal.Journal) { s.events(201, 201) },
		}, "1-99,201"},
		"an atomic write over a border, from its end": {func(s *planting) { s.events(1, 97) }, []func(*planting, *dynajournal.Journal){
			func(s *planting, _ *dynajournal.Journal) { s.members(100, 103, over) },
			func(s *planting, _ *dynajournal.Journal) { s.highMark(100) },
			func(s *planting, _ *dynajournal.Journal) { s.members(99, 99, over) },
			func(s *planting, _ *dynajournal.Journal) { s.members(98, 98, over) },
		}, "1-103"},
		"an atomic write after the parts of another": {func(s *planting) { s.events(1, 2); s.members(4, 4, first); s.members(7, 7, second) }, []func(*planting, *dynajournal.Journal){
			func(s *planting, _ *dynajournal.Journal) { s.members(8, 8, second) },
			func(s *planting, _ *dynajournal.Journal) { s.members(6, 6, second) },
		}, "1-2,6-8"},
		"what a deletion of the JVM has left": {func(s *planting) { s.events(1, 49) }, []func(*planting, *dynajournal.Journal){
			func(s *planting, _ *dynajournal.Journal) {
				s.removed(1, 49)
				s.put(func(p *planted) { p.lows, p.highs = []modelLow{{seq: 151, jvm: true}}, []int64{100} })
				s.events(151, 152)
			},
		}, "1-49,151-152"},
		"events after a deletion": {func(s *planting) { s.events(1, 49) }, []func(*planting, *dynajournal.Journal){
			func(s *planting, j *dynajournal.Journal) {
				w := recoverWriter(s.t, j, "a", 0)
				appendStrings(s.t, w, 101, true)
				if _, err := w.DeleteTo(s.t.Context(), 150); err != nil {
					s.t.Fatal(err)
				}
				appendStrings(s.t, w, 1, false)
			},
		}, "1-49,151"},
		"events after a snapshot that is newer than the journal": {func(s *planting) { s.events(1, 99) }, []func(*planting, *dynajournal.Journal){
			func(s *planting, j *dynajournal.Journal) {
				appendStrings(s.t, loseJournal(s.t, j, "a", 5500), 2, false)
			},
		}, "1-99,5501-5502"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inABubble(t, func(t *testing.T, j *dynajournal.Journal, s *planting, _ *pollsHook) {
				// polls; the marks of all shards are read meanwhile, even one by one
				const idle = 220
				c.before(s)
				f := follow(t, j, "a")
				f.after(5)
				for _, step := range c.steps {
					step(s, j)
					f.after(idle)
				}
				if got := f.after(0); got != c.want {
					t.Errorf("it gave %q, want %q", got, c.want)
				}
			})
		})
	}
}

// A live query continues if its persistence id is purged and then used again.
func TestLiveQueryFollowsAnIDThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	for _, events := range []int{5, 98, 99, 100} {
		t.Run(fmt.Sprint(events), func(t *testing.T) {
			t.Parallel()
			inABubble(t, func(t *testing.T, j *dynajournal.Journal, _ *planting, _ *pollsHook) {
				appendStrings(t, recoverWriter(t, j, "a", 0), events, false)
				f := follow(t, j, "a")
				f.after(5)
				if _, err := recoverWriter(t, j, "a", 0).Purge(t.Context(), dynajournal.PurgeOptions{}); err != nil {
					t.Fatal(err)
				}
				f.after(20)
				want := fmt.Sprintf("1-%d,%d-%d", events, events+2, events+4)
				if !j.Native() {
					// nothing is left, and numbers start again: the query skips the numbers that it
					// has already returned
					appendStrings(t, recoverWriter(t, j, "a", 0), events, true)
					want = fmt.Sprintf("1-%d", events+3)
				}
				appendStrings(t, recoverWriter(t, j, "a", 0), 3, false)
				if got := f.after(220); got != want {
					t.Errorf("it gave %q, want %q", got, want)
				}
			})
		})
	}
}
