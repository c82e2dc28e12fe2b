package ids_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/ids"
	"github.com/dynajournal/dynajournal/internal/layout"
)

var letters = strings.Split("abcdefgh", "")

// However short the pages are, each id is listed once: ids with events, and ids whose first events
// were deleted, with low marks in one shard or several, on one page or several.
func TestListing_EachIDOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b *base, way string) {
		for i, pid := range letters {
			b.event(pid, 1)
			if i%2 == 0 {
				b.deleted(pid, 2)
			}
		}
		b.event("h", 100)
		b.deleted("h", 101)
		b.deleted("h", 301)
		for _, limit := range []int{1, 2, 3, 5, 0} {
			if got := b.list(way, b.store(limit, nil), ids.Window{}); !slices.Equal(got, letters) {
				b.Errorf("on pages of %d: %q, want %q", limit, got, letters)
			}
		}
	})
}

// Ids whose tombstones have expired have only low marks left, one or several.
func TestListing_IDsWithOnlyLowMarks(t *testing.T) {
	t.Parallel()
	each(t, func(b *base, way string) {
		for i, pid := range letters {
			for _, low := range []int64{2, 101, 202, 303, 404}[:i%5+1] {
				b.put(b.keys.EncodeLowMark(pid, layout.LowMark{Seq: low, Removed: low}, b.keys.IDsAttributes(pid, idsShards)))
			}
		}
		for _, limit := range []int{1, 2, 3, 0} {
			if got := b.list(way, b.store(limit, nil), ids.Window{}); !slices.Equal(got, letters) {
				b.Errorf("on pages of %d: %q, want %q", limit, got, letters)
			}
		}
	})
}

// A listing can continue after each of its ids, on pages of every size.
func TestListing_ContinuesAfterEachID(t *testing.T) {
	t.Parallel()
	each(t, func(b *base, way string) {
		if way == segmented {
			b.Skip("a scan in several segments has no order to go on in")
		}
		for i, pid := range letters {
			b.event(pid, 1)
			if i%2 == 0 {
				b.deleted(pid, 2)
			}
			if i%4 == 0 { // and the tombstone has expired
				b.remove(b.keys.Event(pid, 1))
			}
		}
		for _, limit := range []int{1, 2, 0} {
			s := b.store(limit, nil)
			all := b.inOrder(way, s, ids.Window{})
			if len(all) != len(letters) {
				b.Fatalf("listed are %q", all)
			}
			for i, pid := range all {
				if rest := b.inOrder(way, s, ids.Window{After: pid}); !slices.Equal(rest, all[i+1:]) {
					b.Errorf("on pages of %d, after %q: %q, want %q", limit, pid, rest, all[i+1:])
				}
			}
		}
	})
}

// gone has the changes that can happen to the first event of an id between two pages. certain
// reports that the first number stays taken, or that nothing is left of the id: then a listing is
// not affected. If only a low mark is left (after a JVM's deletion, or when tombstones have
// expired), a listing that remembers nothing can't know whether it has already listed the id.
var gone = map[string]struct {
	change  func(b *base, pid string)
	certain bool
}{
	"deleted": {func(b *base, pid string) { b.deleted(pid, 2) }, true},
	"purged":  {func(b *base, pid string) { b.remove(b.keys.Event(pid, 1)) }, true},
	"deleted, and its tombstone has expired": {func(b *base, pid string) {
		b.deleted(pid, 2)
		b.remove(b.keys.Event(pid, 1))
	}, false},
	"deleted by a JVM": {func(b *base, pid string) { b.deletedByJVM(pid) }, false},
}

// start gives each letter a first event and nothing else.
func (b *base) start() {
	b.Helper()
	for _, pid := range letters {
		b.event(pid, 1)
		b.remove(b.keys.LowMark(pid, 2))
	}
}

