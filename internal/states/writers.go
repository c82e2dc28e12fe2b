package states

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// Writer identifies a writer of states. A writer has at most one put of a state in flight.
type Writer [5]byte

// NewWriter returns a writer that no other process has, unless the processes are copies of one, as
// after a machine was restored from its memory image.
func NewWriter() Writer {
	var w Writer
	_, _ = rand.Read(w[:]) // it never fails
	return w
}

// PutID identifies a put of a state: its writer, and three bytes of a hash over the stored state
// and a random number. So the puts of processes that are copies of one process also differ.
type PutID [len(Writer{}) + 3]byte

func (id PutID) writer() Writer { return Writer(id[:]) }

// identify returns the id of a put of next by a writer, and the token of the parts of next. Both
// depend on the value, the ids, the version and the time of next.
func identify(w Writer, next *layout.State) (PutID, int64) {
	drawn := make([]byte, 8)
	_, _ = rand.Read(drawn) // it never fails
	hashed := sha256.New()
	for _, field := range [][]byte{drawn, next.IDs, []byte(next.Manifest), next.Bytes} {
		hashed.Write(binary.BigEndian.AppendUint64(nil, uint64(len(field))))
		hashed.Write(field)
	}
	for _, n := range []int64{next.Version, next.Time, int64(next.SerializerID)} {
		hashed.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
	}
	sum := hashed.Sum(nil)
	id := PutID(append(w[:], sum...))
	// There are tokens below and above it: see sweep.
	token := 1 + int64(binary.BigEndian.Uint64(sum[len(id):])%(layout.MaxSplitToken-1))
	return id, token
}

// mostWriters is the maximum number of writers that an item names.
const mostWriters = 16

// The attribute `writers` has the last puts of the last writers, the newest first: the id of the
// put, and as a varint the version that it has stored.

// entry is a put in an item.
type entry struct {
	put     PutID
	version int64
}

// add returns the writers after a put.
func add(writers []byte, put PutID, version int64) []byte {
	out := appendEntry(nil, entry{put, version})
	for n, rest := 1, writers; n < mostWriters; {
		var e entry
		var ok bool
		if e, rest, ok = next(rest); !ok {
			break
		}
		if e.put.writer() != put.writer() {
			out = appendEntry(out, e)
			n++
		}
	}
	return out
}

func appendEntry(b []byte, e entry) []byte {
	return binary.AppendUvarint(append(b, e.put[:]...), uint64(e.version))
}

// next returns the first entry, and the rest. It reports false at the end, or if the rest is cut.
func next(b []byte) (entry, []byte, bool) {
	if len(b) <= len(PutID{}) {
		return entry{}, nil, false
	}
	e := entry{put: PutID(b[:len(PutID{})])}
	version, n := binary.Uvarint(b[len(PutID{}):])
	if n <= 0 {
		return entry{}, nil, false
	}
	e.version = int64(version)
	return e, b[len(PutID{})+n:], true
}

// LastPut returns the last put that is part of a state, or the zero PutID.
func LastPut(s *layout.State) PutID {
	e, _, _ := next(s.Writers)
	return e.put
}

// Wrote reports whether a put that leads to a version is part of a state. s is nil if no state is
// stored. known is false if the state does not show it: too many writers have come since, or a copy
// of the process has put a later version.
func Wrote(s *layout.State, put PutID, version int64) (stored, known bool) {
	if s == nil {
		return false, true
	}
	n, oldest := 0, int64(0)
	for e, rest, ok := next(s.Writers); ok; e, rest, ok = next(rest) {
		if e.put.writer() == put.writer() {
			stored = e.put == put && e.version == version
			return stored, stored || e.version <= version
		}
		n, oldest = n+1, e.version
	}
	// The writers that are left out have put versions up to the version of the oldest writer in the
	// item.
	return false, n < mostWriters || oldest < version
}
