package lifetime

import (
	"errors"
	"sync/atomic"
)

// Sending is whether a write has been sent, or was taken back before: whichever comes first holds
// for good. The zero Sending is neither. It is safe for concurrent use.
type Sending struct{ state atomic.Int32 }

const (
	waiting int32 = iota
	sent
	takenBack
)

// ErrTakenBack is the error of a part of a write that was taken back before any part of it was
// sent.
var ErrTakenBack = errors.New("the write was taken back")

// Send notes that a part of the write is going to be sent; ErrTakenBack if the write was taken
// back.
func (s *Sending) Send() error {
	if s.state.CompareAndSwap(waiting, sent) || s.state.Load() == sent {
		return nil
	}
	return ErrTakenBack
}

// TakeBack takes the write back; false if a part has been sent already.
func (s *Sending) TakeBack() bool { return s.state.CompareAndSwap(waiting, takenBack) }
