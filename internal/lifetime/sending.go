package lifetime

import "sync/atomic"

// Sending is whether a write has been sent, or was taken back before: whichever comes first holds for good. The zero Sending is
// neither. It is safe for concurrent use.
type Sending struct{ state atomic.Int32 }

const (
	waiting int32 = iota
	sent
	takenBack
)

// Send says that a part of the write is going to be sent; false if the write was taken back.
func (s *Sending) Send() bool {
	return s.state.CompareAndSwap(waiting, sent) || s.state.Load() == sent
}

// TakeBack takes the write back; false if a part has been sent already.
func (s *Sending) TakeBack() bool { return s.state.CompareAndSwap(waiting, takenBack) }
