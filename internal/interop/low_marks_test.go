//go:build interop

package interop_test

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A deletion in a shared journal leaves the JVM's low mark at most at the beginning of the highest
// number's block, Go's own low mark in the same item, and tombstones between the two marks. If the
// highest number is deleted, it is a seal. These tests put such items directly, independent of the
// code that writes them. Each version of the plug-in must continue after the highest number, before
// and after its own deletions, and must not leave items behind.

// deletion is a deletion by Go.
type deletion struct {
	// events is the number of events written one by one. batch is the number of events then written
	// as an atomic write.
	events, batch int64
	// jvmLow is an earlier low mark of the JVM, or 0.
	jvmLow int64
	// to is the last deleted number.
	to int64
	// snapshot is the number of a snapshot beyond the events, after which Go has continued:
	// everything before it is deleted. 0 means no snapshot.
	snapshot int64
	// more is the number of single events with which the JVM continues. moreBatch is the number of
	// events in its atomic write after them.
	more, moreBatch int
}

// highest returns the highest number that is taken.
func (d deletion) highest() int64 { return max(d.events+d.batch, d.snapshot) }

func (d deletion) String() string {
	if d.snapshot > 0 {
		return fmt.Sprintf("%d events and a snapshot at %d", d.events, d.snapshot)
	}
	text := fmt.Sprintf("%d of %d", d.to, d.events+d.batch)
	if d.batch > 0 {
		text += fmt.Sprintf(" with a batch from %d on", d.events+1)
	}
	if d.jvmLow > 0 {
		text += fmt.Sprintf(" after %d", d.jvmLow)
	}
	return text
}

func TestJVM_ContinuesAboveLowMarkAfterDeletionsByGo(t *testing.T) {
	deletions := []deletion{
		{events: 20, to: 10, more: 3, moreBatch: 3},
		{events: 20, to: 20, more: 3, moreBatch: 3},
		{events: 15, batch: 5, to: 17, more: 3, moreBatch: 3},
		{events: 60, jvmLow: 30, to: 50, more: 3, moreBatch: 3},
		{events: 95, to: 90, more: 3, moreBatch: 5},
		{events: 95, to: 95, moreBatch: 10},
		{events: 99, to: 98, more: 2, moreBatch: 2},
		{events: 99, to: 99, moreBatch: 4},
		{events: 100, to: 99, more: 2, moreBatch: 2},
		{events: 100, to: 100, more: 2, moreBatch: 2},
		{events: 120, jvmLow: 30, to: 120, more: 2, moreBatch: 2},
		{events: 195, batch: 10, to: 200, more: 2, moreBatch: 2},
		{events: 199, to: 150, moreBatch: 30},
		{events: 199, to: 199, more: 1, moreBatch: 3},
		{events: 3, snapshot: 50, more: 2, moreBatch: 2},
		{events: 3, snapshot: 99, more: 2, moreBatch: 2},
		{events: 3, snapshot: 100, more: 2, moreBatch: 2},
		{events: 3, snapshot: 250, moreBatch: 2},
		{snapshot: 250, more: 2, moreBatch: 50},
		{events: 105, snapshot: 250, more: 2, moreBatch: 2},
	}
	eachPlugin(t, func(t *testing.T, s *service) {
		for _, d := range deletions {
			t.Run(d.String(), func(t *testing.T) { s.checkGoesOnAfter(t, d) })
		}
	})
}

// checkGoesOnAfter runs a JVM's entity after a deletion, including its own deletions.
func (s *service) checkGoesOnAfter(t *testing.T, d deletion) {
	t.Helper()
	pid := newPID(t)
	s.startJVM(t, pid)
	values := texts("event", int(d.events+d.batch))
	if d.events > 0 {
		s.persistJVM(t, pid, false, values[:d.events]...)
	}
	if d.batch > 0 {
		s.persistJVM(t, pid, true, values[d.events:]...)
	}
	if d.jvmLow > 0 {
		s.deleteJVM(t, pid, d.jvmLow-1)
	}
	s.stopJVM(t, pid)
	highest := d.highest()
	s.deleteByHand(t, pid, d)

	live := numbered(t, 1, values...)[d.to:]
	// The JVM hides an atomic write that is cut.
	if d.snapshot > 0 || d.batch > 0 && d.to > d.events {
		live = nil
	}
	check := func(when string) {
		t.Helper()
		replayed := s.replayJVM(t, pid)
		checkSeen(t, when+" the JVM", seenJVM(replayed), live)
		if replayed.Highest != highest {
			t.Errorf("%s the JVM finds the highest number %d, want %d", when, replayed.Highest, highest)
		}
	}
	restart := func(when string) {
		t.Helper()
		s.stopJVM(t, pid)
		if started := s.startJVM(t, pid); started.Last != highest {
			t.Errorf("%s the JVM continues after %d, want %d", when, started.Last, highest)
		}
	}
	persist := func(atomically bool, values ...any) {
		t.Helper()
		if len(values) == 0 {
			return
		}
		s.persistJVM(t, pid, atomically, values...)
		live = append(live, numbered(t, highest+1, values...)...)
		highest += int64(len(values))
	}

	check("after Go's deletion")
	s.startJVM(t, pid)
	restart("after Go's deletion")
	persist(false, texts("more", d.more)...)
	check("after single events")
	persist(true, texts("batch", d.moreBatch)...)
	check("after an atomic write")
	restart("after an atomic write")

	part := highest - int64(d.moreBatch) // so that it cuts no atomic write
	s.deleteJVM(t, pid, part)
	live = numbered(t, part+1, texts("batch", d.moreBatch)...)
	check("after a partial deletion")
	restart("after a partial deletion")
	persist(false, "again")
	restart("after an event after a partial deletion")

	s.deleteJVM(t, pid, highest)
	live = nil
	check("after a deletion of all")
	restart("after a deletion of all")
	persist(false, "the last")
	check("at the end")
	restart("at the end")
	s.stopJVM(t, pid)
	s.checkNothingLeft(t, pid, d, highest)
}

