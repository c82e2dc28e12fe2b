package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math/bits"

	"github.com/dynajournal/dynajournal/internal/history"
)

// Checksum identifies what persistence ids hold, wherever it is stored. That of several ids is the
// sum of theirs, so their order does not count.
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

// Digest computes the Checksum of one persistence id while its history is read. It covers what a
// reader of the journal can see: the number of the low mark, the events with all that is stored of
// them, the numbers that hold nothing, and the snapshots. In how many spans the latter numbers are
// told does not count, nor do deleted numbers that are kept taken for a while.
//
// It encodes the fields in a way of its own, so that a field which the format of the archive loses
// shows as another checksum.
type Digest struct {
	hash   hash.Hash
	buffer []byte
	// final is the low mark that the history ends with, 0 where it is told once at most.
	final int64
	// told is the last low mark that was told, moved reports that something else was told before
	// it.
	told   int64
	begun  bool
	moved  bool
	closed history.Record // not hashed yet, as more may follow it; of kind 0 there is none
	// events and snapshots are how many are in the checksum.
	events, snapshots int64
}

// NewDigest begins the checksum of a persistence id. finalLow is 0, or the low mark that is told
// last: then only what is not below it counts.
func NewDigest(pid string, finalLow int64) *Digest {
	d := &Digest{hash: sha256.New(), final: finalLow}
	d.begin(0)
	d.text(pid)
	if finalLow > 0 {
		d.lowMark(finalLow)
	}
	d.write()
	return d
}

func (d *Digest) lowMark(seq int64) {
	d.begin(byte(history.LowMark))
	d.number(seq)
}

// Record takes the next record of the history.
func (d *Digest) Record(r *history.Record) {
	if r.Kind == history.LowMark {
		d.moved = d.moved || d.begun && d.told != r.SequenceNumber
		d.told = r.SequenceNumber
	}
	d.begun = true
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
	d.begin(byte(history.Event))
	for _, n := range []int64{r.SequenceNumber, r.BatchFirst, r.BatchLast, int64(r.SerializerID)} {
		d.number(n)
	}
	for _, s := range []string{r.WriterUUID, r.Manifest, r.SerializerManifest} {
		d.text(s)
	}
	d.bytes(r.Bytes)
}

// Snapshot takes the next snapshot, after all records.
func (d *Digest) Snapshot(s *Snapshot) {
	d.endClosed()
	d.snapshots++
	d.begin(tagSnapshot)
	for _, n := range []int64{s.SequenceNumber, s.Timestamp, int64(s.SerializerID)} {
		d.number(n)
	}
	d.text(s.SerializerManifest)
	d.bytes(s.Bytes)
}

// Sum ends the checksum, and returns it.
func (d *Digest) Sum() Checksum {
	d.endClosed()
	return Checksum(d.hash.Sum(nil))
}

// Events returns how many events are in the checksum.
func (d *Digest) Events() int64 { return d.events }

// Snapshots returns how many snapshots are in the checksum.
func (d *Digest) Snapshots() int64 { return d.snapshots }

// takeClosed joins numbers that hold nothing with those before them.
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
	d.begin(byte(history.Closed))
	d.number(d.closed.SequenceNumber)
	d.number(d.closed.Last)
	d.write()
	d.closed = history.Record{}
}

// begin begins the fields of a part, write hashes them.
func (d *Digest) begin(kind byte) { d.buffer = append(d.buffer, kind) }

func (d *Digest) number(n int64) { d.buffer = binary.BigEndian.AppendUint64(d.buffer, uint64(n)) }

func (d *Digest) text(s string) {
	d.number(int64(len(s)))
	d.buffer = append(d.buffer, s...)
}

// bytes ends the fields of a part with content that need not be copied.
func (d *Digest) bytes(b []byte) {
	d.number(int64(len(b)))
	d.write()
	_, _ = d.hash.Write(b) // a hash returns no error
}

func (d *Digest) write() {
	_, _ = d.hash.Write(d.buffer) // a hash returns no error
	d.buffer = d.buffer[:0]
}
