package states_test

import "github.com/anishathalye/porcupine"

// kind is what an operation does.
type kind int

const (
	look kind = iota
	set
	purge
)

// input is an operation. value is what set gives the register.
type input struct {
	kind  kind
	value string
}

// output is what an operation has seen: before its own change, but for the version, which is that
// after it. It is not known of an operation whose result was lost.
type output struct {
	known, versioned bool
	value            string
	count            int
	version          int64
}

// register is the state of the model: a register, how often it was set since the last purge, and
// the version.
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
