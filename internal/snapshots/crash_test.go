package snapshots_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/snapshots"
)

// describe formats a snapshot.
func describe(s *layout.Snapshot) string {
	if s == nil {
		return "none"
	}
	return fmt.Sprintf("%d at %d with %d bytes", s.SequenceNr, s.Timestamp, len(s.Bytes))
}

// replacement is a case of a save that replaces snapshots.
type replacement struct {
	name string
	// stored are the stored snapshots: an older one, and in some cases one of the number that is
	// saved.
	stored []layout.Snapshot
	saved  layout.Snapshot
	change func(*snapshots.Store)
}

const small, split = 50, 4500

func replacements() []replacement {
	older, olderSplit := snapshot(1, small), snapshot(1, split)
	later := func(s layout.Snapshot) layout.Snapshot {
		s.Timestamp++
		return s
	}
	compress := func(s *snapshots.Store) { s.Compress = true }
	return []replacement{
		{"the first snapshot, split", nil, snapshot(2, split), nil},
		{"a small one after a small one", []layout.Snapshot{older}, snapshot(2, small), nil},
		{"a split one after a small one", []layout.Snapshot{older}, snapshot(2, split), nil},
		{"a split one after a split one", []layout.Snapshot{olderSplit}, snapshot(2, split), nil},
		{"a compressed one after a split one", []layout.Snapshot{olderSplit}, snapshot(2, split), compress},
		{"a small one in the place of a small one", []layout.Snapshot{older, snapshot(2, small+1)}, later(snapshot(2, small)), nil},
		{"a split one in the place of a small one", []layout.Snapshot{older, snapshot(2, small)}, later(snapshot(2, split)), nil},
		{"a small one in the place of a split one", []layout.Snapshot{older, snapshot(2, split)}, later(snapshot(2, small)), nil},
		{"a split one in the place of a split one", []layout.Snapshot{older, snapshot(2, split+1)}, later(snapshot(2, split)), nil},
		{"a split one in the place of a longer split one", []layout.Snapshot{older, snapshot(2, 3*split)}, later(snapshot(2, split)), nil},
		{"a compressed one in the place of a small one", []layout.Snapshot{older, snapshot(2, small)}, later(snapshot(2, split)), compress},
	}
}

// untilDone calls run with 1, 2, … until the request with that number was never sent.
func untilDone(t *testing.T, run func(n int) (sent int)) {
	t.Helper()
	const enough = 1000
	for n := 1; n < enough; n++ {
		if run(n) < n {
			return
		}
	}
	t.Fatal("there is no end to its requests")
}

// If a process is killed at any request of a save, the previously selected snapshot stays selected,
// or the new one is selected and whole.
func TestSave_KilledAtAnyRequest(t *testing.T) {
	t.Parallel()
	for _, r := range replacements() {
		for at, how := range map[fault]string{lost: "before", unanswered: "after"} {
			t.Run(r.name+", killed "+how+" a request", func(t *testing.T) {
				t.Parallel()
				b := openBase(t)
				untilDone(t, func(n int) int {
					b.empty()
					before := b.store(nil, nil)
					for _, s := range r.stored {
						b.save(before, s)
					}
					was := b.load(before)
					w := dying(n, at)
					saved := r.saved
					err := b.store(w, r.change).Save(t.Context(), &dynamo.Meter{}, &saved)
					switch got := b.load(before); {
					case err == nil && !same(got, &r.saved):
						t.Errorf("killed at request %d, after success: selected is %s, want the new one",
							n, describe(got))
					case err != nil && !same(got, &r.saved) && !same(got, was) && (got != nil || was != nil):
						t.Errorf("killed at request %d: selected is %s, want the new one or %s",
							n, describe(got), describe(was))
					}
					return w.sent()
				})
			})
		}
	}
}

// If a request of a save or its response is lost, the request is sent again: the save succeeds, and
// the snapshot is stored.
func TestSave_LostRequestOrResponse(t *testing.T) {
	t.Parallel()
	for _, r := range replacements() {
		for at, what := range map[fault]string{lost: "request", unanswered: "response"} {
			t.Run(r.name+", a lost "+what, func(t *testing.T) {
				t.Parallel()
				b := openBase(t)
				untilDone(t, func(n int) int {
					b.empty()
					reader := b.store(nil, nil)
					for _, s := range r.stored {
						b.save(reader, s)
					}
					w := failingOnce(n, at)
					b.save(b.store(w, r.change), r.saved)
					if got := b.load(reader); !same(got, &r.saved) {
						t.Errorf("a lost %s of request %d: selected is %s, want %s",
							what, n, describe(got), describe(&r.saved))
					}
					return w.sent()
				})
			})
		}
	}
}

