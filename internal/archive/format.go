// Package archive is the file format of exported histories and snapshots; docs/formats.md describes
// every byte. A file is a header, blocks with a checksum each, and a last block with totals, so
// that missing or damaged parts are found and located.
package archive

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/dynajournal/dynajournal/internal/history"
)

const (
	magic = "DYNAJRNL"
	// version is the version that is written. Version 1 does not have events with metadata. Version
	// 2 does not have low marks that name a snapshot. Version 3 does not have low marks that name a
	// purge.
	version    = 4
	headerSize = 16 // magic, version, 2 bytes of zero, checksum

	blockHeaderSize = 20 // kind, flags, 2 bytes of zero, index, raw size, stored size, checksum
	checksumAt      = 16

	// blockSize is the size from which a block is written. maxBlock is the limit of a reader. Both
	// are sizes before compression.
	blockSize = 256 << 10
	maxBlock  = 2 << 20
	// maxEntry limits an entry: an event's item has at most 400 KiB. Snapshots are divided into
	// chunks.
	maxEntry   = 1 << 20
	chunkSize  = 512 << 10
	maxIDBytes = 2048
)

// The kinds of blocks, and the flag of a block after which a persistence id ends.
const (
	entriesBlock = 1
	totalsBlock  = 2
	boundary     = 1
)

// The tags of entries.
const (
	tagStart = iota + 1
	tagLowMark
	tagEvent
	tagClosed
	tagDeleted
	tagSnapshot
	tagChunk
	tagEnd
	tagEventWithMetadata // since version 2
	tagLowMarkBehind     // since version 3
	tagLowMarkPurged     // since version 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The kinds of an *Error, for errors.Is.
var (
	// ErrNotArchive: the file does not begin as an archive does.
	ErrNotArchive = errors.New("it is not an archive of dynajournal")
	// ErrVersion: a newer release wrote it.
	ErrVersion = errors.New("the archive is of another format version")
	// ErrTruncated: the file ends before the archive does.
	ErrTruncated = errors.New("the archive is cut short")
	// ErrDamaged: a checksum, a number or the order is wrong.
	ErrDamaged = errors.New("the archive is damaged")
	// ErrTooLarge: a snapshot is larger than the limit.
	ErrTooLarge = errors.New("a snapshot in the archive has too many bytes")
)

// Error is the position and the reason of a failed read.
type Error struct {
	// Offset is the start of the block in the file, in bytes.
	Offset int64
	// PersistenceID is the id that was being read, or "" between two.
	PersistenceID string
	// Kind is one of the errors above. Detail describes it.
	Kind   error
	Detail string
}

func (e *Error) Error() string {
	at := fmt.Sprintf("in the block at byte %d", e.Offset)
	if e.PersistenceID != "" {
		at += fmt.Sprintf(", in %q", e.PersistenceID)
	}
	return fmt.Sprintf("%v: %s: %s", e.Kind, at, e.Detail)
}

func (e *Error) Unwrap() error { return e.Kind }

// Totals counts the contents of an archive, or of a part of it.
type Totals struct{ PersistenceIDs, Events, Snapshots int64 }

// Snapshot is a saved state. Timestamp is in milliseconds since 1970.
type Snapshot struct {
	SequenceNumber, Timestamp int64
	SerializerID              int32
	SerializerManifest        string
	Bytes                     []byte
}

// Item is an element of an archive: for each persistence id a beginning, the records of its
// history, its snapshots, and an end.
type Item struct {
	// PersistenceID is set in every item. In a beginning it is the only field that is set.
	PersistenceID string
	// One of these is set, except in a beginning.
	Record   *history.Record
	Snapshot *Snapshot
	End      bool
}
