package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/dynajournal/dynajournal/internal/history"
)

// Reader reads an archive. It keeps one block and one snapshot in memory, whatever sizes the file
// claims.
type Reader struct {
	in          io.Reader
	maxSnapshot int64
	version     uint16
	unpacker    *zstd.Decoder

	offset int64 // the start of the block that is being read
	end    int64 // the end of that block
	index  uint32
	flags  byte
	stored []byte
	buffer []byte
	raw    []byte // the rest of the block

	pid     string
	open    bool
	saved   bool // a snapshot was read: no record follows
	id      Totals
	totals  Totals
	partial *Snapshot // a snapshot whose chunks are being read
	size    int64     // the size of partial
	over    bool
}

// NewReader returns a reader of an archive, which the caller closes. A snapshot may have up to
// maxSnapshot bytes.
func NewReader(in io.Reader, maxSnapshot int64) (*Reader, error) {
	r := &Reader{in: in, maxSnapshot: maxSnapshot, end: headerSize}
	header := make([]byte, headerSize)
	n, err := io.ReadFull(in, header)
	switch {
	case string(header[:min(n, len(magic))]) != magic[:min(n, len(magic))] ||
		n == 0 && err != nil && errors.Is(err, io.EOF):
		return nil, r.fail(ErrNotArchive, "it does not begin with "+magic)
	case err != nil:
		return nil, r.short(err)
	case binary.LittleEndian.Uint32(header[12:]) != crc32.Checksum(header[:12], castagnoli):
		return nil, r.fail(ErrDamaged, "the checksum of the header is wrong")
	}
	if r.version = binary.LittleEndian.Uint16(header[8:]); r.version < 1 || r.version > version {
		return nil, r.fail(ErrVersion, fmt.Sprintf("it has version %d, this program knows 1 to %d", r.version, version))
	}
	r.unpacker, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxBlock))
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	return r, nil
}

// Close releases the memory of the reader.
func (r *Reader) Close() { r.unpacker.Close() }

// Totals returns the totals of the items read so far.
func (r *Reader) Totals() Totals { return r.totals }

// Next returns the next item. After the last item, if the totals are right, it returns io.EOF.
// Other errors are *Error, or errors of the file.
func (r *Reader) Next() (Item, error) {
	for {
		if len(r.raw) == 0 {
			if r.over {
				return Item{}, io.EOF
			}
			if err := r.block(); err != nil {
				return Item{}, err
			}
			continue
		}
		item, whole, err := r.entry()
		if err != nil || whole {
			return item, err
		}
	}
}

func (r *Reader) fail(kind error, detail string) error {
	return &Error{Offset: r.offset, PersistenceID: r.pid, Kind: kind, Detail: detail}
}

func (r *Reader) damaged(format string, args ...any) error {
	return r.fail(ErrDamaged, fmt.Sprintf(format, args...))
}

// short returns the error of a file that is too short.
func (r *Reader) short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.fail(ErrTruncated, "the file ends here")
	}
	return fmt.Errorf("read the archive: %w", err)
}

// block reads the next block, and the totals if it is the last.
func (r *Reader) block() error {
	r.offset = r.end
	var header [blockHeaderSize]byte
	if _, err := io.ReadFull(r.in, header[:]); err != nil {
		return r.short(err)
	}
	size, stored := binary.LittleEndian.Uint32(header[8:]), binary.LittleEndian.Uint32(header[12:])
	if size > maxBlock || stored > maxBlock+maxBlock/8 {
		return r.damaged("a block of %d bytes is too large", max(size, stored))
	}
	if cap(r.stored) < int(stored) {
		r.stored = make([]byte, stored)
	}
	r.stored = r.stored[:stored]
	if _, err := io.ReadFull(r.in, r.stored); err != nil {
		return r.short(err)
	}
	if binary.LittleEndian.Uint32(header[checksumAt:]) != blockSum(header[:], r.stored) {
		return r.damaged("the checksum is wrong")
	}
	if index := binary.LittleEndian.Uint32(header[4:]); index != r.index {
		return r.damaged("it is block %d, want %d", index, r.index)
	}
	var err error
	if r.buffer, err = r.unpacker.DecodeAll(r.stored, r.buffer[:0]); err != nil {
		return r.damaged("it can't be decompressed: %v", err)
	}
	if len(r.buffer) != int(size) {
		return r.damaged("it has %d bytes, not %d", len(r.buffer), size)
	}
	r.index++
	r.end += blockHeaderSize + int64(stored)
	r.flags = header[1]
	switch r.raw = r.buffer; header[0] {
	case entriesBlock:
		return nil
	case totalsBlock:
		return r.last()
	}
	return r.damaged("unknown kind of block %d", header[0])
}