// A listing continues after an id whose first event was deleted meanwhile. It must not leave out
// another id.
func TestListing_ContinuesAfterDeletedID(t *testing.T) {
	t.Parallel()
	for how, g := range gone {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			each(t, func(b *base, way string) {
				switch {
				case way == segmented:
					b.Skip("a scan in several segments has no order to go on in")
				case !g.certain && way != "native":
					b.Skip("the position of the id can't be known")
				}
				for k := range letters {
					b.start()
					s := b.store(1, nil)
					all := b.inOrder(way, s, ids.Window{})
					g.change(b, all[k])
					rest := b.inOrder(way, s, ids.Window{After: all[k]})
					if !slices.Equal(rest, all[k+1:]) {
						b.Errorf("after %q, which is gone: %q, want %q", all[k], rest, all[k+1:])
						return
					}
				}
			})
		})
	}
}

// An id whose first event is deleted during the listing, between any two pages, exists the whole
// time: it is listed exactly once.
func TestListing_DeletionBetweenPages(t *testing.T) {
	t.Parallel()
	for how, g := range gone {
		if how == "purged" {
			continue
		}
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			each(t, func(b *base, way string) {
				switch {
				case !g.certain && strings.Contains(way, "scan"):
					b.Skip("the id may move from what is not read yet to what has been read")
				case how == "deleted by a JVM" && way == "native":
					b.Skip("no JVM deletes in a native journal: its low mark would not be in the index")
				}
				for at := 1; ; at++ {
					b.start()
					var turned atomic.Int64
					s := b.store(1, func(page int) {
						if turned.Store(int64(page)); page == at {
							for _, pid := range letters {
								g.change(b, pid)
							}
						}
					})
					got := b.list(way, s, ids.Window{})
					missing := slices.DeleteFunc(slices.Clone(letters), func(pid string) bool { return slices.Contains(got, pid) })
					// By the plug-ins' index an id moves from the first half to the second, and may
					// be listed again.
					if twice := len(got) + len(missing) - len(letters); len(missing) > 0 || twice > 0 && (g.certain || way == "native") {
						b.Errorf("deleted before page %d: %q, missing %q", at, got, missing)
						return
					}
					if int(turned.Load()) < at {
						return
					}
				}
			})
		})
	}
}

// Only events and low marks of this journal list an id, regardless of other items in the table.
func TestListing_ItemsThatListNoID(t *testing.T) {
	t.Parallel()
	each(t, func(b *base, way string) {
		b.event("a", 1)
		b.put(
			b.keys.EncodeHighMark("high only", 100),
			b.keys.EncodeHeader(layout.Header{Kind: layout.KindNative, Shards: 4, IDsShards: idsShards, Version: 1}),
			layout.Key{Par: "something else", Num: 1}.Attributes(),
			layout.Key{Par: "journal-P-", Num: 1}.Attributes(),
			layout.Key{Par: "journal-P--0", Num: 1}.Attributes(),
			layout.Key{Par: "journal-SL-x", Num: 0}.Attributes(),
			layout.Key{Par: "journal-SL-x-99", Num: 0}.Attributes(),
			layout.Key{Par: "journal-SL-x-y", Num: 0}.Attributes(),
		)
		if way != pluginsIndex { // a shared journal purges without a trace
			b.purgedByEarlierVersion("purged by an earlier version", 1)
		}
		if got := b.list(way, b.store(0, nil), ids.Window{}); !slices.Equal(got, []string{"a"}) {
			b.Errorf("listed are %q", got)
		}
	})
}

// lives are the items that can be stored for an id that was purged up to number 4. used reports
// that the id is used again.
var lives = []struct {
	pid   string
	used  bool
	store func(b *base, pid string)
}{
	{"a, used by an event", true, func(b *base, pid string) {
		b.purged(pid, 4)
		b.firstOfLife(pid, 5)
	}},
	{"b, not used", false, func(b *base, pid string) { b.purged(pid, 4) }},
	{"c, used by a seal", true, func(b *base, pid string) {
		b.purged(pid, 4)
		seal := b.keys.EncodeSeal(pid, 5)
		maps.Copy(seal, b.keys.IDsAttributes(pid, idsShards))
		b.put(seal)
	}},
	{"d, used, and deleted again", true, func(b *base, pid string) {
		b.purged(pid, 4)
		b.put(b.keys.EncodeLowMark(pid, layout.LowMark{Seq: 8, Removed: 8, Purged: 4}, b.keys.IDsAttributes(pid, idsShards)))
		b.put(b.keys.EncodeTombstone(pid, 5, farFuture))
	}},
	{"e, not used, with a tombstone in its place", false, func(b *base, pid string) {
		b.purged(pid, 4)
		b.put(b.keys.EncodeTombstone(pid, 5, farFuture))
	}},
	{"f-P-like a key, used", true, func(b *base, pid string) {
		b.purged(pid, 4)
		b.firstOfLife(pid, 5)
	}},
	{"g-P-like a key, not used", false, func(b *base, pid string) { b.purged(pid, 4) }},
	{"h, used, and nothing of it is removed", true, func(b *base, pid string) {
		b.event(pid, 1)
		b.put(b.keys.EncodeLowMark(pid, layout.LowMark{Seq: 5, Removed: 1, Purged: 4}, nil))
		b.firstOfLife(pid, 5)
	}},
}

