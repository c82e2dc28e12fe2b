// Package archive is the file format in which histories and snapshots of persistence ids are kept outside of a journal:
// docs/archive.md says every byte. A file is a header, blocks with a checksum each, and a last block with totals, so that
// whatever is missing or damaged is found, and where.
package archive

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/dynajournal/dynajournal/internal/history"
)

const (
	magic      = "DYNAJRNL"
	version    = 1
	headerSize = 16 // magic, version, 2 bytes of zero, checksum

	blockHeaderSize = 20 // kind, flags, 2 bytes of zero, index, raw size, stored size, checksum
	checksumAt      = 16

	// blockSize is the size from which a block is written; maxBlock bounds what a reader takes, both before compression.
	blockSize = 256 << 10
	maxBlock  = 2 << 20
	// maxEntry bounds an entry: an event's item has 400 KiB at most. Snapshots are cut into chunks.
	maxEntry   = 1 << 20
	chunkSize  = 512 << 10
	maxIDBytes = 2048
)

// The kinds of blocks, and a block's flag: it ends where a persistence id ends.
const (
	entriesBlock = 1
	totalsBlock  = 2
	boundary     = 1
)

// The tags of entries.
const (
	tagBegin = iota + 1
	tagLowMark
	tagEvent
	tagClosed
	tagDeleted
	tagSnapshot
	tagChunk
	tagEnd
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Errors of reading, for errors.Is. The error is an *Error.
var (
	// ErrNotArchive: the file does not begin as an archive does.
	ErrNotArchive = errors.New("it is no archive of dynajournal")
	// ErrVersion: a newer release wrote it.
	ErrVersion = errors.New("the archive is of another format version")
	// ErrTruncated: the file ends before the archive does.
	ErrTruncated = errors.New("the archive is cut short")
	// ErrDamaged: a checksum, a number or the order is wrong.
	ErrDamaged = errors.New("the archive is damaged")
	// ErrTooLarge: a snapshot is larger than is allowed here.
	ErrTooLarge = errors.New("a snapshot in the archive has too many bytes")
)

// Error says where in a file reading has ended, and why.
type Error struct {
	// Offset is where the block begins, in bytes from the beginning of the file.
	Offset int64
	// PersistenceID is the one that was being read, empty between two.
	PersistenceID string
	// Kind is one of the errors above, Detail says more.
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

// Totals are what an archive, or a part of it, holds.
type Totals struct{ PersistenceIDs, Events, Snapshots int64 }

// Snapshot is a saved state. Timestamp is in milliseconds since 1970.
type Snapshot struct {
	SequenceNumber, Timestamp int64
	SerializerID              int32
	SerializerManifest        string
	Bytes                     []byte
}

// Item is what an archive is read as: for each persistence id a beginning, the records of its history, its snapshots, an end.
type Item struct {
	// PersistenceID is set in every item; of a beginning nothing else is.
	PersistenceID string
	// One of these is set, in all but a beginning.
	Record   *history.Record
	Snapshot *Snapshot
	End      bool
}
