package verify_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/verify"
)

// stored is a case: the items that a test stores by hand, and the findings.
type stored struct {
	shared bool
	put    func(j *journal)
	want   []string
	// left are the findings after all possible repairs. archived are the numbers whose items are
	// archived.
	left     []string
	archived []int64
}

// storedCases has each kind of finding except Unchecked, which only the root package reports.
var storedCases = map[string]stored{
	"nothing wrong": {put: func(j *journal) { j.singles(1, 101); j.batch(102, 105) }},
	"nothing wrong, shared, deleted": {shared: true, put: func(j *journal) {
		j.singles(100, 106)
		j.tombstones(98, 99)
		j.lowMark(100)
	}},
	"nothing at all": {put: func(*journal) {}},
	"a missing high mark": {
		put: func(j *journal) {
			j.singles(1, 99)
			j.put(j.event(100, "w", layout.Batch{}))
			j.put(j.event(101, "w", layout.Batch{}))
		},
		want: []string{"missing-high-mark 100 unasked"},
	},
	"events behind a gap at a border, without their high mark": {
		put:  func(j *journal) { j.singles(1, 97); j.put(j.event(101, "w", layout.Batch{})) },
		want: []string{"hole 98 seal-missing", "missing-high-mark 100 restore-high-mark"},
	},
	"a high mark beyond the events": {
		put:  func(j *journal) { j.singles(1, 3); j.put(j.keys.EncodeHighMark(pid, 500)) },
		want: []string{"mark-beyond-events 500"}, left: []string{"mark-beyond-events 500"},
	},
	"a hole": {
		put:  func(j *journal) { j.singles(1, 6); j.remove(3, 4) },
		want: []string{"hole 3 seal-missing"},
	},
	"a tombstone above the low mark": {
		put:  func(j *journal) { j.singles(1, 3); j.tombstones(4, 4) },
		want: []string{"hole 4"}, left: []string{"hole 4"},
	},
	"a fence whose low mark is missing": {
		put:  func(j *journal) { j.singles(1, 3); j.put(j.keys.EncodeFence(pid, 4, 20)) },
		want: []string{"hole 4"}, left: []string{"hole 4"},
	},
	"a fence behind which a JVM has gone on": {shared: true, put: func(j *journal) {
		j.singles(1, 3)
		j.put(j.keys.EncodeFence(pid, 4, 20))
		j.singles(5, 6)
	}},
	"a fence before an item that can't be read": {
		put: func(j *journal) {
			j.singles(1, 3)
			j.put(j.keys.EncodeFence(pid, 4, 20))
			j.put(j.unreadable(j.keys.Event(pid, 6)))
		},
		want: []string{"hole 4", "hole 5", "undecodable 6"}, left: []string{"hole 4", "hole 5", "undecodable 6"},
	},
	"tombstones that a purge by an earlier version has left": {
		put:  func(j *journal) { j.singles(1, 3); j.put(j.keys.EncodeTombstone(pid, 5, now-1)); j.singles(6, 6) },
		want: []string{"hole 4", "hole 5"}, left: []string{"hole 4", "hole 5"},
	},
	"a purge that was cut short": {
		put: func(j *journal) {
			j.singles(1, 3)
			j.put(j.keys.EncodePurgeFence(pid, 4, 9))
			j.batch(6, 7)
			j.saved[8], j.saved[2] = nil, errBroken
		},
		want: []string{"hole 4"}, left: []string{"hole 4"},
	},
	"a purge that was cut short, of an id without its snapshot": {
		put: func(j *journal) {
			j.deletedWithSnapshot()
			j.put(j.keys.EncodePurgeFence(pid, 7, 8))
		},
		want: []string{"hole 7"}, left: []string{"hole 7"},
	},
	"a purge that was cut short before anything was written": {
		put:  func(j *journal) { j.purged(4); j.put(j.keys.EncodePurgeFence(pid, 5, 7)) },
		want: []string{"hole 5"}, left: []string{"hole 5"},
	},
	"an atomic write that may become whole": {
		put:  func(j *journal) { j.singles(1, 1); j.batch(2, 5, 3) },
		want: []string{"hole 3", "incomplete-batch 2"}, left: []string{"hole 3", "incomplete-batch 2"},
	},
	"an atomic write of which a number is sealed": {
		put:  func(j *journal) { j.singles(1, 1); j.batch(2, 5, 3); j.put(j.keys.EncodeSeal(pid, 3)) },
		want: []string{"incomplete-batch 2 remove-incomplete"}, archived: []int64{2, 4, 5},
	},
	"an atomic write of which another writer has a number": {
		put:  func(j *journal) { j.batch(1, 3, 1); j.put(j.event(1, "other", layout.Batch{})) },
		want: []string{"incomplete-batch 1 remove-incomplete"}, archived: []int64{2, 3},
	},
	"an atomic write of which a member can't be read": {
		put:  func(j *journal) { j.batch(1, 3, 2); j.put(j.unreadable(j.keys.Event(pid, 2))) },
		want: []string{"undecodable 2", "incomplete-batch 1"}, left: []string{"undecodable 2", "incomplete-batch 1"},
	},
	"an event below the low mark": {
		put:  func(j *journal) { j.singles(1, 5); j.lowMark(4); j.tombstones(1, 1); j.tombstones(3, 3) },
		want: []string{"orphan-below-low-mark 2 remove-orphans"}, archived: []int64{2},
	},
	"tombstones below the low mark that a JVM reads": {
		shared: true,
		put:    func(j *journal) { j.tombstones(1, 4); j.put(j.keys.EncodeSeal(pid, 5)); j.lowMark(6) },
		want:   []string{"below-jvm-low-mark 1 remove-deleted"}, archived: []int64{1, 2, 3, 4, 5},
	},
	"an event among them": {
		shared: true,
		put:    func(j *journal) { j.tombstones(1, 1); j.singles(2, 2); j.put(j.keys.EncodeSeal(pid, 3)); j.lowMark(4) },
		want:   []string{"orphan-below-low-mark 2 remove-orphans", "below-jvm-low-mark 1"},
		left:   []string{"below-jvm-low-mark 1 remove-deleted"}, archived: []int64{2},
	},
	"a writer that goes on after another": {
		put: func(j *journal) {
			for i, writer := range []string{"w", "v", "w", "w"} {
				j.put(j.event(int64(i)+1, writer, layout.Batch{}))
			}
		},
		want: []string{"foreign-writer 3"}, left: []string{"foreign-writer 3"},
	},
	"a writer that follows another": {put: func(j *journal) {
		for i, writer := range []string{"v", "v", "w"} {
			j.put(j.event(int64(i)+1, writer, layout.Batch{}))
		}
	}},
	"an item that can't be read": {
		put:  func(j *journal) { j.singles(1, 3); j.put(j.unreadable(j.keys.Event(pid, 2))) },
		want: []string{"undecodable 2"}, left: []string{"undecodable 2"},
	},
	"the last item can't be read": {
		put:  func(j *journal) { j.singles(1, 2); j.put(j.unreadable(j.keys.Event(pid, 3))) },
		want: []string{"undecodable 3"}, left: []string{"undecodable 3"},
	},
	"a payload that can't be decoded": {
		put: func(j *journal) {
			j.singles(1, 2)
			item := j.event(2, "w", layout.Batch{})
			item["event"] = &types.AttributeValueMemberB{Value: []byte("broken")}
			j.put(item)
		},
		want: []string{"undecodable 2"}, left: []string{"undecodable 2"},
	},
	"a mark that can't be read, and an orphan": {
		put: func(j *journal) {
			j.singles(1, 3)
			j.lowMark(2)
			j.put(j.unreadable(j.keys.HighMark(pid, 100)))
		},
		want: []string{"undecodable 0", "orphan-below-low-mark 1"}, left: []string{"undecodable 0", "orphan-below-low-mark 1"},
	},
	"an item that is neither an event nor closes its number": {
		put: func(j *journal) {
			j.singles(1, 3)
			item := j.keys.Event(pid, 2).Attributes()
			item["note"] = &types.AttributeValueMemberS{Value: "x"}
			j.put(item)
		},
		want: []string{"unknown-item 2"}, left: []string{"unknown-item 2"},
	},
	"items where no reader looks": {
		put: func(j *journal) {
			j.singles(1, 3)
			for _, num := range []string{"0", "100"} {
				item := j.keys.Event(pid, 1).Attributes()
				item["num"] = &types.AttributeValueMemberN{Value: num}
				j.put(item)
			}
		},
		want: []string{"unknown-item 0", "unknown-item 0"}, left: []string{"unknown-item 0", "unknown-item 0"},
	},
	"a high mark in another shard, and an orphan": {
		put: func(j *journal) {
			j.singles(1, 3)
			j.lowMark(2)
			item := j.keys.HighMark(pid, 0).Attributes()
			item["seq"] = &types.AttributeValueMemberN{Value: "100"} // belongs to the other shard
			j.put(item)
		},
		want: []string{"wrong-shards 100", "mark-beyond-events 100", "orphan-below-low-mark 1"},
		left: []string{"wrong-shards 100", "mark-beyond-events 100", "orphan-below-low-mark 1"},
	},
	"a mark in a shard of the default number": {
		put: func(j *journal) {
			j.singles(1, 3)
			item := layout.Keys{Journal: "journal", Shards: layout.DefaultShards}.HighMark(pid, 700).Attributes()
			item["seq"] = &types.AttributeValueMemberN{Value: "700"}
			j.put(item)
		},
		want: []string{"wrong-shards 700"}, left: []string{"wrong-shards 700"},
	},
	"a snapshot beyond the journal": {
		put:  func(j *journal) { j.singles(1, 3); j.saved[9], j.saved[2] = nil, nil },
		want: []string{"snapshot-beyond-journal 9"}, left: []string{"snapshot-beyond-journal 9"},
	},
	"a snapshot that was lost": {
		put: func(j *journal) {
			j.deletedWithSnapshot()
			j.saved[2] = nil
		},
		want: []string{"snapshot-missing 3"}, left: []string{"snapshot-missing 3"},
	},
	"a snapshot that was lost, and saved again": {
		put: func(j *journal) {
			j.deletedWithSnapshot()
			j.saved[5] = nil
		},
	},
	"a damaged snapshot": {
		put:  func(j *journal) { j.singles(1, 3); j.saved[3], j.saved[2] = nil, errBroken },
		want: []string{"damaged-snapshot 2"}, left: []string{"damaged-snapshot 2"},
	},
	"an expired tombstone where nothing removes it": {
		put: func(j *journal) {
			j.checker.TTL = false
			j.singles(3, 4)
			j.lowMark(3)
			j.put(j.keys.EncodeTombstone(pid, 1, now-1))
			j.tombstones(2, 2)
		},
		want: []string{"expired-tombstone 1 unasked"},
	},
	"an expired tombstone that the table's expiry removes": {put: func(j *journal) {
		j.singles(2, 3)
		j.lowMark(2)
		j.put(j.keys.EncodeTombstone(pid, 1, now-1))
	}},
	"a persistence id that is not listed": {
		put: func(j *journal) {
			j.put(j.keys.EncodeEvent(&layout.Event{PersistenceID: pid, SequenceNr: 1, Bytes: []byte("x"), SerializerID: 4, WriterUUID: "w"}))
		},
		want: []string{"not-in-ids-index 1 unasked"},
	},
	"a low mark that is not listed": {
		put: func(j *journal) {
			j.tombstones(1, 1)
			j.put(j.keys.EncodeLowMark(pid, layout.LowMark{Seq: 2, Removed: 2}, nil))
		},
		want: []string{"not-in-ids-index 1 unasked"},
	},
	"a purged persistence id is not listed":  {put: func(j *journal) { j.purged(4) }},
	"a purge over the border of a partition": {put: func(j *journal) { j.purged(100) }},
	"a persistence id that an earlier version has purged": {put: func(j *journal) {
		low := j.keys.EncodeLowMark(pid, layout.LowMark{Seq: 2, Removed: 2}, nil)
		low["expires"] = &types.AttributeValueMemberN{Value: strconv.Itoa(now + 86_400)}
		j.put(low)
	}},
	"a purged persistence id that is used again": {put: func(j *journal) {
		j.purged(4)
		j.firstOfLife(5)
		j.singles(6, 7)
		j.saved[6] = nil
	}},
	"a purged persistence id that is used again and not listed": {
		put:  func(j *journal) { j.purged(4); j.singles(5, 7) },
		want: []string{"not-in-ids-index 5 unasked"},
	},
	"a purged persistence id that is used again, deleted and not listed": {
		put: func(j *journal) {
			j.tombstones(5, 6)
			j.singles(7, 8)
			j.put(j.keys.EncodeLowMark(pid, layout.LowMark{Seq: 7, Removed: 7, Purged: 4}, nil))
		},
		want: []string{"not-in-ids-index 5 unasked"},
	},
	"snapshots that a purge has left": {put: func(j *journal) {
		j.purged(4)
		j.saved[4], j.saved[2] = nil, errBroken
	}},
	"snapshots that a purge has left, and none that a deletion needs": {
		put: func(j *journal) {
			j.tombstones(5, 6)
			j.singles(7, 8)
			j.put(j.keys.EncodeLowMark(pid, layout.LowMark{Seq: 7, Removed: 7, Behind: 6, Purged: 4}, j.listed()))
			j.saved[4] = nil
		},
		want: []string{"snapshot-missing 6"}, left: []string{"snapshot-missing 6"},
	},
	"a snapshot beyond a purged journal": {
		put:  func(j *journal) { j.purged(4); j.saved[5] = nil },
		want: []string{"snapshot-beyond-journal 5"}, left: []string{"snapshot-beyond-journal 5"},
	},
}