// last reads the totals, and checks that nothing follows.
func (r *Reader) last() error {
	f := fields{b: r.raw}
	totals := Totals{f.number(), f.number(), f.number()}
	r.raw, r.over = nil, true
	switch {
	case f.bad || len(f.b) > 0:
		return r.damaged("the totals can't be read")
	case r.open:
		return r.damaged("%q has no end", r.pid)
	case totals != r.totals:
		return r.damaged("the totals are %+v, want %+v", totals, r.totals)
	}
	var more [1]byte
	if n, err := io.ReadFull(r.in, more[:]); n > 0 {
		r.offset = r.end
		return r.damaged("data follows the end")
	} else if !errors.Is(err, io.EOF) {
		return r.short(err)
	}
	return nil
}

// entry decodes an entry. It reports false if the entry completes no item.
func (r *Reader) entry() (Item, bool, error) {
	tag := r.raw[0]
	f := fields{b: r.raw[1:]}
	body := f.bytes(maxEntry)
	if f.bad {
		return Item{}, false, r.damaged("an entry is longer than its block")
	}
	r.raw = f.b
	f = fields{b: body}
	item, whole, err := Item{}, true, error(nil)
	switch {
	case r.partial != nil && tag != tagChunk, r.partial == nil && tag == tagChunk:
		return item, false, r.damaged("a snapshot lacks bytes")
	case r.open == (tag == tagStart):
		return item, false, r.damaged("an entry is out of place")
	case tag == tagStart:
		if len(body) == 0 || len(body) > maxIDBytes || !utf8.Valid(body) {
			return item, false, r.damaged("a persistence id is not valid")
		}
		r.pid, r.open, r.saved, r.id, f.b = string(body), true, false, Totals{}, nil
	case tag == tagSnapshot:
		whole, err = r.snapshot(&f, &item)
	case tag == tagChunk:
		whole, err = r.chunk(body, &item)
		f.b = nil
	case tag == tagEnd:
		item.End = true
		err = r.ended(Totals{0, f.number(), f.number()})
	case tag > tagLowMarkPurged || tag == tagEventWithMetadata && r.version < 2 ||
		tag == tagLowMarkBehind && r.version < 3 || tag == tagLowMarkPurged && r.version < 4 || r.saved:
		return item, false, r.damaged("an entry is out of place")
	default:
		item.Record = f.record(tag)
		if item.Record.Kind == history.Event {
			r.id.Events++
		}
	}
	if err == nil && (f.bad || len(f.b) > 0) {
		err = r.damaged("an entry of kind %d can't be read", tag)
	}
	if item.PersistenceID = r.pid; item.End {
		r.pid = ""
	}
	return item, whole, err
}

func (r *Reader) ended(said Totals) error {
	r.open = false
	if said != r.id {
		return r.damaged("its end counts %d events and %d snapshots, want %d and %d", said.Events, said.Snapshots,
			r.id.Events, r.id.Snapshots)
	}
	r.totals.PersistenceIDs++
	r.totals.Events += r.id.Events
	r.totals.Snapshots += r.id.Snapshots
	return nil
}

func (r *Reader) snapshot(f *fields, item *Item) (bool, error) {
	s := &Snapshot{SequenceNumber: f.number(), Timestamp: f.signed(), SerializerID: f.serializer(),
		SerializerManifest: f.text()}
	r.size = f.number()
	if r.size > r.maxSnapshot {
		return false, r.fail(ErrTooLarge, fmt.Sprintf("snapshot %d has %d, the limit is %d",
			s.SequenceNumber, r.size, r.maxSnapshot))
	}
	r.saved = true
	r.id.Snapshots++
	if r.size == 0 {
		item.Snapshot = s
		return true, nil
	}
	r.partial = s
	return false, nil
}

func (r *Reader) chunk(body []byte, item *Item) (bool, error) {
	s := r.partial
	if len(body) == 0 || int64(len(s.Bytes)+len(body)) > r.size {
		return false, r.damaged("snapshot %d has the wrong size", s.SequenceNumber)
	}
	if s.Bytes = append(s.Bytes, body...); int64(len(s.Bytes)) < r.size {
		return false, nil
	}
	item.Snapshot, r.partial = s, nil
	return true, nil
}

