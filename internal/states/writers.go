package states

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// Writer identifies a writer of states. A writer has one put of a state under way.
type Writer [8]byte

// NewWriter returns a writer that no other process has.
func NewWriter() Writer {
	var w Writer
	_, _ = rand.Read(w[:]) // it never fails
	return w
}

// mostWriters is how many writers an item names.
const mostWriters = 16

// The attribute `writers` has the last writers, the newest first: eight bytes and, as a varint, the
// version of its last put.

// entry is a writer in an item.
type entry struct {
	writer  Writer
	version int64
}

// add returns the writers after a put.
func add(writers []byte, w Writer, version int64) []byte {
	out := appendEntry(nil, entry{w, version})
	for n, rest := 1, writers; n < mostWriters; {
		var e entry
		var ok bool
		if e, rest, ok = next(rest); !ok {
			break
		}
		if e.writer != w {
			out = appendEntry(out, e)
			n++
		}
	}
	return out
}

func appendEntry(b []byte, e entry) []byte {
	return binary.AppendUvarint(append(b, e.writer[:]...), uint64(e.version))
}

// next returns the first entry, and the rest. It reports false at the end, or if the rest is cut.
func next(b []byte) (entry, []byte, bool) {
	if len(b) <= len(Writer{}) {
		return entry{}, nil, false
	}
	e := entry{writer: Writer(b[:len(Writer{})])}
	version, n := binary.Uvarint(b[len(Writer{}):])
	if n <= 0 {
		return entry{}, nil, false
	}
	e.version = int64(version)
	return e, b[len(Writer{})+n:], true
}

// Wrote reports whether a put of a writer that leads to a version is part of a state, nil for none.
// known is false if the state does not show it: too many writers have come since.
func Wrote(s *layout.State, w Writer, version int64) (stored, known bool) {
	if s == nil {
		return false, true
	}
	n, oldest := 0, int64(0)
	for e, rest, ok := next(s.Writers); ok; e, rest, ok = next(rest) {
		if e.writer == w {
			return e.version >= version, true
		}
		n, oldest = n+1, e.version
	}
	// The writers that are left out have put versions up to that of the oldest one that is not.
	return false, n < mostWriters || oldest < version
}