// If a process is killed at any request of a deletion, each snapshot is stored whole, or not at
// all. Deleting again finishes the deletion, and leaves nothing, not even parts.
func TestDelete_KilledAtAnyRequest(t *testing.T) {
	t.Parallel()
	deletions := map[string]func(context.Context, *snapshots.Store) error{
		"delete": func(ctx context.Context, s *snapshots.Store) error {
			_, err := s.Delete(ctx, &dynamo.Meter{}, "a", snapshots.Everything())
			return err
		},
		"delete up to a number": func(ctx context.Context, s *snapshots.Store) error {
			c := snapshots.Everything()
			c.MaxSeq = 4
			_, err := s.Delete(ctx, &dynamo.Meter{}, "a", c)
			return err
		},
	}
	for name, deletion := range deletions {
		for at, how := range map[fault]string{lost: "before", unanswered: "after"} {
			t.Run(name+", killed "+how+" a request", func(t *testing.T) {
				t.Parallel()
				b := openBase(t)
				untilDone(t, func(n int) int {
					b.empty()
					reader := b.store(nil, nil)
					b.save(reader, snapshot(1, split)) // hidden by the whole ones of their numbers
					b.save(reader, snapshot(3, split))
					stored := []layout.Snapshot{snapshot(1, small), snapshot(2, split), snapshot(3, small), snapshot(4, 3*split)}
					for _, s := range stored {
						b.save(reader, s)
					}
					w := dying(n, at)
					_ = deletion(t.Context(), b.store(w, nil))
					if err := reader.Each(t.Context(), &dynamo.Meter{}, "a", snapshots.Everything(), 0, func(s layout.Snapshot, damage error) bool {
						if damage != nil || !isOneOf(&s, stored...) {
							t.Errorf("killed at request %d: there is %s", n, describe(&s))
						}
						return true
					}); err != nil {
						t.Errorf("killed at request %d: %v", n, err)
					}
					if err := deletion(t.Context(), reader); err != nil {
						t.Errorf("killed at request %d, again: %v", n, err)
					}
					if left := b.items(); len(left) > 0 {
						t.Errorf("killed at request %d, and deleted again: %d items are left", n, len(left))
					}
					return w.sent()
				})
			})
		}
	}
}

// A deletion removes parts without a head, which a killed save has left.
func TestDelete_PartsOfKilledSave(t *testing.T) {
	t.Parallel()
	b := openBase(t)
	untilDone(t, func(n int) int {
		b.empty()
		w := dying(n, unanswered)
		saved := snapshot(2, 3*split)
		_ = b.store(w, nil).Save(t.Context(), &dynamo.Meter{}, &saved)
		if _, err := b.store(nil, nil).Delete(t.Context(), &dynamo.Meter{}, "a", snapshots.UpTo(2)); err != nil {
			t.Fatal(err)
		}
		if left := b.items(); len(left) > 0 {
			t.Errorf("killed at request %d and deleted: %d items are left", n, len(left))
		}
		return w.sent()
	})
}

// If the caller repeats a failed save, nothing of the failed save is left for good.
func TestSave_RepeatedAfterFailure(t *testing.T) {
	t.Parallel()
	b := openBase(t)
	untilDone(t, func(n int) int {
		b.empty()
		s := b.store(nil, nil)
		w := dying(n, unanswered)
		saved := snapshot(2, split)
		_ = b.store(w, nil).Save(t.Context(), &dynamo.Meter{}, &saved)
		b.save(s, saved)
		if _, err := s.Delete(t.Context(), &dynamo.Meter{}, "a", snapshots.Everything()); err != nil {
			t.Fatal(err)
		}
		if left := b.items(); len(left) > 0 {
			t.Errorf("killed at request %d, saved again and deleted: %d items are left", n, len(left))
		}
		return w.sent()
	})
}

