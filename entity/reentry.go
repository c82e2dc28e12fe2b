package entity

import (
	"reflect"
	"runtime"
)

// decider is a command that can be run.
type decider interface{ decide() }

// decideInTurn runs a command. Its frame on the stack shows that a command is being decided.
//
//go:noinline
func decideInTurn(d decider) { d.decide() }

// insideCommand reports whether the calling goroutine runs a command. It walks the stack, so it is
// only called where the caller would wait otherwise.
func insideCommand() bool {
	turn := reflect.ValueOf(decideInTurn).Pointer()
	var pcs [64]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		for _, pc := range pcs[:n] {
			if f := runtime.FuncForPC(pc - 1); f != nil && f.Entry() == turn {
				return true
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}
