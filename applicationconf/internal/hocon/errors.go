package hocon

import "fmt"

// Error is the error for text that can't be parsed.
type Error struct {
	At Position
	// Err is the reason. It is another *Error if the problem is in an included file.
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("%v: %v", e.At, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