func TestCheck_EachFinding(t *testing.T) {
	t.Parallel()
	seen := map[verify.Kind]bool{verify.Unchecked: true}
	for name, c := range storedCases {
		for _, line := range c.want {
			kind, _, _ := strings.Cut(line, " ")
			seen[verify.Kind(kind)] = true
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJournal(t, c.shared)
			c.put(j)
			found := j.check()
			if got := short(found); !slices.Equal(got, c.want) {
				t.Fatalf("found %q, want %q", got, c.want)
			}
			var archived []int64
			for i := range found {
				if f := &found[i]; f.Repairable() {
					changed, items, err := j.repair(f)
					if err != nil || !changed {
						t.Errorf("the repair of %s: changed %v, %v", f.Kind, changed, err)
					}
					archived = append(archived, items...)
				}
			}
			if !slices.Equal(archived, c.archived) {
				t.Errorf("archived are %v, want %v", archived, c.archived)
			}
			if left := short(j.check()); !slices.Equal(left, c.left) {
				t.Errorf("after the repair %q is found, want %q", left, c.left)
			}
		})
	}
	for _, kind := range verify.Kinds() {
		if !seen[kind] {
			t.Errorf("no case has a finding %s", kind)
		}
	}
}

// The remains of a purge are not a loss of data.
func TestSeverity_RemainsOfPurge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		put  func(j *journal)
		want []verify.Severity
	}{
		"its fence": {
			func(j *journal) { j.put(j.keys.EncodePurgeFence(pid, 4, 5)) },
			[]verify.Severity{verify.LeftOver},
		},
		"events that it has not removed": {
			func(j *journal) {
				j.put(j.keys.EncodeLowMark(pid, layout.LowMark{Seq: 4, Removed: 2, Purged: 3}, nil))
			},
			[]verify.Severity{verify.Damage, verify.LeftOver, verify.LeftOver},
		},
		"a tombstone without its low mark": {
			func(j *journal) { j.tombstones(5, 5) },
			[]verify.Severity{verify.Damage, verify.Damage},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJournal(t, false)
			j.singles(1, 3)
			c.put(j)
			var got []verify.Severity
			for _, f := range j.check() {
				got = append(got, f.Severity)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("the severities are %q, want %q", got, c.want)
			}
		})
	}
}

