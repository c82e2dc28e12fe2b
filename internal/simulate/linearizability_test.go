package simulate_test

import (
	"fmt"
	"strings"
	"sync"

	"github.com/anishathalye/porcupine"

	"github.com/dynajournal/dynajournal/internal/explore"
)

// cells is the history of the single sequence numbers of one persistence id. Each number is a cell
// that gets one event, once, and can be emptied permanently. The results must be linearizable.
// Events of atomic writes are left out, because they become visible only together.
type cells struct {
	mu    sync.Mutex
	clock int
	cells map[int64][]porcupine.Operation
	// deletions has all deletions. A call in progress may report later that a cell was emptied.
	deletions []deletion
	// forgotten is when the numbers were last forgotten.
	forgotten int
	// members has the numbers that have had a member of an atomic write.
	members map[int64]bool
}

// deletion is a deletion of all numbers up to a number.
type deletion struct {
	start int
	to    int64
}

// member is the prefix of the text of every member of an atomic write.
const member = "member "

// input is an operation on a cell.
type input struct {
	what string
	text string
}

const (
	write  = "write"
	maybe  = "maybe write"
	read   = "read"
	remove = "delete"
)

func (n *cells) now() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clock++
	return n.clock
}

func (n *cells) add(start int, number int64, in input, out string, ended int) {
	if n.cells == nil {
		n.cells = map[int64][]porcupine.Operation{}
	}
	n.cells[number] = append(n.cells[number], porcupine.Operation{
		ClientId: len(n.cells[number]), Input: in, Call: int64(start), Output: out, Return: int64(ended),
	})
}

func (n *cells) wrote(start int, number int64, text string) {
	ended := n.now()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.add(start, number, input{write, text}, "", ended)
}

// never is a time after the end of the history.
const never = 1 << 60

func (n *cells) perhaps(start int, number int64, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.add(start, number, input{maybe, text}, "", never)
}

// deleted records a deletion, which may have failed.
func (n *cells) deleted(start int, to int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if start <= n.forgotten {
		return
	}
	n.deletions = append(n.deletions, deletion{start, to})
}

// forget restarts the history after an erasure: nothing is left of the numbers, and they can be
// used again.
func (n *cells) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cells, n.members, n.deletions = nil, nil, nil
	n.clock++
	n.forgotten = n.clock
}

func (n *cells) read(start int, from, to int64, got []explore.Event) {
	ended := n.now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if start <= n.forgotten {
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
			n.add(start, number, input{what: read}, given[number], ended)
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

// linearizable returns an error that names a number without a possible history.
func (n *cells) linearizable() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for number, operations := range n.cells {
		for _, d := range n.deletions {
			if number <= d.to {
				operations = append(operations, porcupine.Operation{
					ClientId: len(operations), Input: input{what: remove}, Call: int64(d.start), Output: "", Return: never,
				})
			}
		}
		if !n.members[number] && !porcupine.CheckOperations(cell, operations) {
			return fmt.Errorf("the history of number %d is not linearizable: %v", number, operations)
		}
	}
	return nil
}
