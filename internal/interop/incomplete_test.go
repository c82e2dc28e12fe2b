//go:build interop

package interop_test

import (
	"fmt"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// cutWrite appends three events and an atomic write of nine. It then removes all members except the
// first three, 4 to 6, as if the writer had crashed. The atomic write would have ended at 12.
func (s *service) cutWrite(t *testing.T, j *dynajournal.Journal, pid string) {
	t.Helper()
	w := recoverGo(t, j, pid, 0)
	w.appendAll(t, false, texts("event", 3)...)
	w.appendAll(t, true, texts("cut", 9)...)
	s.lose(t, pid, 7, 8, 9, 10, 11, 12)
}

// After a recovery in Go, a JVM must replay the events that either side writes after an incomplete
// atomic write, including an atomic write that ends where the incomplete one would have ended.
func TestJVMReplaysWhatFollowsAnIncompleteAtomicWrite(t *testing.T) {
	eachPlugin(t, func(t *testing.T, s *service) {
		j := s.open(t)
		for size := 2; size <= 7; size++ {
			for _, inJVM := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d events, of the JVM: %v", size, inJVM), func(t *testing.T) {
					pid := newPID(t)
					s.cutWrite(t, j, pid)
					w, values := recoverGo(t, j, pid, 0), texts("after", size)
					if inJVM {
						s.writeJVM(t, pid, true, values...)
					} else {
						w.appendAll(t, true, values...)
					}
					want := append(numbered(t, 1, texts("event", 3)...), numbered(t, 8, values...)...)
					checkSeen(t, "the JVM", seenJVM(s.replayJVM(t, pid)), want)
					checkSeen(t, "Go", readGo(t, j, pid, dynajournal.Range{}), want)
				})
			}
		}
	})
}

// Without that recovery, the plug-in leaves out its own atomic write if it ends where the
// incomplete one would have ended. Go returns it, and after a repair that removes the incomplete
// one, the JVM also replays it.
func TestIncompleteAtomicWrite_JVMLeavesOutItsOwn(t *testing.T) {
	eachPlugin(t, func(t *testing.T, s *service) {
		j, pid, values := s.open(t), newPID(t), texts("after", 6)
		s.cutWrite(t, j, pid)
		s.writeJVM(t, pid, true, values...)
		before := numbered(t, 1, texts("event", 3)...)
		all := append(before, numbered(t, 7, values...)...)
		checkSeen(t, "the JVM", seenJVM(s.replayJVM(t, pid)), before)
		checkSeen(t, "Go", readGo(t, j, pid, dynajournal.Range{}), all)
		opts := dynajournal.VerifyOptions{RemoveIncomplete: true, Archive: func(dynajournal.RemovedItem) error { return nil }}
		for f, err := range j.Repair(t.Context(), pid, opts) {
			if err != nil {
				t.Fatal(err)
			}
			if !f.Repaired {
				t.Errorf("left as it is: %v", f)
			}
		}
		checkSeen(t, "the JVM after the repair", seenJVM(s.replayJVM(t, pid)), all)
	})
}
