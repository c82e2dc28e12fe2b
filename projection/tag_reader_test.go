package projection_test

import (
	"context"
	"maps"
	"math"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/projection/tags"
)

// laned makes an index of one lane with events of the persistence id a, all with a tag, and returns
// its entries.
func laned(t *testing.T, events ...string) (*bundle, []map[string]types.AttributeValue) {
	t.Helper()
	b := tagging(t, 1)
	for _, e := range events {
		b.write("a", withTags(e, "red"))
	}
	_, stop := b.index(b.journal, fast())
	b.await("group/tags", "a", int64(len(events)))
	stop()
	return b, b.tagItems(tagsTable)
}

// at returns an entry at another number.
func at(entry map[string]types.AttributeValue, num int) map[string]types.AttributeValue {
	moved := maps.Clone(entry)
	moved["num"] = &types.AttributeValueMemberN{Value: strconv.Itoa(num)}
	return moved
}

// A process that was suspended for long has added entries again.
func TestReaderDropsRepeats(t *testing.T) {
	t.Parallel()
	b, entries := laned(t, "x", "y", "z")
	for i, entry := range entries {
		b.putItem(tagsTable, at(entry, 4+i))
	}
	b.putItem(tagsTable, at(entries[2], 7))
	index := b.openTagIndex(b.journal, tagsTable)
	found, offsets := collect(t, index.CurrentEventsByTag(t.Context(), "red", tags.Offset{}))
	want(t, "red", found, "a 1", "a 2", "a 3")
	found, _ = collect(t, index.CurrentEventsByTag(t.Context(), "red", offsets[1]))
	want(t, "after the second", found, "a 3")
	found, _ = collect(t, index.CurrentEventsByTag(t.Context(), "red", offsets[2]))
	want(t, "after the third", found, "a 1", "a 2", "a 3") // as documented
}

// A read of several entries shows an entry and not an earlier one, although that was added before.
func TestMissingEntryIsReadAgain(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string]int{"first": 0, "second": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, entries := laned(t, "x", "y", "z")
			b.deleteItem(tagsTable, entries[missing])
			var once sync.Once
			j := b.Journal(func(c *dynajournal.Config) {
				c.Hooks = []dynajournal.Hook{{OnRequest: func(_ context.Context, r dynajournal.Request) {
					if r.Operation == "Query" && r.Table == tagsTable {
						once.Do(func() { b.putItem(tagsTable, entries[missing]) })
					}
				}}}
			})
			found, _ := collect(t, b.openTagIndex(j, tagsTable).CurrentEventsByTag(t.Context(), "red", tags.Offset{}))
			want(t, "red", found, "a 1", "a 2", "a 3")
		})
	}
}

func TestEntryThatStaysMissingIsAnError(t *testing.T) {
	t.Parallel()
	b, entries := laned(t, "x", "y", "z")
	index := b.openTagIndex(b.journal, tagsTable)
	b.deleteItem(tagsTable, entries[1])
	wantError(t, "a loop", failure(index.CurrentEventsByTag(t.Context(), "red", tags.Offset{})), dynajournal.ErrCorruptItem)
	live := index.EventsByTag(t.Context(), "red", tags.Offset{}, dynajournal.Poll{})
	wantError(t, "a live loop", failure(live), dynajournal.ErrCorruptItem)
}

func TestDamagedEntryIsAnError(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(entry map[string]types.AttributeValue){
		"no id":             func(e map[string]types.AttributeValue) { delete(e, "pid") },
		"no number":         func(e map[string]types.AttributeValue) { delete(e, "seq") },
		"another type":      func(e map[string]types.AttributeValue) { e["pid"] = &types.AttributeValueMemberBOOL{} },
		"a negative number": func(e map[string]types.AttributeValue) { e["seq"] = &types.AttributeValueMemberN{Value: "-1"} },
		"a fraction":        func(e map[string]types.AttributeValue) { e["seq"] = &types.AttributeValueMemberN{Value: "1.5"} },
		"a fraction as its key": func(e map[string]types.AttributeValue) {
			e["num"] = &types.AttributeValueMemberN{Value: "2.5"}
		},
		"the last number": func(e map[string]types.AttributeValue) {
			e["num"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(math.MaxInt64, 10)}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b, entries := laned(t, "x", "y")
			b.deleteItem(tagsTable, entries[1])
			change(entries[1])
			b.putItem(tagsTable, entries[1])
			index := b.openTagIndex(b.journal, tagsTable)
			err := failure(index.CurrentEventsByTag(t.Context(), "red", tags.Offset{}))
			wantError(t, "a loop", err, dynajournal.ErrCorruptItem)
			_, err = index.Remove(t.Context(), "a")
			wantError(t, "Remove", err, dynajournal.ErrCorruptItem)
		})
	}
}

