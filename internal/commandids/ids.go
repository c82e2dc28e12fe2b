// Package commandids encodes the command ids that an entity remembers: alone, as in a durable
// state, and together with a state, as in a snapshot of an entity.
package commandids

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/dynajournal/dynajournal/serialization"
)

// Most is the largest number of ids that an entity can remember.
const Most = 1_000_000

// Hash identifies the id of a command. Two ids have the same hash with a probability of 2 to the
// power of -128.
type Hash [16]byte

// HashOf returns the hash of an id.
func HashOf(id string) Hash {
	sum := sha256.Sum256([]byte(id))
	return Hash(sum[:16])
}

// Done is a completed command.
type Done struct {
	Hash Hash
	// Version is the version of the entity after the command.
	Version int64
	// Time is the time of its first event, in microseconds since 1970.
	Time int64
}

// Limits has the same fields as entity.CommandIDs.
type Limits struct {
	Last   int
	Period time.Duration
	Most   int
}

// Saved contains the command ids of an entity, and the limits by which they are retained. A process
// with smaller limits retains them by the larger limits.
//
// The stored form is the number of elements (uvarint), and for each id the hash, the version and
// the time (varints). The first element stores the limits in the form of an id: the hash is
// limitsMark, Last and Most (4 bytes each, big-endian), the version is 0, and the time is Period in
// microseconds. Earlier versions read it as the id of a command that was done long ago.
type Saved struct {
	Done   []Done
	Limits Limits
}

// limitsMark is the beginning of the hash of the element with the limits. The hash of an id begins
// with it with a probability of 2 to the power of -64.
const limitsMark = "\x00limits\x00"

// leastBytes is the size of the smallest stored element.
const leastBytes = uint64(len(Hash{}) + 2)

// ErrDamaged reports that stored bytes were not written by Append or Seal.
var ErrDamaged = errors.New("the stored command ids are damaged")

// Append appends the stored form to b. Without ids it stores no limits.
func (s *Saved) Append(b []byte) []byte {
	if len(s.Done) == 0 {
		return binary.AppendUvarint(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Done)+1))
	b = append(b, limitsMark...)
	b = binary.BigEndian.AppendUint32(b, uint32(s.Limits.Last))
	b = binary.BigEndian.AppendUint32(b, uint32(s.Limits.Most))
	b = binary.AppendVarint(b, 0)
	b = binary.AppendVarint(b, int64(s.Limits.Period/time.Microsecond))
	for _, done := range s.Done {
		b = append(b, done.Hash[:]...)
		b = binary.AppendVarint(b, done.Version)
		b = binary.AppendVarint(b, done.Time)
	}
	return b
}

// Decode reads the stored form. Empty bytes contain no ids.
func Decode(b []byte) (Saved, error) {
	if len(b) == 0 {
		return Saved{}, nil
	}
	r := &reader{rest: b}
	saved := r.saved()
	if r.failed || len(r.rest) > 0 {
		return Saved{}, ErrDamaged
	}
	return saved, nil
}

// saved reads command ids and their limits.
func (r *reader) saved() Saved {
	n := r.uvarint()
	if n > uint64(len(r.rest))/leastBytes {
		r.failed = true
	}
	if r.failed {
		return Saved{}
	}
	saved := Saved{Done: make([]Done, n)}
	for i := range saved.Done {
		copy(saved.Done[i].Hash[:], r.take(uint64(len(Hash{}))))
		saved.Done[i].Version, saved.Done[i].Time = r.varint(), r.varint()
	}
	if n > 0 && bytes.HasPrefix(saved.Done[0].Hash[:], []byte(limitsMark)) {
		saved.Limits = saved.Done[0].limits()
		saved.Done = saved.Done[1:]
	}
	return saved
}

// limits returns the limits in an element that stores them in place of an id. It bounds them by the
// limits that a program can choose.
func (d *Done) limits() Limits {
	numbers := d.Hash[len(limitsMark):]
	const longest = math.MaxInt64 / int64(time.Microsecond)
	return Limits{
		Last:   int(min(binary.BigEndian.Uint32(numbers), Most)),
		Most:   int(min(binary.BigEndian.Uint32(numbers[4:]), Most)),
		Period: time.Duration(min(max(d.Time, 0), longest)) * time.Microsecond,
	}
}

// The serializer and the manifest of a snapshot with command ids, whose bytes contain the ids and
// the state as it would be stored without them. A snapshot without ids is stored as the state
// alone, which a JVM can read.
const (
	envelopeSerializer int32 = 1_684_668_417
	envelopeManifest         = "dynajournal.entity/1"
)

// Seal returns the stored form of a snapshot with a state and command ids.
func Seal(state serialization.Payload, ids *Saved) serialization.Payload {
	b := make([]byte, 0, len(state.Bytes)+len(state.Manifest)+(1+len(ids.Done))*(len(Hash{})+2*binary.MaxVarintLen64))
	b = binary.AppendVarint(b, int64(state.SerializerID))
	b = appendBytes(b, []byte(state.Manifest))
	b = appendBytes(b, state.Bytes)
	b = ids.Append(b)
	return serialization.Payload{SerializerID: envelopeSerializer, Manifest: envelopeManifest, Bytes: b}
}

// IsSealed reports whether a snapshot is stored with command ids.
func IsSealed(p serialization.Payload) bool {
	return p.SerializerID == envelopeSerializer && p.Manifest == envelopeManifest
}

// Open returns the state and the command ids of a snapshot. A snapshot that is not sealed is
// returned unchanged, without ids.
func Open(p serialization.Payload) (serialization.Payload, Saved, error) {
	if !IsSealed(p) {
		return p, Saved{}, nil
	}
	r := &reader{rest: p.Bytes}
	id := r.varint()
	state := serialization.Payload{Manifest: string(r.bytes()), Bytes: r.bytes()}
	ids := r.saved()
	if r.failed || id != int64(int32(id)) || len(r.rest) > 0 {
		return p, Saved{}, ErrDamaged
	}
	state.SerializerID = int32(id)
	return state, ids, nil
}

func appendBytes(b, more []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(more))), more...)
}