// fields decodes the fields of an entry. bad reports that a field can't be decoded.
type fields struct {
	b   []byte
	bad bool
}

// number decodes a number from 0 to the largest int64.
func (f *fields) number() int64 {
	n, size := binary.Uvarint(f.b)
	if size <= 0 || n > math.MaxInt64 {
		f.bad = true
		return 0
	}
	f.b = f.b[size:]
	return int64(n)
}

func (f *fields) signed() int64 {
	n, size := binary.Varint(f.b)
	if size <= 0 {
		f.bad = true
		return 0
	}
	f.b = f.b[size:]
	return n
}

func (f *fields) serializer() int32 {
	n := f.signed()
	f.bad = f.bad || n != int64(int32(n))
	return int32(n)
}

func (f *fields) bytes(most int) []byte {
	n := f.number()
	if f.bad || n > int64(most) || n > int64(len(f.b)) {
		f.bad = true
		return nil
	}
	taken := f.b[:n]
	f.b = f.b[n:]
	return taken
}

func (f *fields) text() string {
	b := f.bytes(maxEntry)
	f.bad = f.bad || !utf8.Valid(b)
	return string(b)
}

// metadata decodes the metadata of an event. An entry bounds its size.
func (f *fields) metadata(r *history.Record) {
	r.Time = f.number()
	for range f.number() {
		key, value := f.text(), f.text()
		if _, twice := r.Metadata[key]; twice || f.bad {
			f.bad = true
			return
		}
		if r.Metadata == nil {
			r.Metadata = map[string]string{}
		}
		r.Metadata[key] = value
	}
	for range f.number() {
		if tag := f.text(); !f.bad {
			r.Tags = append(r.Tags, tag)
			continue
		}
		return
	}
}

func (f *fields) record(tag byte) *history.Record {
	r := &history.Record{SequenceNumber: f.number()}
	switch tag {
	case tagLowMark, tagLowMarkBehind, tagLowMarkPurged:
		r.Kind = history.LowMark
		r.BatchFirst, r.BatchLast, r.WriterUUID = f.number(), f.number(), f.text()
		if tag != tagLowMark {
			r.Behind = f.number()
		}
		if tag == tagLowMarkPurged {
			r.Purged = f.number()
		}
	case tagEvent, tagEventWithMetadata:
		r.BatchFirst, r.BatchLast, r.WriterUUID = f.number(), f.number(), f.text()
		if r.Kind = history.Event; tag == tagEventWithMetadata {
			f.metadata(r)
		}
		r.Manifest, r.SerializerID, r.SerializerManifest = f.text(), f.serializer(), f.text()
		r.Bytes = append([]byte{}, f.b...)
		f.b = nil
	case tagClosed, tagDeleted:
		if r.Kind = history.Closed; tag == tagDeleted {
			r.Kind = history.Deleted
		}
		r.Last = f.number()
	default:
		f.bad = true
	}
	return r
}

// Beginning is the intact part of a truncated file: up to the last block that ends with a
// persistence id.
type Beginning struct {
	// Size is the length of the beginning in bytes.
	Size int64
	Totals

	blocks uint32
}

// Scan reads a truncated file, and calls known with the persistence ids that are intact. It returns
// the beginning after which Continue can append, when the file is truncated there. In an intact
// file the totals follow the beginning.
func Scan(in io.Reader, known func(pid string)) (Beginning, error) {
	r, err := NewReader(in, math.MaxInt64)
	if err != nil {
		return Beginning{}, err
	}
	defer r.Close()
	if r.version != version {
		detail := fmt.Sprintf("it has version %d, and this program writes version %d: remove it, and export again", r.version, version)
		return Beginning{}, r.fail(ErrVersion, detail)
	}
	complete := Beginning{Size: headerSize}
	var pending []string
	for {
		item, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return complete, nil
		case err != nil && !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrDamaged):
			return complete, err
		case err != nil:
			return complete, nil
		case item.End:
			pending = append(pending, item.PersistenceID)
		}
		if item.End && len(r.raw) == 0 && r.flags&boundary != 0 {
			for _, pid := range pending {
				known(pid)
			}
			pending = pending[:0]
			complete = Beginning{Size: r.end, Totals: r.totals, blocks: r.index}
		}
	}
}