// A purged id is listed again, once, as soon as it is used again. It does not matter whether the
// tombstones of the purge have expired.
func TestListing_PurgedIDUsedAgain(t *testing.T) {
	t.Parallel()
	for _, expired := range []bool{false, true} {
		each(t, func(b *base, way string) {
			if way == pluginsIndex {
				b.Skip("a shared journal purges without a trace")
			}
			var want []string
			for _, l := range lives {
				l.store(b, l.pid)
				if expired {
					b.remove(b.keys.Event(l.pid, 1))
				}
				if l.used {
					want = append(want, l.pid)
				}
			}
			for _, limit := range []int{1, 2, 3, 5, 0} {
				s := b.store(limit, nil)
				all := b.inOrder(way, s, ids.Window{})
				if got := slices.Sorted(slices.Values(all)); !slices.Equal(got, want) {
					b.Errorf("expired %t, on pages of %d: %q, want %q", expired, limit, got, want)
				}
				for i := range all {
					if way == segmented {
						break // a scan in several segments has no order to continue in
					}
					if rest := b.inOrder(way, s, ids.Window{After: all[i]}); !slices.Equal(rest, all[i+1:]) {
						b.Errorf("expired %t, on pages of %d, after %q: %q, want %q", expired, limit, all[i], rest, all[i+1:])
					}
				}
			}
		})
	}
}

// A listing that its context ends must not look complete.
func TestListing_ContextEnds(t *testing.T) {
	t.Parallel()
	each(t, func(b *base, way string) {
		for _, pid := range letters {
			b.event(pid, 1)
		}
		for at := 1; at <= 3; at++ {
			ctx, cancel := context.WithCancel(b.Context())
			n := 0
			err := ways[way](ctx, b.store(1, func(page int) {
				if page == at {
					cancel()
				}
			}), ids.Window{}, func(string) bool { n++; return true })
			cancel()
			if n < len(letters) && !errors.Is(err, context.Canceled) {
				b.Errorf("cancelled at page %d: %d ids, error %v, want context.Canceled", at, n, err)
			}
		}
	})
}

// It is not an error if the caller leaves a listing.
func TestListing_CallerStops(t *testing.T) {
	t.Parallel()
	each(t, func(b *base, way string) {
		for _, pid := range letters {
			b.event(pid, 1)
		}
		for most := 1; most <= len(letters); most++ {
			n := 0
			if err := ways[way](b.Context(), b.store(1, nil), ids.Window{}, func(string) bool { n++; return n < most }); err != nil || n != most {
				b.Errorf("left after %d ids: %d, error %v", most, n, err)
			}
		}
	})
}

// Ids are yielded on the goroutine of the caller, whose loop body runs there. It may panic, or end
// with runtime.Goexit, as a test's Fatal does.
func TestListing_CallersGoroutine(t *testing.T) {
	t.Parallel()
	each(t, func(b *base, way string) {
		b.event("a", 1)
		elsewhere := false
		if err := ways[way](b.Context(), b.store(0, nil), ids.Window{}, func(string) bool {
			stack := make([]byte, 64<<10)
			elsewhere = !strings.Contains(string(stack[:runtime.Stack(stack, false)]), "testing.tRunner")
			return true
		}); err != nil {
			b.Fatal(err)
		}
		if elsewhere {
			b.Error("an id was given on another goroutine")
		}
	})
}

