package states_test

import "github.com/anishathalye/porcupine"

// kind is the kind of an operation.
type kind int

const (
	read kind = iota
	set
	purge
)

// input is an operation. value is the new value of the register, for set.
type input struct {
	kind  kind
	value string
}

// output is the state before the change of an operation, with the version after it. It is not known
// if the result of the operation was lost.
type output struct {
	known, versioned bool
	value            string
	count            int
	version          int64
}

// register is the state of the model: the value, how often it was set since the last purge, and the
// version.
type register struct {
	value   string
	count   int
	version int64
	stored  bool
}

var model = porcupine.Model{
	Init: func() any { return register{} },
	Step: func(state, in, out any) (bool, any) {
		s, i, o := state.(register), in.(input), out.(output)
		if o.known && (o.value != s.value || o.count != s.count) {
			return false, s
		}
		switch i.kind {
		case set:
			s = register{i.value, s.count + 1, s.version + 1, true}
		case purge:
			if s.stored {
				s = register{version: s.version + 1}
			}
		}
		return !o.versioned || o.version == s.version, s
	},
}
