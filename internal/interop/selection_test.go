//go:build interop

package interop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
)

// With Config.SnapshotNewestByTimestamp, Go selects the same snapshot as the plug-in, for any
// clocks: the newest snapshot by timestamp or, if sequence numbers are limited, the snapshot with
// the highest number. If times are also limited, the plug-in considers only that snapshot, and may
// find none where Go finds the next one.
func TestSnapshotSelection_ByTimestampEqualsJVM(t *testing.T) {
	s := sharedService(t)
	j, pid := s.open(t, func(c *dynajournal.Config) { c.SnapshotNewestByTimestamp = true }), newPID(t)
	for seq, ts := range map[int64]int64{2: 4000, 4: 3000, 6: 1000, 8: 2000} {
		metadata := dynajournal.SnapshotMetadata{PersistenceID: pid, SequenceNumber: seq, Timestamp: time.UnixMilli(ts)}
		if _, err := j.SaveSnapshot(t.Context(), metadata, "state"); err != nil {
			t.Fatal(err)
		}
	}
	for _, minSeq := range []int64{0, 3} {
		for _, maxSeq := range []int64{0, 7, 100} {
			for _, minTS := range []int64{0, 1500} {
				for _, maxTS := range []int64{0, 3500, 9000} {
					ask := request{
						Op: "load", PID: pid,
						MinSeq: unlessZero(minSeq), MaxSeq: unlessZero(maxSeq), MinTS: unlessZero(minTS), MaxTS: unlessZero(maxTS),
					}
					criteria := dynajournal.SnapshotCriteria{
						MinSequenceNumber: minSeq, MaxSequenceNumber: maxSeq, MinTimestamp: timeOf(minTS), MaxTimestamp: timeOf(maxTS),
					}
					inJVM, inGo := int64(0), loadGo(t, j, pid, criteria).seq
					if loaded := s.jvm.do(t, ask); loaded.Seq != nil {
						inJVM = *loaded.Seq
					}
					both := minSeq+maxSeq > 0 && minTS+maxTS > 0
					if inGo != inJVM && !(both && inJVM == 0) {
						bounds := fmt.Sprintf("numbers %d to %d, times %d to %d (0: any)", minSeq, maxSeq, minTS, maxTS)
						t.Errorf("%s: Go selects the snapshot at %d, the JVM that at %d", bounds, inGo, inJVM)
					}
				}
			}
		}
	}
}

func unlessZero(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
