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

// shelf is what stands in the table of snapshots for one persistence id, and what was ever to stand there. It knows of the
// split form only that its head stands.
type shelf struct {
	pid string

	mu    sync.Mutex
	clock int
	// wholes and heads are what stands in each form.
	wholes, heads row
	// put is when the whole snapshots that stand were last put, content what they say.
	put     map[int64]int
	content map[int64]string
	// states are those that somebody wanted to save, by number.
	states map[int64]map[string]bool
}

// row is since when snapshots stand, by number, and when others vanished.
type row struct{ since, gone map[int64]int }

func newRow() row { return row{map[int64]int{}, map[int64]int{}} }

// note says that at a number something stands, or nothing.
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

// stood says whether something stood at a number at any time since.
func (r row) stood(number int64, since int) bool {
	return r.since[number] > 0 || r.gone[number] > since
}

// left are the numbers up to most where something has stood since before a time.
func (r row) left(most int64, before int) (left []string) {
	for n, since := range r.since {
		if n <= most && since <= before {
			left = append(left, fmt.Sprint(n))
		}
	}
	return left
}

func newShelf(entity int) *shelf {
	return &shelf{
		pid: pid(entity), wholes: newRow(), heads: newRow(), put: map[int64]int{}, content: map[int64]string{}, states: map[int64]map[string]bool{},
	}
}

// stateOf is the state of an entity that knows events.
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

// saving takes note of a state that is going to be saved.
func (s *shelf) saving(number int64, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.states[number] == nil {
		s.states[number] = map[string]bool{}
	}
	s.states[number][state] = true
}

// stands takes note of what stands at a key.
func (s *shelf) stands(key, item json.RawMessage) error {
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
	// A head stands at its number plus 10^19, which has 20 digits.
	digits, head := k.Seq.N, false
	if len(digits) == 20 {
		digits, head = strings.CutPrefix(digits, "1")
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || k.Par.S != "journal-P-"+s.pid {
		return nil // another's, or a part
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
			return fmt.Errorf("at %d stands a snapshot that nobody has saved: %q (%w)", number, state, err)
		}
		s.content[number] = string(state)
	}
	return nil
}

func (s *shelf) now() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock
}

// loaded judges what was loaded of the snapshots up to a number by somebody who began at a time.
func (s *shelf) loaded(began int, most, number int64, state string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number > 0 {
		if number > most || !s.states[number][state] {
			return fmt.Errorf("of the snapshots up to %d of %s one at %d was loaded that nobody has saved: %s", most, s.pid, number, state)
		}
		if !s.wholes.stood(number, began) && !s.heads.stood(number, began) {
			return fmt.Errorf("the snapshot of %s at %d was loaded, which was deleted before", s.pid, number)
		}
		if s.wholes.since[number] > 0 && s.put[number] <= began && s.content[number] != state {
			return fmt.Errorf("the snapshot of %s at %d was loaded that another has replaced", s.pid, number)
		}
	}
	for n, since := range s.wholes.since {
		if n > number && n <= most && since <= began {
			return fmt.Errorf("of the snapshots up to %d of %s that at %d was loaded, not that at %d", most, s.pid, number, n)
		}
	}
	return nil
}

// deleted judges a deletion of the snapshots up to a number that began at a time and succeeded.
func (s *shelf) deleted(began int, most int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := append(s.wholes.left(most, began), s.heads.left(most, began)...); len(left) > 0 {
		return fmt.Errorf("the snapshots of %s up to %d were deleted, and left are %s", s.pid, most, strings.Join(left, ", "))
	}
	return nil
}
