package simulate_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/dynajournal/dynajournal/internal/explore"
)

// snapshotOracle is the oracle of the snapshots of one persistence id: it knows the stored
// snapshots, and all that were ever saved. Of the split form it only knows whether the head is
// stored.
type snapshotOracle struct {
	pid string

	mu    sync.Mutex
	clock int
	// wholes and heads have the snapshots that are stored in each form.
	wholes, heads row
	// put has the times when the stored whole snapshots were last put.
	put map[int64]int
	// content has the states of the stored whole snapshots.
	content map[int64]string
	// states has the states of all saves, by number.
	states map[int64]map[string]bool
}

// row has the times since which snapshots exist, by number, and the times when others vanished.
type row struct{ since, gone map[int64]int }

func newRow() row { return row{map[int64]int{}, map[int64]int{}} }

// note records whether a snapshot exists at a number.
func (r row) note(number int64, there bool, now int) {
	switch {
	case !there:
		if r.since[number] > 0 {
			r.gone[number] = now
		}
		delete(r.since, number)
	case r.since[number] == 0:
		r.since[number] = now
	}
}

// existed reports whether a snapshot existed at a number at any time since a time.
func (r row) existed(number int64, since int) bool {
	return r.since[number] > 0 || r.gone[number] > since
}

// left returns the numbers up to most at which a snapshot has existed since before a time.
func (r row) left(most int64, before int) (left []string) {
	for n, since := range r.since {
		if n <= most && since <= before {
			left = append(left, fmt.Sprint(n))
		}
	}
	return left
}

func newShelf(entity int) *snapshotOracle {
	return &snapshotOracle{
		pid: pid(entity), wholes: newRow(), heads: newRow(), put: map[int64]int{}, content: map[int64]string{}, states: map[int64]map[string]bool{},
	}
}

// stateOf returns the state of an entity after the events that it knows.
func stateOf(knows []explore.Event) string {
	state, err := json.Marshal(knows)
	if err != nil {
		panic(err)
	}
	return string(state)
}

func eventsOf(state string) (knows []explore.Event, err error) {
	err = json.Unmarshal([]byte(state), &knows)
	return knows, err
}

// saving records a state that is about to be saved.
func (s *snapshotOracle) saving(number int64, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.states[number] == nil {
		s.states[number] = map[string]bool{}
	}
	s.states[number][state] = true
}

// observe records the item at a key.
func (s *snapshotOracle) observe(key, item json.RawMessage) error {
	var k struct {
		Par struct{ S string }
		Seq struct{ N string }
	}
	var i struct {
		PayData *struct{ B string } `json:"pay_data"`
	}
	if err := json.Unmarshal(key, &k); err != nil {
		return fmt.Errorf("read a key: %w", err)
	}
	if err := json.Unmarshal(item, &i); err != nil {
		return fmt.Errorf("read an item: %w", err)
	}
	// The key of a head is its number plus 10^19, which has 20 digits.
	digits, head := k.Seq.N, false
	if len(digits) == 20 {
		digits, head = strings.CutPrefix(digits, "1")
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || k.Par.S != "journal-P-"+s.pid {
		return nil // of another id, or a part
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	there := string(item) != "null"
	if head {
		s.heads.note(number, there, s.clock)
		return nil
	}
	s.wholes.note(number, there, s.clock)
	s.put[number], s.content[number] = s.clock, ""
	if there && i.PayData != nil {
		state, err := base64.StdEncoding.DecodeString(i.PayData.B)
		if err != nil || !s.states[number][string(state)] {
			return fmt.Errorf("at %d a snapshot is stored that was never saved: %q (%w)", number, state, err)
		}
		s.content[number] = string(state)
	}
	return nil
}

func (s *snapshotOracle) now() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock
}

// loaded checks the result of a load, begun at a time, of the snapshots up to a number.
func (s *snapshotOracle) loaded(start int, most, number int64, state string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number > 0 {
		if number > most || !s.states[number][state] {
			return fmt.Errorf("of the snapshots up to %d of %s one at %d was loaded that was never saved: %s",
				most, s.pid, number, state)
		}
		if !s.wholes.existed(number, start) && !s.heads.existed(number, start) {
			return fmt.Errorf("the snapshot of %s at %d was loaded, which was deleted before", s.pid, number)
		}
		if s.wholes.since[number] > 0 && s.put[number] <= start && s.content[number] != state {
			return fmt.Errorf("the snapshot of %s at %d was loaded that another has replaced", s.pid, number)
		}
	}
	for n, since := range s.wholes.since {
		if n > number && n <= most && since <= start {
			return fmt.Errorf("of the snapshots up to %d of %s that at %d was loaded, not that at %d",
				most, s.pid, number, n)
		}
	}
	return nil
}

// deleted checks a successful deletion, begun at a time, of the snapshots up to a number.
func (s *snapshotOracle) deleted(start int, most int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := append(s.wholes.left(most, start), s.heads.left(most, start)...); len(left) > 0 {
		return fmt.Errorf("the snapshots of %s up to %d were deleted, and left are %s",
			s.pid, most, strings.Join(left, ", "))
	}
	return nil
}
