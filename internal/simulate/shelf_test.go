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
	// since is when the snapshots that stand came to stand, gone when others vanished.
	since, gone map[int64]int
	// heads are the split ones that stood at any time.
	heads map[int64]bool
	// states are those that somebody wanted to save, by number.
	states map[int64]map[string]bool
}

func newShelf(entity int) *shelf {
	return &shelf{
		pid: pid(entity), since: map[int64]int{}, gone: map[int64]int{}, heads: map[int64]bool{}, states: map[int64]map[string]bool{},
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
	number, err := strconv.ParseInt(k.Seq.N, 10, 64)
	if err != nil || k.Par.S != "journal-P-"+s.pid {
		return nil // another's, or a part
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	there := string(item) != "null"
	switch {
	case number < 0:
		s.heads[-number] = s.heads[-number] || there
	case !there:
		if s.since[number] > 0 {
			s.gone[number] = s.clock
		}
		delete(s.since, number)
	case s.since[number] == 0:
		s.since[number] = s.clock
	}
	if there && number > 0 && i.PayData != nil {
		state, err := base64.StdEncoding.DecodeString(i.PayData.B)
		if err != nil || !s.states[number][string(state)] {
			return fmt.Errorf("at %d stands a snapshot that nobody has saved: %q (%w)", number, state, err)
		}
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
		if s.since[number] == 0 && s.gone[number] <= began && !s.heads[number] {
			return fmt.Errorf("the snapshot of %s at %d was loaded, which was deleted before", s.pid, number)
		}
	}
	for n, since := range s.since {
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
	var left []string
	for n, since := range s.since {
		if n <= most && since <= began {
			left = append(left, fmt.Sprint(n))
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("the snapshots of %s up to %d were deleted, and left are %s", s.pid, most, strings.Join(left, ", "))
	}
	return nil
}
