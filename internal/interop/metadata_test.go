//go:build interop

package interop_test

import (
	"fmt"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// A JVM must read Go's events with a time, metadata and tags like other events, write after them,
// and delete them. Go must read the JVM's events, which have no metadata.
func TestJVMIgnoresMetadata(t *testing.T) {
	eachPlugin(t, func(t *testing.T, s *service) {
		j := s.open(t, func(c *dynajournal.Config) { c.EventMetadata = dynajournal.EventMetadataOn })
		pid := newPID(t)
		var want []seen
		writtenByGo := func(n int, atomically bool) {
			t.Helper()
			r := recoverGo(t, j, pid, 0)
			checkSeen(t, "Go", r.events, want)
			values := texts(fmt.Sprintf("go-%d", len(want)), n)
			events := make([]any, n)
			for i, value := range values {
				events[i] = dynajournal.NewEvent{
					Value: value, Metadata: map[string]string{"tenant": "é"}, Tags: []string{"b", "a"},
				}
			}
			r.appendAll(t, atomically, events...)
			for _, event := range typedAll(t, values...) {
				want = append(want, seen{int64(len(want) + 1), event})
			}
		}
		writtenByJVM := func(n int, atomically bool) {
			t.Helper()
			checkSeen(t, "the JVM", seenJVM(s.startJVM(t, pid)), want)
			values := texts(fmt.Sprintf("jvm-%d", len(want)), n)
			s.persistJVM(t, pid, atomically, values...)
			s.stopJVM(t, pid)
			for _, event := range typedAll(t, values...) {
				want = append(want, seen{int64(len(want) + 1), event})
			}
		}
		writtenByGo(3, false)
		writtenByJVM(2, true)
		writtenByGo(98, true) // over a border
		writtenByJVM(3, false)
		writtenByGo(1, false)
		for e, err := range j.Events(t.Context(), pid, dynajournal.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			byGo := e.SequenceNumber <= 3 || e.SequenceNumber > 5 && e.SequenceNumber <= 103 || e.SequenceNumber == 107
			if has := e.Metadata["tenant"] == "é" && len(e.Tags) == 2 && !e.Time.IsZero(); has != byGo {
				t.Errorf("event %d has metadata: %t, want %t", e.SequenceNumber, has, byGo)
			}
		}
		s.startJVM(t, pid)
		s.jvm.do(t, request{Op: "deleteTo", PID: pid, To: new(int64(104))})
		s.stopJVM(t, pid)
		checkSeen(t, "Go after a deletion by the JVM", recoverGo(t, j, pid, 0).events, want[104:])
		checkSeen(t, "the JVM after its deletion", seenJVM(s.startJVM(t, pid)), want[104:])
		s.stopJVM(t, pid)
	})
}