// The highest number is read again before a snapshot is reported as beyond the journal.
func TestCheck_SnapshotOfEventWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	j := newJournal(t, false)
	j.singles(1, 3)
	j.saved[4] = nil
	snapshots := j.checker.Snapshots
	j.checker.Snapshots = func(ctx context.Context, m *meter, pid string, each func(int64, error) error) error {
		j.put(j.event(4, "w", layout.Batch{}))
		return snapshots(ctx, m, pid, each)
	}
	if found := short(j.check()); len(found) != 0 {
		t.Errorf("found %q", found)
	}
}

var errStopped = errors.New("stopped by the test")

func TestCheck_CallerError(t *testing.T) {
	t.Parallel()
	j := newJournal(t, false)
	j.singles(1, 6)
	j.remove(2, 4)
	reports := 0
	if err := j.checker.Check(t.Context(), pid, func(verify.Finding) error { reports++; return errStopped }); !errors.Is(err, errStopped) || reports != 1 {
		t.Errorf("%d findings are reported, and the check ends with %v", reports, err)
	}
	j.checker.Paced = func(context.Context, float64) error { return errStopped }
	if err := j.checker.Check(t.Context(), pid, func(verify.Finding) error { return nil }); !errors.Is(err, errStopped) {
		t.Errorf("a pace that fails: %v", err)
	}
}

// The consumption of a check is passed to Paced, each unit once.
func TestCheck_PacedGetsEachReadUnitOnce(t *testing.T) {
	t.Parallel()
	j := newJournal(t, false)
	j.singles(1, 250)
	j.saved[3] = nil
	paced, calls := 0.0, 0
	j.checker.Paced = func(_ context.Context, units float64) error {
		paced += units
		calls++
		return nil
	}
	j.units = 0
	j.check()
	if paced != j.units || paced == 0 || calls < 5 {
		t.Errorf("%g units in %d calls, %g were read", paced, calls, j.units)
	}
}
