package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/dynajournal/dynajournal/internal/history"
)

// Writer writes an archive. It keeps one block in memory.
type Writer struct {
	out    io.Writer
	packer *zstd.Encoder
	index  uint32
	raw    []byte
	entry  []byte
	packed []byte
	totals Totals
	id     Totals // of the persistence id that is open
	open   bool
}

// NewWriter starts an archive.
func NewWriter(out io.Writer) (*Writer, error) {
	header := append([]byte(magic), version, 0, 0, 0)
	header = binary.LittleEndian.AppendUint32(header, crc32.Checksum(header, castagnoli))
	if _, err := out.Write(header); err != nil {
		return nil, fmt.Errorf("write the archive: %w", err)
	}
	return newWriter(out, 0, Totals{})
}

// Continue continues an archive after the beginning that Scan has returned. out is positioned at
// the end of the beginning.
func Continue(out io.Writer, from Beginning) (*Writer, error) {
	return newWriter(out, from.blocks, from.Totals)
}

func newWriter(out io.Writer, index uint32, totals Totals) (*Writer, error) {
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(blockSize),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("write the archive: %w", err)
	}
	return &Writer{out: out, packer: packer, index: index, totals: totals}, nil
}

// errOrder reports that the methods of a Writer were called in a wrong order.
var errOrder = errors.New("wrong order: Begin, then Record, then Snapshot, then End for each persistence id")

// Start starts a persistence id.
func (w *Writer) Start(pid string) error {
	if w.open {
		return errOrder
	}
	w.open, w.id = true, Totals{}
	w.entry = append(w.entry[:0], pid...)
	return w.add(tagStart)
}

// Record writes the next record of the history.
func (w *Writer) Record(r *history.Record) error {
	if !w.open {
		return errOrder
	}
	b := binary.AppendUvarint(w.entry[:0], uint64(r.SequenceNumber))
	tag := byte(tagEvent)
	switch r.Kind {
	case history.LowMark:
		tag = tagLowMark
		b = appendText(appendBatch(b, r), r.WriterUUID)
		if r.Behind > 0 || r.Purged > 0 {
			tag, b = tagLowMarkBehind, binary.AppendUvarint(b, uint64(r.Behind))
		}
		if r.Purged > 0 {
			tag, b = tagLowMarkPurged, binary.AppendUvarint(b, uint64(r.Purged))
		}
	case history.Event:
		b = appendText(appendBatch(b, r), r.WriterUUID)
		if r.HasMetadata() {
			tag, b = tagEventWithMetadata, appendMetadata(b, r)
		}
		b = appendText(b, r.Manifest)
		b = binary.AppendVarint(b, int64(r.SerializerID))
		b = appendText(b, r.SerializerManifest)
		b = append(b, r.Bytes...)
		w.id.Events++
	case history.Closed, history.Deleted:
		if tag = tagClosed; r.Kind == history.Deleted {
			tag = tagDeleted
		}
		b = binary.AppendUvarint(b, uint64(r.Last))
	default:
		return errOrder
	}
	w.entry = b
	return w.add(tag)
}

// Snapshot writes a snapshot, after all records.
func (w *Writer) Snapshot(s *Snapshot) error {
	if !w.open {
		return errOrder
	}
	b := binary.AppendUvarint(w.entry[:0], uint64(s.SequenceNumber))
	b = binary.AppendVarint(b, s.Timestamp)
	b = binary.AppendVarint(b, int64(s.SerializerID))
	b = appendText(b, s.SerializerManifest)
	w.entry = binary.AppendUvarint(b, uint64(len(s.Bytes)))
	if err := w.add(tagSnapshot); err != nil {
		return err
	}
	for rest := s.Bytes; len(rest) > 0; {
		n := min(len(rest), chunkSize)
		w.entry = append(w.entry[:0], rest[:n]...)
		if err := w.add(tagChunk); err != nil {
			return err
		}
		rest = rest[n:]
	}
	w.id.Snapshots++
	return nil
}

// End ends the persistence id.
func (w *Writer) End() error {
	if !w.open {
		return errOrder
	}
	b := binary.AppendUvarint(w.entry[:0], uint64(w.id.Events))
	w.entry = binary.AppendUvarint(b, uint64(w.id.Snapshots))
	w.open = false
	w.totals.PersistenceIDs++
	w.totals.Events += w.id.Events
	w.totals.Snapshots += w.id.Snapshots
	return w.add(tagEnd)
}

// Close writes the last block and the totals, which complete an archive. It does not close the
// file.
func (w *Writer) Close() (Totals, error) {
	if w.open {
		return w.totals, errOrder
	}
	if err := w.flush(); err != nil {
		return w.totals, err
	}
	b := binary.AppendUvarint(nil, uint64(w.totals.PersistenceIDs))
	b = binary.AppendUvarint(b, uint64(w.totals.Events))
	w.raw = binary.AppendUvarint(b, uint64(w.totals.Snapshots))
	err := w.block(totalsBlock)
	return w.totals, errors.Join(err, w.packer.Close())
}

// add adds an entry to the block, and writes the block if it is full.
func (w *Writer) add(tag byte) error {
	if len(w.entry) > maxEntry {
		return fmt.Errorf("write the archive: an entry of %d bytes: the limit is %d", len(w.entry), maxEntry)
	}
	w.raw = append(w.raw, tag)
	w.raw = binary.AppendUvarint(w.raw, uint64(len(w.entry)))
	if w.raw = append(w.raw, w.entry...); len(w.raw) >= blockSize {
		return w.flush()
	}
	return nil
}

func (w *Writer) flush() error {
	if len(w.raw) == 0 {
		return nil
	}
	return w.block(entriesBlock)
}

func (w *Writer) block(kind byte) error {
	flags := byte(0)
	if !w.open {
		flags = boundary
	}
	w.packed = append(w.packed[:0], make([]byte, blockHeaderSize)...)
	w.packed = w.packer.EncodeAll(w.raw, w.packed)
	header, stored := w.packed[:blockHeaderSize], w.packed[blockHeaderSize:]
	header[0], header[1] = kind, flags
	binary.LittleEndian.PutUint32(header[4:], w.index)
	binary.LittleEndian.PutUint32(header[8:], uint32(len(w.raw)))
	binary.LittleEndian.PutUint32(header[12:], uint32(len(stored)))
	binary.LittleEndian.PutUint32(header[checksumAt:], blockSum(header, stored))
	w.index++
	w.raw = w.raw[:0]
	if _, err := w.out.Write(w.packed); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return nil
}

// blockSum returns the checksum of a block: of its header without the checksum, and of its stored
// bytes.
func blockSum(header, stored []byte) uint32 {
	return crc32.Update(crc32.Checksum(header[:checksumAt], castagnoli), castagnoli, stored)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendMetadata(b []byte, r *history.Record) []byte {
	b = binary.AppendUvarint(b, uint64(r.Time))
	b = binary.AppendUvarint(b, uint64(len(r.Metadata)))
	for _, key := range slices.Sorted(maps.Keys(r.Metadata)) {
		b = appendText(appendText(b, key), r.Metadata[key])
	}
	b = binary.AppendUvarint(b, uint64(len(r.Tags)))
	for _, tag := range r.Tags {
		b = appendText(b, tag)
	}
	return b
}

func appendBatch(b []byte, r *history.Record) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(r.BatchFirst)), uint64(r.BatchLast))
}