// The cost of a listing grows with the pages: it sends no request per id.
func TestListing_CostPerPage(t *testing.T) {
	t.Parallel()
	for what, prepare := range map[string]func(b *base, pid string){
		"ids with events":         func(b *base, pid string) { b.event(pid, 1) },
		"ids that look like keys": func(b *base, pid string) { b.event(pid+"-P-x", 1) },
		"purged ids that are used again": func(b *base, pid string) {
			b.put(b.keys.EncodeLowMark(pid, layout.LowMark{Seq: 5, Removed: 5, Purged: 4}, nil))
			b.firstOfLife(pid, 5)
		},
		"ids known by low marks": func(b *base, pid string) {
			b.put(b.keys.EncodeLowMark(pid, layout.LowMark{Seq: 2, Removed: 2}, b.keys.IDsAttributes(pid, idsShards)))
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			each(t, func(b *base, way string) {
				if what == "purged ids that are used again" && way == pluginsIndex {
					b.Skip("a shared journal purges without a trace")
				}
				const count = 200
				for i := range count {
					prepare(b, fmt.Sprintf("entity-%d", i))
				}
				var m dynamo.Meter
				s := b.store(0, nil)
				n := 0
				emit := func(string) bool { n++; return true }
				var err error
				switch way {
				case "native":
					err = s.Native(b.Context(), &m, ids.Window{}, emit)
				case pluginsIndex:
					err = s.SharedByIndex(b.Context(), &m, ids.Window{}, emit)
				default:
					err = s.Scan(b.Context(), &m, ids.Window{}, 1, emit)
				}
				if err != nil || n != count {
					b.Fatalf("listed %d, error %v", n, err)
				}
				// A page of each shard and half, and a batch of reads for each 100 keys.
				if most := idsShards + 2*count/100 + 4; m.Cost().Requests > most {
					b.Errorf("%d ids took %d requests, want at most %d", count, m.Cost().Requests, most)
				}
			})
		})
	}
}

// By the plug-ins' index the low marks of ids on the first page cost no request, and no id is
// listed twice, even on later pages.
func TestListing_LowMarksOfFirstPageCostNothing(t *testing.T) {
	t.Parallel()
	b := openBase(t, "par")
	for _, pid := range letters {
		b.event(pid, 1)
		b.deleted(pid, 2)
	}
	for limit, want := range map[int]string{
		0: "2 / 1",
		// Two pages of ids and one that ends them, as many of low marks; the first events of half
		// the ids are read.
		4: "7 / 7",
	} {
		var m dynamo.Meter
		var got []string
		if err := b.store(limit, nil).SharedByIndex(t.Context(), &m, ids.Window{}, func(pid string) bool {
			got = append(got, pid)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if cost := fmt.Sprintf("%d / %g", m.Cost().Requests, m.Cost().ReadUnits); cost != want {
			t.Errorf("on pages of %d: requests / read units are %s, want %s", limit, cost, want)
		}
		if !slices.Equal(got, letters) {
			t.Errorf("on pages of %d: %q, want %q", limit, got, letters)
		}
	}
}

// A sealed number 1 does not name its journal. If its key could belong to two journals, the events
// after it decide.
func TestListing_SealedIDThatLooksLikeKey(t *testing.T) {
	t.Parallel()
	each(t, func(b *base, way string) {
		if way == "native" {
			b.Skip("the sparse index has keys that can be read in one way only")
		}
		b.put(b.keys.EncodeSeal("x-P-a", 1))
		b.event("x-P-a", 2)
		other := layout.Keys{Journal: "journal-P-x", Shards: 4}
		b.put(other.EncodeSeal("b", 1), other.EncodeEvent(&layout.Event{PersistenceID: "b", SequenceNr: 2, Bytes: []byte("x"), SerializerID: 4, WriterUUID: "w"}))
		if got := b.list(way, b.store(0, nil), ids.Window{}); !slices.Equal(got, []string{"x-P-a"}) {
			b.Errorf("listed are %q, want x-P-a alone", got)
		}
	})
}