// deleteJVM makes a running persistent actor delete its events.
func (s *service) deleteJVM(tb testing.TB, pid string, to int64) {
	tb.Helper()
	s.jvm.do(tb, request{Op: "deleteTo", PID: pid, To: &to})
}

// deleteByHand puts the items that a deletion in Go leaves, or that a recovery after a snapshot
// beyond the journal leaves.
func (s *service) deleteByHand(tb testing.TB, pid string, d deletion) {
	tb.Helper()
	highest, to := d.highest(), max(d.to, d.snapshot)
	low := to + 1
	seq := d.jvmReads()
	s.put(tb, fmt.Sprintf("journal-SL-%s-%d",
		pid, seq/100%10), 0, map[string]int64{"seq": seq, "low": low, "removed": low})
	for n := max(d.jvmLow, 1); n <= min(to, d.events+d.batch); n++ {
		if n != highest {
			s.putClosed(tb, pid, n, map[string]int64{"expires": time.Now().Add(24 * time.Hour).Unix()})
		}
	}
	if d.snapshot > 0 {
		s.putClosed(tb, pid, d.events+1, map[string]int64{"low": low}) // the fence
		s.put(tb, fmt.Sprintf("journal-SH-%s-%d", pid, highest/100%10), 0, map[string]int64{"seq": highest / 100 * 100})
	}
	if to == highest {
		s.putClosed(tb, pid, highest, nil)
	}
}

// jvmReads returns the low mark that the JVM reads after the deletion.
func (d deletion) jvmReads() int64 {
	return max(d.jvmLow, min(max(d.to, d.snapshot)+1, d.highest()/100*100))
}

// putClosed puts a seal with more attributes: a tombstone has an expiry time, a fence has the
// future low mark.
func (s *service) putClosed(tb testing.TB, pid string, seq int64, more map[string]int64) {
	tb.Helper()
	numbers := map[string]int64{"idx": 1_000_000_000, "cnt": 1_000_000_000}
	maps.Copy(numbers, more)
	s.put(tb, fmt.Sprintf("journal-P-%s-%d", pid, seq/100), seq%100, numbers)
}

// put puts an item with numeric attributes into the journal table.
func (s *service) put(tb testing.TB, par string, num int64, numbers map[string]int64) {
	tb.Helper()
	item := map[string]types.AttributeValue{"par": &types.AttributeValueMemberS{Value: par}, "num": attributeOf(num)}
	for name, n := range numbers {
		item[name] = attributeOf(n)
	}
	input := &dynamodb.PutItemInput{TableName: aws.String(s.journalTable()), Item: item}
	if _, err := s.client.PutItem(tb.Context(), input); err != nil {
		tb.Fatalf("put item %s/%d: %v", par, num, err)
	}
}

func attributeOf(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// checkNothingLeft checks that only the last number is left, from the JVM's former low mark on. It
// deletes these items.
func (s *service) checkNothingLeft(t *testing.T, pid string, d deletion, last int64) {
	t.Helper()
	low := d.jvmReads()
	for key := range s.journalItems(t, pid) {
		if !strings.HasPrefix(key, "journal-P-") {
			continue
		}
		var block, num int64
		if _, err := fmt.Sscanf(strings.TrimPrefix(key, "journal-P-"+pid+"-"), "%d/%d", &block, &num); err != nil {
			t.Fatalf("read key %q: %v", key, err)
		}
		if n := block*100 + num; n != last && n >= low {
			t.Errorf("item %d was left behind", n)
		}
	}
}
