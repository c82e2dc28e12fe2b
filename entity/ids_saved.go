package entity

import (
	"bytes"
	"encoding/binary"
	"math"
	"time"
)

// savedIDs are the ids of commands of an entity, as a snapshot or a durable state has them, and the
// limits that they are kept by. A process with smaller limits keeps them by the larger ones.
//
// The stored form is the number of elements (uvarint), and for each id the hash, the version and
// the time (varints). The limits are the first element, in the form of an id: the hash is
// limitsMark, Last and Most (4 bytes each, big-endian), the version is 0, and the time is Period in
// microseconds. Earlier versions take it for the id of a command that was done long ago.
type savedIDs struct {
	done   []remembrance
	limits CommandIDs
}

// limitsMark begins the hash of the element that has the limits. The hash of an id begins with it
// with a probability of 2 to the power of -64.
const limitsMark = "\x00limits\x00"

// append appends the stored form, that without limits if there are no ids.
func (s savedIDs) append(b []byte) []byte {
	if len(s.done) == 0 {
		return binary.AppendUvarint(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(s.done)+1))
	b = append(b, limitsMark...)
	b = binary.BigEndian.AppendUint32(b, uint32(s.limits.Last))
	b = binary.BigEndian.AppendUint32(b, uint32(s.limits.Most))
	b = binary.AppendVarint(b, 0)
	b = binary.AppendVarint(b, int64(s.limits.Period/time.Microsecond))
	for _, done := range s.done {
		b = append(b, done.hash[:]...)
		b = binary.AppendVarint(b, done.version)
		b = binary.AppendVarint(b, done.time)
	}
	return b
}

// ids reads ids of commands.
func (r *envelopeReader) ids() savedIDs {
	n := r.uvarint()
	if n > uint64(len(r.rest))/18 { // the least bytes of one
		r.failed = true
	}
	if r.failed {
		return savedIDs{}
	}
	saved := savedIDs{done: make([]remembrance, n)}
	for i := range saved.done {
		copy(saved.done[i].hash[:], r.take(uint64(len(commandHash{}))))
		saved.done[i].version, saved.done[i].time = r.varint(), r.varint()
	}
	if n > 0 && bytes.HasPrefix(saved.done[0].hash[:], []byte(limitsMark)) {
		saved.limits = saved.done[0].limits()
		saved.done = saved.done[1:]
	}
	return saved
}

// limits returns the limits that an element has in the place of an id. None is larger than a
// program can choose.
func (r remembrance) limits() CommandIDs {
	numbers := r.hash[len(limitsMark):]
	const longest = math.MaxInt64 / int64(time.Microsecond)
	return CommandIDs{
		Last:   int(min(binary.BigEndian.Uint32(numbers), maxRemembered)),
		Most:   int(min(binary.BigEndian.Uint32(numbers[4:]), maxRemembered)),
		Period: time.Duration(min(max(r.time, 0), longest)) * time.Microsecond,
	}
}
