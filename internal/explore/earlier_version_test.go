package explore_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Purges of earlier versions left a low mark that expires, after the tombstones had expired. These
// tests store the items that such a purge has left.

// earlier has the keys of the journal.
var earlier = layout.Keys{Journal: dynajournal.DefaultJournalName, Shards: 1}

// put stores an item, bypassing the journal.
func (w *world) put(item layout.Attributes) {
	w.Helper()
	if _, err := dynamodb.NewFromConfig(w.engine.AWSConfig()).PutItem(w.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(dynajournal.DefaultJournalTable), Item: item,
	}); err != nil {
		w.Fatal(err)
	}
}

// putExpiring stores an item that expires after the fence window.
func (w *world) putExpiring(item layout.Attributes) {
	w.Helper()
	expires := time.Now().Add(fenceWindow).Unix()
	item[layout.AttrExpires] = &types.AttributeValueMemberN{Value: strconv.FormatInt(expires, 10)}
	w.put(item)
}

// putEarlierPurge stores the items that a purge of n events by an earlier version has left.
func (w *world) putEarlierPurge(n int64) {
	w.Helper()
	w.putExpiring(earlier.EncodeLowMark(pid, layout.LowMark{Seq: n + 2, Removed: n + 2}, nil))
	for seq := int64(1); seq <= n+1; seq++ {
		w.putExpiring(earlier.EncodeSeal(pid, seq))
	}
	if n >= layout.PartitionSize {
		w.putExpiring(earlier.EncodeHighMark(pid, layout.HighestBlock(n)))
	}
}

// A recovery makes the low mark of such a purge permanent, so the numbers never start again.
func TestLowMarkOfAnEarlierPurgeIsKept(t *testing.T) {
	for _, opts := range []dynajournal.RecoverOptions{{}, {Latest: true}} {
		inWorld(t, func(w *world) {
			j := w.journal("one")
			w.putEarlierPurge(120)
			if _, err := recoverIt(w.Context(), j, opts); err != nil {
				w.Fatal(err)
			}
			w.pass(afterExpiry)
			w.wantPurged(j, 121)
			w.append(w.recovered(j), "next")
			w.wantListed(j, true)
			w.wantVisible(j, 1, "next")
			w.wantNoFinding(j)
		})
	}
}

// A copy also makes that low mark permanent.
func TestCopyOverAnEarlierPurge(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.putEarlierPurge(3)
		if err := w.copyRecords(j, event(5, "5"), event(6, "6")); err != nil {
			w.Fatal(err)
		}
		w.pass(afterExpiry)
		w.wantListed(j, true)
		w.wantVisible(j, 1, "5", "6")
	})
}

// The low mark vanishes before a slow recovery has made it permanent. Another recovery then finds
// nothing, and starts at 1. The slow one must return its event.
func TestLowMarkOfAnEarlierPurgeThatVanishes(t *testing.T) {
	inWorld(t, func(w *world) {
		slow, other := w.journal("slow"), w.journal("other")
		w.putEarlierPurge(3)
		for seq := 1; seq <= 4; seq++ {
			w.remove("journal-P-"+pid+"-0", seq)
		}
		w.net.Block("slow")
		wait := w.recovering(slow, dynajournal.RecoverOptions{})
		w.deliverUntil("slow", "PutItem mark")
		w.remove("journal-SL-"+pid+"-0", 0)
		w.append(w.recovered(other), "acknowledged")
		w.net.Free("slow")
		r, err := wait()
		if err != nil || !slices.Equal(r.seen, []string{"acknowledged"}) {
			w.Errorf("the recovery was given %q (%v), want what was acknowledged", r.seen, err)
		}
	})
}

