package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"math/bits"
	"slices"

	"github.com/dynajournal/dynajournal/internal/history"
)

// Checksum identifies the content of persistence ids, wherever it is stored. The checksum of
// several ids is the sum of their checksums, so their order does not matter.
type Checksum [sha256.Size]byte

// String returns the checksum in hexadecimal digits.
func (c Checksum) String() string { return hex.EncodeToString(c[:]) }

// Add adds the checksum of another persistence id, modulo 2^256.
func (c *Checksum) Add(other Checksum) {
	const word = 8
	var sum, carry uint64
	for at := len(c) - word; at >= 0; at -= word {
		sum, carry = bits.Add64(binary.BigEndian.Uint64(c[at:]), binary.BigEndian.Uint64(other[at:]), carry)
		binary.BigEndian.PutUint64(c[at:], sum)
	}
}

// Digest computes the Checksum of one persistence id from its history. It covers everything that a
// reader of the journal can see: the low mark, the events with all their attributes, the numbers
// without an event, and the snapshots. It does not depend on how the numbers without an event are
// divided into spans, nor on deleted numbers that stay taken for a while.
//
// It encodes the fields in its own way, so that a field that the archive format loses changes the
// checksum.
type Digest struct {
	hash   hash.Hash
	buffer []byte
	// final is the last low mark of the history, or 0 if the history has at most one.
	final int64
	// lastLow is the last low mark that was added. moved reports that something was added before
	// it.
	lastLow int64
	started bool
	moved   bool
	closed  history.Record // not hashed yet, because more may follow; Kind 0 means none
	// events and snapshots are the numbers of events and snapshots in the checksum.
	events, snapshots int64
}

// NewDigest starts the checksum of a persistence id. finalLow is 0, or the last low mark of the
// history. If it is not 0, nothing below it counts.
func NewDigest(pid string, finalLow int64) *Digest {
	d := &Digest{hash: sha256.New(), final: finalLow}
	d.start(0)
	d.text(pid)
	if finalLow > 0 {
		d.lowMark(finalLow)
	}
	d.write()
	return d
}

func (d *Digest) lowMark(seq int64) {
	d.start(byte(history.LowMark))
	d.number(seq)
}

// Record adds the next record of the history.
func (d *Digest) Record(r *history.Record) {
	if r.Kind == history.LowMark {
		d.moved = d.moved || d.started && d.lastLow != r.SequenceNumber
		d.lastLow = r.SequenceNumber
	}
	d.started = true
	if r.Kind == history.Closed {
		d.takeClosed(*r)
		return
	}
	if r.Kind == history.Deleted {
		return
	}
	if d.final > 0 && (r.Kind == history.LowMark || r.SequenceNumber < d.final) {
		return
	}
	d.endClosed()
	if r.Kind == history.LowMark {
		d.lowMark(r.SequenceNumber)
		d.write()
		return
	}
	d.events++
	d.start(byte(history.Event))
	for _, n := range []int64{r.SequenceNumber, r.BatchFirst, r.BatchLast, int64(r.SerializerID)} {
		d.number(n)
	}
	for _, s := range []string{r.WriterUUID, r.Manifest, r.SerializerManifest} {
		d.text(s)
	}
	d.bytes(r.Bytes)
	d.metadata(r)
}

// metadata adds the metadata of an event. An event without metadata has the same checksum as before
// events had metadata.
func (d *Digest) metadata(r *history.Record) {
	if !r.HasMetadata() {
		return
	}
	d.start(tagEventWithMetadata)
	d.number(r.Time)
	d.number(int64(len(r.Metadata)))
	for _, key := range slices.Sorted(maps.Keys(r.Metadata)) {
		d.text(key)
		d.text(r.Metadata[key])
	}
	for _, tag := range r.Tags {
		d.text(tag)
	}
	d.write()
}

// Snapshot adds the next snapshot, after all records.
func (d *Digest) Snapshot(s *Snapshot) {
	d.endClosed()
	d.snapshots++
	d.start(tagSnapshot)
	for _, n := range []int64{s.SequenceNumber, s.Timestamp, int64(s.SerializerID)} {
		d.number(n)
	}
	d.text(s.SerializerManifest)
	d.bytes(s.Bytes)
}

// Sum completes the checksum, and returns it.
func (d *Digest) Sum() Checksum {
	d.endClosed()
	return Checksum(d.hash.Sum(nil))
}

// Events returns the number of events in the checksum.
func (d *Digest) Events() int64 { return d.events }

// Snapshots returns the number of snapshots in the checksum.
func (d *Digest) Snapshots() int64 { return d.snapshots }

// takeClosed joins numbers without an event with adjacent ones.
func (d *Digest) takeClosed(r history.Record) {
	if r.SequenceNumber = max(r.SequenceNumber, d.final); r.SequenceNumber > r.Last {
		return
	}
	if d.closed.Kind == history.Closed && d.closed.Last+1 == r.SequenceNumber {
		d.closed.Last = r.Last
		return
	}
	d.endClosed()
	d.closed = r
}

func (d *Digest) endClosed() {
	if d.closed.Kind != history.Closed {
		return
	}
	d.start(byte(history.Closed))
	d.number(d.closed.SequenceNumber)
	d.number(d.closed.Last)
	d.write()
	d.closed = history.Record{}
}

// start starts the fields of a part, write hashes them.
func (d *Digest) start(kind byte) { d.buffer = append(d.buffer, kind) }

func (d *Digest) number(n int64) { d.buffer = binary.BigEndian.AppendUint64(d.buffer, uint64(n)) }

func (d *Digest) text(s string) {
	d.number(int64(len(s)))
	d.buffer = append(d.buffer, s...)
}

// bytes completes the fields of a part with content that need not be copied.
func (d *Digest) bytes(b []byte) {
	d.number(int64(len(b)))
	d.write()
	_, _ = d.hash.Write(b) // a hash returns no error
}

func (d *Digest) write() {
	_, _ = d.hash.Write(d.buffer) // a hash returns no error
	d.buffer = d.buffer[:0]
}
