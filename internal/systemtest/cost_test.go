package systemtest

import (
	"testing"

	"github.com/dynajournal/dynajournal"
)

var bothKinds = []struct {
	name string
	opts dynajournal.TableOptions
	// marks is the number of mark items that a recovery reads. near is the number of low marks that
	// the recovery of a new entity reads again. index is the number of write units that an index
	// adds to each item. timed is 1 if the items have the time of their events, so that a full
	// partition takes one more read unit.
	marks, near, index, timed float64
}{
	{"native", dynajournal.TableOptions{}, 2, 1, 0, 1},
	{"shared", dynajournal.TableOptions{SharedWithJVM: true}, 20, 3, 1, 0},
}

func TestCostOfRecovery(t *testing.T) {
	for _, kind := range bothKinds {
		for _, tt := range []struct {
			name    string
			prepare func(t *testing.T, j *dynajournal.Journal) (after int64)
			// requests and units do not include the request for the marks and its units.
			requests int
			units    float64
		}{
			{"a new entity: a partition, and the low mark once more", func(*testing.T, *dynajournal.Journal) int64 { return 0 }, 2, 1 + kind.near},
			{"five events: their partition", func(t *testing.T, j *dynajournal.Journal) int64 {
				t.Helper()
				appendStrings(t, recoverWriter(t, j, "a", 0), 5, false)
				return 0
			}, 1, 1},
			{"five events after a snapshot: their partition", func(t *testing.T, j *dynajournal.Journal) int64 {
				t.Helper()
				appendStrings(t, recoverWriter(t, j, "a", 0), 45, false)
				return 40
			}, 1, 1},
			{"nothing after a snapshot: the snapshot's partition", func(t *testing.T, j *dynajournal.Journal) int64 {
				t.Helper()
				appendStrings(t, recoverWriter(t, j, "a", 0), 45, false)
				return 45
			}, 1, 1},
			{"250 events: three partitions, none twice", func(t *testing.T, j *dynajournal.Journal) int64 {
				t.Helper()
				appendStrings(t, recoverWriter(t, j, "a", 0), 250, false)
				return 0
			}, 3, 3 + 3 + 2 + 2*kind.timed},
			{"250 after 1000 deleted: the first partition in vain, and three", func(t *testing.T, j *dynajournal.Journal) int64 {
				t.Helper()
				w := recoverWriter(t, j, "a", 0)
				appendStrings(t, w, 1250, true)
				if _, err := w.DeleteTo(t.Context(), 1000); err != nil {
					t.Fatal(err)
				}
				return 0
			}, 4, 2 + 4 + 4 + 2},
		} {
			t.Run(kind.name+"/"+tt.name, func(t *testing.T) {
				j := openFresh(t, kind.opts)
				after := tt.prepare(t, j)
				got := recoverWriter(t, j, "a", after).RecoveryCost()
				if got.Requests != tt.requests+1 || got.ReadUnits != tt.units+kind.marks || got.WriteUnits != 0 {
					t.Errorf("cost %+v, want %d requests, %g read units, none written", got, tt.requests+1, tt.units+kind.marks)
				}
			})
		}
	}
}

func TestCostOfAppend(t *testing.T) {
	for _, kind := range bothKinds {
		for name, groupCommit := range groupCommits {
			t.Run(kind.name+", "+name, func(t *testing.T) {
				j := openFresh(t, kind.opts, func(c *dynajournal.Config) { c.GroupCommit = groupCommit })
				w := recoverWriter(t, j, "a", 0)
				item := 1 + kind.index
				for _, step := range []struct {
					name   string
					events int
					atomic bool
					// requests is the number of requests with group commit, singly the number
					// without.
					requests, singly int
					units            float64
				}{
					{"the first event, which enters its id into the index", 1, false, 1, 1, 2},
					{"an event", 1, false, 1, 1, item},
					{"an atomic write of ten", 10, true, 1, 10, 10 * item},
					{"87 events", 87, false, 87, 87, 87 * item},
					{"the event at 100, with the high mark", 1, false, 2, 2, 2 * item},
					{"an atomic write of 25", 25, true, 1, 25, 25 * item},
					{"an atomic write of 26", 26, true, 2, 26, 26 * item},
					{"an atomic write over 200 needs its mark", 60, true, 4, 61, 61 * item},
				} {
					want := step.requests
					if groupCommit == dynajournal.GroupCommitOff {
						want = step.singly
					}
					if got := appendStrings(t, w, step.events, step.atomic); got.Requests != want || got.WriteUnits != step.units || got.ReadUnits != 0 {
						t.Errorf("%s: cost %+v, want %d requests, %g write units", step.name, got, want, step.units)
					}
				}
			})
		}
	}
}

var groupCommits = map[string]dynajournal.GroupCommit{
	"group commit":         dynajournal.GroupCommitAuto,
	"without group commit": dynajournal.GroupCommitOff,
}
