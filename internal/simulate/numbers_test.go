package simulate_test

import (
	"fmt"
	"strings"
	"sync"

	"github.com/anishathalye/porcupine"

	"github.com/dynajournal/dynajournal/internal/explore"
)

// numbers is the history of the single sequence numbers of one persistence id: each is a cell that takes one event, once, and
// can be emptied for good. What was said of it must be linearizable. Events of atomic writes are left out, as they are
// visible only together.
type numbers struct {
	mu    sync.Mutex
	clock int
	cells map[int64][]porcupine.Operation
	// deletions are all that there were: what they have emptied may be told of only later, by a call that goes on.
	deletions []deletion
	// forgotten is when the numbers were forgotten last.
	forgotten int
	// members are the numbers that were seen to hold a member of an atomic write.
	members map[int64]bool
}

// deletion is one of all numbers up to one.
type deletion struct {
	began int
	to    int64
}

// member begins the text of every member of an atomic write.
const member = "member "

// input is what is done with a cell.
type input struct {
	what string
	text string
}

const (
	write  = "write"
	maybe  = "maybe write"
	look   = "read"
	remove = "delete"
)

func (n *numbers) now() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clock++
	return n.clock
}

func (n *numbers) add(began int, number int64, in input, out string, ended int) {
	if n.cells == nil {
		n.cells = map[int64][]porcupine.Operation{}
	}
	n.cells[number] = append(n.cells[number], porcupine.Operation{
		ClientId: len(n.cells[number]), Input: in, Call: int64(began), Output: out, Return: int64(ended),
	})
}

func (n *numbers) wrote(began int, number int64, text string) {
	ended := n.now()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.add(began, number, input{write, text}, "", ended)
}

// never is after the end of everything.
const never = 1 << 60

func (n *numbers) perhaps(began int, number int64, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.add(began, number, input{maybe, text}, "", never)
}

// deleted takes note of a deletion, that may have gone wrong.
func (n *numbers) deleted(began int, to int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if began <= n.forgotten {
		return
	}
	n.deletions = append(n.deletions, deletion{began, to})
}

// forget begins anew: nothing tells of the numbers any more, they can be used again.
func (n *numbers) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cells, n.members, n.deletions = nil, nil, nil
	n.clock++
	n.forgotten = n.clock
}

func (n *numbers) read(began int, from, to int64, got []explore.Event) {
	ended := n.now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if began <= n.forgotten {
		return
	}
	given := map[int64]string{}
	if n.members == nil {
		n.members = map[int64]bool{}
	}
	for _, e := range got {
		given[e.Number] = e.Text
		if strings.HasPrefix(e.Text, member) {
			n.members[e.Number] = true
		}
	}
	for number := range n.cells {
		if number >= from && number <= to {
			n.add(began, number, input{what: look}, given[number], ended)
		}
	}
}

// cell is one number: empty, with the text of its event, or gone.
var cell = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, in, out any) (bool, any) {
		s, i, o := state.(string), in.(input), out.(string)
		switch i.what {
		case write:
			return s == "", i.text
		case maybe:
			if s == "" {
				return true, i.text
			}
			return true, s
		case remove:
			return true, gone
		default:
			return o == s || o == "" && s == gone, s
		}
	},
}

const gone = "\x00gone"

// linearizable says which number has no possible history.
func (n *numbers) linearizable() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for number, operations := range n.cells {
		for _, d := range n.deletions {
			if number <= d.to {
				operations = append(operations, porcupine.Operation{
					ClientId: len(operations), Input: input{what: remove}, Call: int64(d.began), Output: "", Return: never,
				})
			}
		}
		if !n.members[number] && !porcupine.CheckOperations(cell, operations) {
			return fmt.Errorf("the history of number %d is not linearizable: %v", number, operations)
		}
	}
	return nil
}