// Entries that do not name an event of the journal are skipped, whatever they name.
func TestTagReader_EntryWithoutEvent(t *testing.T) {
	t.Parallel()
	b, entries := laned(t, "x", "y")
	for i, pid := range []string{"none", string(make([]byte, 3000))} {
		entry := at(entries[0], 3+i)
		entry["pid"] = &types.AttributeValueMemberS{Value: pid}
		entry["seq"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(math.MaxInt64, 10)}
		b.putItem(tagsTable, entry)
	}
	b.putItem(tagsTable, at(entries[1], 5))
	want(t, "red", b.byTag("red"), "a 1", "a 2")
}

func TestEmptiedEntryKeepsItsNumber(t *testing.T) {
	t.Parallel()
	b, _ := laned(t, "x")
	if _, err := b.write("a").Purge(t.Context(), dynajournal.PurgeOptions{Now: true}); err != nil {
		t.Fatal(err)
	}
	b.write("b", withTags("y", "red"))
	b.index(b.journal, fast())
	b.await("group/tags", "b", 1)
	index := b.openTagIndex(b.journal, tagsTable)
	if removed, err := index.Remove(t.Context(), "a"); removed != 1 || err != nil {
		t.Fatalf("Remove: %d, %v", removed, err)
	}
	want(t, "red", b.byTag("red"), "b 1")
	_, err := index.Remove(t.Context(), "")
	wantError(t, "no id", err, dynajournal.ErrInvalidArgument)
}

func TestOffsetOfSomethingElseIsRefused(t *testing.T) {
	t.Parallel()
	b, entries := laned(t, "x", "y")
	b.createTagIndex("tags2", 1)
	one, two := b.openTagIndex(b.journal, tagsTable), b.openTagIndex(b.journal, "tags2")
	_, offsets := collect(t, one.CurrentEventsByTag(t.Context(), "red", tags.Offset{}))
	ctx, cancel := context.WithTimeout(t.Context(), patience/2)
	defer cancel()
	refused := func(what string, index *tags.Index, tag string) {
		t.Helper()
		current := index.CurrentEventsByTag(t.Context(), tag, offsets[1])
		wantError(t, what, failure(current), dynajournal.ErrInvalidArgument)
		live := index.EventsByTag(ctx, tag, offsets[1], dynajournal.Poll{})
		wantError(t, what+", live", failure(live), dynajournal.ErrInvalidArgument)
	}
	refused("another index", two, "red")
	refused("another tag", one, "blue")
	refused("no tag", one, "")
	b.deleteItem(tagsTable, entries[1]) // as in a backup
	refused("after the end", one, "red")
	err := failure(one.EventsByTag(t.Context(), "red", tags.Offset{}, dynajournal.Poll{Shortest: -1}))
	wantError(t, "a negative pause", err, dynajournal.ErrInvalidArgument)
}

// Events appear in a live loop within its longest pause, even if reads lag and are throttled.
func TestEventsByTagAreFoundLive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := laned(t, "x")
		index := b.openTagIndex(b.Journal(), tagsTable)
		h := &heard{of: map[string][]int64{}}
		ctx, cancel := context.WithCancel(t.Context())
		over := h.listen(ctx, index, tags.Offset{})
		g, _ := b.index(b.journal, fast())
		at := func(d time.Duration, wanted ...string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			h.mu.Lock()
			defer h.mu.Unlock()
			want(t, "red", h.all, wanted...)
		}
		at(time.Minute, "a 1")
		for _, f := range []embedded.Fault{
			{Effect: embedded.EffectStaleRead, Delay: 20 * time.Second, Table: tagsTable},
			{Effect: embedded.EffectThroughputExceeded, Operation: "Query", Table: tagsTable},
		} {
			remove, err := b.Engine.Inject(f)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			remove()
		}
		b.write("a", withTags("y", "red"), withTags("z", "red"))
		g.Trigger("a")
		at(2*time.Second, "a 1", "a 2", "a 3")
		cancel()
		wantError(t, "the end", comes(t, "the end", over), context.Canceled)
	})
}
