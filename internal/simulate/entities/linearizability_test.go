package entities_test

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// operation is an operation on an entity, whose events are known.
type operation = porcupine.Operation

// input is an operation: a view, a purge, or a command with the value that it sets in the register
// and the number that it adds to the counter.
type input struct {
	value  string
	add    int
	purges bool
}

// output is the state that an operation has seen before its own events. It is not known for a
// command that was not acknowledged.
type output struct {
	known    bool
	register string
	counter  int
}

// model is a register and a counter.
var model = porcupine.Model{
	Init: func() any { return point{} },
	Step: func(state, in, out any) (bool, any) {
		s, i, o := state.(point), in.(input), out.(output)
		if o.known && (o.register != s.register || o.counter != s.counter) {
			return false, s
		}
		if i.purges {
			return true, point{}
		}
		if i.value != "" {
			s.register = i.value
		}
		s.counter += i.add
		return true, s
	},
}

// readOperation returns the operation of a call that has shown a state.
func readOperation(c *call, p point) operation {
	return operation{Input: input{}, Output: output{true, p.register, p.counter}, Call: int64(c.start), Return: int64(c.ended)}
}

func cleared(start, ended int) operation {
	return operation{Input: input{purges: true}, Output: output{}, Call: int64(start), Return: int64(ended)}
}

// linearizable returns an error if the results are not possible with one operation after the other.
// A command that was not acknowledged counts if its events are stored. It then happened before the
// oracle saw them.
func (o *oracle) linearizable(l *log) error {
	operations := l.judged
	for number, events := range l.stored {
		c := o.g.calls[number]
		in, ended := input{}, events[len(events)-1].when
		for _, e := range events {
			in.add += e.Add
			if e.Value != "" {
				in.value = e.Value
			}
		}
		out := output{}
		if c.acknowledged {
			out, ended = output{true, c.before.register, c.before.counter}, c.ended
		}
		operations = append(operations, operation{Input: in, Call: int64(c.start), Output: out, Return: int64(ended)})
	}
	for i := range operations {
		operations[i].ClientId = i
	}
	o.g.sum.checked += len(operations)
	if !porcupine.CheckOperations(model, operations) {
		return fmt.Errorf("the results are not linearizable: %+v", operations)
	}
	return nil
}
