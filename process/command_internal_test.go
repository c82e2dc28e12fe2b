package process

import (
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
)

func TestDifferentCommandsHaveDifferentIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("p", 2000)
	ids := map[string]bool{}
	n := 0
	for _, name := range []string{"a", "ab"} {
		for _, pid := range []string{"p", "p/1", `"/p`, long, long + "q"} {
			for _, writer := range []string{"", "w", "w/p", `w"`, `w"/"`} {
				for _, number := range []int64{1, 11} {
					for place := range 2 {
						e := dynajournal.Event{PersistenceID: pid, SequenceNumber: number, WriterUUID: writer}
						id := commandID(name, &e, place)
						if len(id) > maxCommandID {
							t.Errorf("an id of %d bytes", len(id))
						}
						ids[id] = true
						n++
					}
				}
			}
		}
	}
	if len(ids) != n {
		t.Errorf("%d ids of %d commands", len(ids), n)
	}
}