// The numbers of tombstones stay taken after their low mark has expired: a recovery that finds a
// tombstone seals its number. A recovery after the tombstone has expired continues at the same
// number.
func TestTombstonesOfAnEarlierPurgeAreSealed(t *testing.T) {
	for _, vanishes := range []bool{false, true} {
		inWorld(t, func(w *world) {
			slow, other := w.journal("slow"), w.journal("other")
			w.putExpiring(earlier.EncodeSeal(pid, 2))
			w.putExpiring(earlier.EncodeFence(pid, 4, 5))
			w.net.Block("slow")
			wait := w.recovering(slow, dynajournal.RecoverOptions{})
			if vanishes {
				w.deliverUntil("slow", "PutItem")
				w.remove("journal-P-"+pid+"-0", 2)
				w.remove("journal-P-"+pid+"-0", 4)
				w.append(w.recovered(other), "acknowledged")
			}
			w.net.Free("slow")
			r, err := wait()
			if err != nil {
				w.Fatal(err)
			}
			if vanishes {
				w.wantVisible(other, 1, "acknowledged")
				return
			}
			w.pass(afterExpiry)
			w.append(w.recovered(other), "other")
			w.wantConflict(appendTo(w.Context(), r, "slow"))
			w.wantVisible(other, 1, "other")
			if l, err := other.List(w.Context(), pid); err != nil || !slices.Equal(l.Seals, []int64{1, 2, 3, 4}) {
				w.Errorf("sealed are %v (%v), want 1 to 4", l.Seals, err)
			}
		})
	}
}

// A program of an earlier version that stays open during the upgrade still puts low marks in the
// old form, because it read the header before. The next tests show the damage, which
// docs/operations.md describes.

// putEarlierDeletion stores the items of a deletion by an earlier version up to a number, if only
// the event at that number was not yet deleted.
func (w *world) putEarlierDeletion(to int64) {
	w.Helper()
	w.put(earlier.EncodeLowMark(pid, layout.LowMark{Seq: to + 1, Removed: to + 1}, nil))
	w.putExpiring(earlier.EncodeSeal(pid, to))
}

// A deletion by an earlier version removes the last purged number from the low mark.
func TestDeletionByAnEarlierVersionForgetsThePurge(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.append(w.recovered(j), "1", "2")
		purge(w, j)
		r := w.recovered(j)
		w.append(r, "4")
		w.append(r, "5")
		w.wantLife(j, 4, 3)
		w.putEarlierDeletion(4)
		w.wantLife(j, 5, 0)
		w.wantVisible(j, 1, "5")
		w.append(w.recovered(j), "6")
		w.wantVisible(j, 1, "5", "6")
	})
}

// Such a deletion also removes the snapshot that the journal needs from the low mark: a recovery
// from an older snapshot lacks events, without an error.
func TestDeletionByAnEarlierVersionForgetsTheSnapshot(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		r := w.recovered(j)
		w.append(r, "1")
		w.append(r, "2")
		w.append(r, "3")
		if _, err := r.DeleteCovered(w.Context(), 2); err != nil {
			w.Fatal(err)
		}
		older := dynajournal.RecoverOptions{Snapshot: 1}
		if _, err := recoverIt(w.Context(), j, older); !errors.Is(err, dynajournal.ErrSnapshotMissing) {
			w.Errorf("error %v, want %v", err, dynajournal.ErrSnapshotMissing)
		}
		w.putEarlierDeletion(2)
		if r, err := recoverIt(w.Context(), j, older); err != nil || !slices.Equal(r.seen, []string{"3"}) {
			w.Errorf("the recovery is given %q (%v), want the rest of the events", r.seen, err)
		}
	})
}

// All items that a purge by an earlier version leaves expire. If no program of this version
// recovers the id before that, its numbers start again.
func TestEarlierVersion_PurgeLetsNumbersStartAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		j := w.journal("one")
		w.append(w.recovered(j), "1", "2")
		purge(w, j)
		w.append(w.recovered(j), "4")
		w.putEarlierPurge(4)
		w.pass(afterExpiry)
		w.wantNext(j, 1)
	})
}

// wantLife checks the low mark, and the last purged number.
func (w *world) wantLife(j *dynajournal.Journal, low, purged int64) {
	w.Helper()
	marks, err := core.Of(j).Store.LowMark(w.Context(), &dynamo.Meter{}, pid)
	if got := marks.Low; err != nil || got.Seq != low || got.Purged != purged {
		w.Errorf("the low mark is %d and %d is purged (%v), want %d and %d", got.Seq, got.Purged, err, low, purged)
	}
}

// copyRecords copies records to the persistence id.
func (w *world) copyRecords(j *dynajournal.Journal, records ...dynajournal.Record) error {
	w.Helper()
	_, err := j.PutRecords(w.Context(), pid, func(yield func(dynajournal.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}, dynajournal.PutRecordsOptions{})
	return err
}

// event returns the record of a single event.
func event(number int64, text string) dynajournal.Record {
	return dynajournal.Record{
		Kind: dynajournal.RecordEvent, SequenceNumber: number, WriterUUID: "other", SerializerID: 20, Bytes: []byte(text),
	}
}
