package lifetime

import (
	"errors"
	"sync/atomic"
)

// Sending records whether a write was sent or taken back, whichever happens first. The zero Sending
// is neither sent nor taken back. It is safe for concurrent use.
type Sending struct{ state atomic.Int32 }

const (
	waiting int32 = iota
	sent
	takenBack
)

// ErrTakenBack is the error of a write that was taken back before any part of it was sent.
var ErrTakenBack = errors.New("the write was taken back")

// Send records that a part of the write is about to be sent. It returns ErrTakenBack if the write
// was taken back.
func (s *Sending) Send() error {
	if s.state.CompareAndSwap(waiting, sent) || s.state.Load() == sent {
		return nil
	}
	return ErrTakenBack
}

// TakeBack takes the write back. It reports false if a part has been sent already.
func (s *Sending) TakeBack() bool { return s.state.CompareAndSwap(waiting, takenBack) }
