package systemtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// A writer died during an atomic write, and some members are stored. A JVM must show every event
// that either side writes after a recovery in Go, including an atomic write that ends at the number
// at which the incomplete one would have ended.
func TestIncompleteAtomicWrite_JVMShowsLaterEvents(t *testing.T) {
	t.Parallel()
	testsize.NoRace(t, "it does one thing after the other")
	s := newTurns(t, 10)
	for name, c := range map[string]struct {
		before, members int
		stored          []int64
	}{
		"its beginning":             {3, 9, []int64{4, 5, 6}},
		"its middle":                {3, 9, []int64{6, 7, 8}},
		"all but its last":          {3, 4, []int64{4, 5, 6}},
		"some of an empty journal":  {0, 6, []int64{2, 4}},
		"up to a border":            {93, 12, []int64{98, 99}},
		"from a border":             {97, 12, []int64{100, 101}},
		"its beginning, in another": {105, 9, []int64{106}},
	} {
		for size := 1; size <= c.members; size += testsize.Of(3, 1) {
			for _, inJVM := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, then %d events, by the JVM: %v", name, size, inJVM), func(t *testing.T) {
					t.Parallel()
					of := *s
					of.T = t
					m := of.truth(fmt.Sprintf("%s-%d-%v", name, size, inJVM))
					m.append(m.recover("at first"), c.before, false)
					appendIncomplete(t, s.engine, s.journal, m.pid, c.members, c.stored)
					m.unsure, m.skips = true, true // a high mark without its event
					w := m.recover("after the crash")
					if inJVM {
						m.persist(m.start("the JVM takes over"), size, true)
					} else {
						m.append(w, size, true)
					}
					m.checkJVM("in the end", m.start("in the end"))
					m.goesOn()
				})
			}
		}
	}
}

// For any history of several writers, a JVM must show the events that Go appends after a recovery.
func TestJVM_ShowsGosEventsAfterAnyHistory(t *testing.T) {
	t.Parallel()
	s := newTurns(t, 10)
	for i := range *arrangementCount {
		a := &arrangement{
			Rand: rand.New(rand.NewPCG(*arrangementSeed, uint64(i))), pid: fmt.Sprint("a", i),
			shards: 10, shared: true, items: map[string]map[string]types.AttributeValue{},
		}
		next := a.history(1)
		for range a.IntN(6) {
			lost := max(next-1-a.IntN(10), 1)
			a.lose(lost)
			a.note("lost %d", lost)
		}
		for mark := 100; mark < next; mark += 100 {
			a.put(fmt.Sprintf("journal-SH-%s-%d", a.pid, mark/100%a.shards), 0, map[string]any{"seq": mark})
		}
		putAll(t, dynamodb.NewFromConfig(s.engine.AWSConfig()), slices.Collect(maps.Values(a.items)))
		m := s.truth(a.pid)
		m.unsure, m.skips = true, true // a high mark without its event
		w := m.recover("at first")
		for range 1 + a.IntN(3) {
			m.append(w, 1+a.IntN(8), true)
		}
		what := fmt.Sprintf("arrangement %d (%s)", i, strings.Join(a.text, ", "))
		m.checkJVM(what, m.start(what))
	}
}

// In a shared journal, the first recovery after an incomplete atomic write writes a seal, and reads
// the low mark once more than other recoveries. Later recoveries do not write.
func TestCostOfClosingAnIncompleteAtomicWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shared      bool
		first, then dynajournal.Cost
	}{
		"native": {false, dynajournal.Cost{Requests: 3, ReadUnits: 4}, dynajournal.Cost{Requests: 3, ReadUnits: 4}},
		"shared": {true, dynajournal.Cost{Requests: 5, ReadUnits: 41, WriteUnits: 2}, dynajournal.Cost{Requests: 3, ReadUnits: 31}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t, dynajournal.TableOptions{SharedWithJVM: c.shared})
			appendIncomplete(t, s.engine, s.journal, "a", 6, []int64{1, 2, 3})
			if got := recovered(t, s.journal, "a").RecoveryCost(); got != c.first {
				t.Errorf("the first recovery costs %+v, want %+v", got, c.first)
			}
			if got := recovered(t, s.journal, "a").RecoveryCost(); got != c.then {
				t.Errorf("the next recovery costs %+v, want %+v", got, c.then)
			}
		})
	}
}

// The last member of an atomic write arrives while a recovery is about to close its number. The
// atomic write is then complete, and the recovery returns it.
func TestMemberThatArrivesBeforeItsNumberIsClosed(t *testing.T) {
	t.Parallel()
	s := setup(t, dynajournal.TableOptions{SharedWithJVM: true})
	lost := appendIncomplete(t, s.engine, s.journal, "a", 4, []int64{1, 2, 3})
	arrive := sync.OnceFunc(func() { putAll(t, s.table, lost) })
	config := s.config
	config.AWS.HTTPClient = through(config.AWS.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
		if operation(r) == "PutItem" {
			arrive()
		}
		return send(r)
	})
	w, replayed := recoverAfter(t, openJournal(t, config), "a", 0)
	if replayed != 4 {
		t.Errorf("the recovery returned %d events, want 4", replayed)
	}
	wantNext(t, w, 5)
}

// appendIncomplete appends an atomic write, and removes all members except stored. It returns the
// removed items.
func appendIncomplete(
	t *testing.T, engine *embedded.Engine, j *dynajournal.Journal, pid string, members int, stored []int64,
) (lost []map[string]types.AttributeValue) {
	t.Helper()
	values := make([]any, members)
	for i := range values {
		values[i] = "lost"
	}
	result, err := recovered(t, j, pid).Append(t.Context(), values...)
	if err != nil {
		t.Fatal(err)
	}
	client := dynamodb.NewFromConfig(engine.AWSConfig())
	for seq := result.First; seq <= result.Last; seq++ {
		if slices.Contains(stored, seq) {
			continue
		}
		lost = append(lost, removeItem(t, client, fmt.Sprintf("journal-P-%s-%d", pid, seq/100), int(seq%100)))
	}
	return lost
}