// At any point of a load, the snapshot is replaced by another with the same number, in any form.
// The load must find one of them, because at any time one existed. Events before it may be deleted.
func TestLoad_DuringSaveOfSameNumber(t *testing.T) {
	t.Parallel()
	upTo2 := snapshots.Everything()
	upTo2.MaxSeq = 2
	timed := snapshots.Everything()
	timed.MinTS = 0
	newest := func(b *base, s *snapshots.Store) *layout.Snapshot {
		got, err := s.Newest(b.Context(), &dynamo.Meter{}, "a", snapshots.Everything())
		if err != nil {
			b.Fatal(err)
		}
		return got
	}
	highest := func(c snapshots.Criteria) func(*base, *snapshots.Store) *layout.Snapshot {
		return func(b *base, s *snapshots.Store) *layout.Snapshot { return b.highest(s, c) }
	}
	compressing := func(s *snapshots.Store) { s.Compress = true }
	for loading, load := range map[string]struct {
		by   func(*base, *snapshots.Store) *layout.Snapshot
		with func(*snapshots.Store)
	}{
		"any": {highest(snapshots.Everything()), nil}, "any, of a store that compresses": {highest(snapshots.Everything()), compressing},
		"up to 2": {highest(upTo2), nil}, "within times": {highest(timed), nil}, "newest": {newest, nil},
	} {
		for _, sizes := range [][]int{
			{small, split}, {split, small}, {split + 1, split}, {small, small + 1}, {split, small, split + 1}, {small, split, small + 1},
		} {
			for _, olderSize := range []int{small, split} {
				t.Run(fmt.Sprintf("%s, %v after an older one of %d", loading, sizes, olderSize), func(t *testing.T) {
					t.Parallel()
					b := openBase(t)
					writer := b.store(nil, nil)
					untilDone(t, func(n int) int {
						b.empty()
						b.save(writer, snapshot(1, olderSize))
						var saved []layout.Snapshot
						for i, size := range sizes {
							s := snapshot(2, size)
							s.Timestamp += int64(i)
							saved = append(saved, s)
						}
						crossing := len(saved) - 1
						for _, s := range saved[:crossing] {
							b.save(writer, s)
						}
						w := &wire{}
						w.judge = func(i int, _ string) fault {
							if i == n {
								b.save(writer, saved[crossing])
							}
							return arrives
						}
						if got := load.by(b, b.store(w, load.with)); !isOneOf(got, saved[crossing-1:]...) {
							t.Errorf("crossed at request %d: selected is %s, want one of the last two of number 2",
								n, describe(got))
						}
						return w.sent()
					})
				})
			}
		}
	}
}

// At any point of a load, the snapshot is deleted: the load finds it, or the older one. Parts that
// vanish meanwhile are not damage.
func TestLoad_DuringDeletion(t *testing.T) {
	t.Parallel()
	timed := snapshots.Everything()
	timed.MinTS = 150
	from2 := snapshots.Everything()
	from2.MinSeq = 2
	for deleting, c := range map[string]snapshots.Criteria{"by number": from2, "by time": timed} {
		t.Run(deleting, func(t *testing.T) {
			t.Parallel()
			b := openBase(t)
			writer := b.store(nil, nil)
			untilDone(t, func(n int) int {
				b.empty()
				older, newer := snapshot(1, split), snapshot(2, split)
				b.save(writer, older)
				b.save(writer, newer)
				w := &wire{}
				w.judge = func(i int, _ string) fault {
					if i == n {
						if _, err := writer.Delete(t.Context(), &dynamo.Meter{}, "a", c); err != nil {
							t.Error(err)
						}
					}
					return arrives
				}
				if got := b.load(b.store(w, nil)); !isOneOf(got, older, newer) {
					t.Errorf("crossed at request %d: selected is %s", n, describe(got))
				}
				return w.sent()
			})
		})
	}
}

// If two saves of one number interleave at any point, the result is one of the snapshots, whole.
func TestSave_ConcurrentSavesOfOneNumber(t *testing.T) {
	t.Parallel()
	for _, sizes := range [][2]int{{split, split + 1}, {split, small}, {small, split}, {small, small + 1}} {
		t.Run(fmt.Sprint(sizes), func(t *testing.T) {
			t.Parallel()
			b := openBase(t)
			untilDone(t, func(n int) int {
				b.empty()
				other := b.store(nil, nil)
				older, first, second := snapshot(1, small), snapshot(2, sizes[0]), snapshot(2, sizes[1])
				b.save(other, older)
				w := &wire{}
				w.judge = func(i int, _ string) fault {
					if i == n {
						b.save(other, second)
					}
					return arrives
				}
				b.save(b.store(w, nil), first)
				if got := b.load(other); !isOneOf(got, first, second) {
					t.Errorf("crossed at request %d: selected is %s", n, describe(got))
				}
				return w.sent()
			})
		})
	}
}

// A deletion by time interleaves, at any point, with the save of a split snapshot outside of its
// criteria. That snapshot stays whole, even if an older one of its number is deleted.
func TestDelete_ByTimeDuringSave(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string][]layout.Snapshot{
		"of another number": {snapshot(1, split)}, "of its number": {snapshot(1, split), snapshot(2, split)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openBase(t)
			other := b.store(nil, nil)
			untilDone(t, func(n int) int {
				b.empty()
				for _, s := range stored {
					b.save(other, s)
				}
				saved := snapshot(2, split+1)
				saved.Timestamp++
				c := snapshots.Everything()
				c.MaxTS = saved.Timestamp - 1
				w := &wire{}
				w.judge = func(i int, _ string) fault {
					if i == n {
						if _, err := other.Delete(t.Context(), &dynamo.Meter{}, "a", c); err != nil {
							t.Error(err)
						}
					}
					return arrives
				}
				b.save(b.store(w, nil), saved)
				if got := b.load(other); !same(got, &saved) {
					t.Errorf("crossed at request %d: selected is %s, want the new one", n, describe(got))
				}
				return w.sent()
			})
		})
	}
}
