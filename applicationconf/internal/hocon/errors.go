package hocon

import "fmt"

// Error is the error of a text that can't be parsed.
type Error struct {
	At Position
	// Err is another *Error if the text includes what can't be parsed.
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("%v: %v", e.At, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
