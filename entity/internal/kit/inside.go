package kit

import (
	"reflect"
	"runtime"
)

// Decider is a command that can be decided.
type Decider interface{ Decide() }

// Decide decides a command. Its frame on the stack shows that a command is being decided.
//
//go:noinline
func Decide(d Decider) { d.Decide() }

// Inside reports whether the calling goroutine decides a command. It walks the stack, so it is only
// called where the caller would wait otherwise.
func Inside() bool {
	turn := reflect.ValueOf(Decide).Pointer()
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
