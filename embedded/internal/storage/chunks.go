package storage

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
)

// Pebble's logs and its MANIFEST are sequences of chunks in blocks of 32 KiB. Pebble treats the
// first chunk that it can't read as the end of the file, unless a chunk in a later block has an
// offset that proves that more was synced. A changed byte in the last 32 KiB of a log, anywhere in
// a MANIFEST, or in the number of a log would therefore silently hide all writes after it.
// chunkFile.check runs before Pebble, and distinguishes a torn end from damage.
//
// A chunk has, in this order: the checksum of all bytes from the type on (4 bytes), the length of
// the payload (2 bytes), the type (1 byte), in a log the number of the log (4 bytes), in types from
// 9 on the offset up to which the log was synced when the chunk was written (8 bytes), and the
// payload.
const (
	chunkBlock  = 32 << 10
	plainHeader = 7  // of types 1 to 4, in a MANIFEST
	logHeader   = 11 // of types 5 to 8, in a log before Pebble's format FormatWALSyncChunks
	syncHeader  = 19 // of types 9 to 12, in a log
	trailerType = 5  // of the chunk that ends a closed log, which has the number of the next log
	// provenSyncs is the number of different synced offsets after a chunk that prove that the chunk
	// was synced. The first offset was read when the chunk was written, so the sync after the next
	// one began later.
	provenSyncs = 3
)

// chunkFile is a file of chunks in memory.
type chunkFile struct {
	data []byte
	// log is the number of a log, 0 for a MANIFEST.
	log   uint32
	isLog bool
}

// damagedError reports that an acknowledged part of a file can't be read.
type damagedError struct{ offset, size int }

func (e *damagedError) Error() string {
	return fmt.Sprintf("the file is damaged at byte %d of %d", e.offset, e.size)
}

// check returns an error if the file is damaged. A torn end is not damage: it was not acknowledged.
// An end that looks torn is damage if it can be read after one bit is changed, or if later chunks
// prove that it was synced. Larger damage within the last syncs of a log that was not closed is not
// detected.
func (f chunkFile) check() error {
	bad, whole := f.walk(0, func(chunk) {})
	if whole || !f.damaged(bad) {
		return nil
	}
	return &damagedError{bad, len(f.data)}
}

// chunk is a readable chunk from start to end.
type chunk struct {
	start, end int
	// synced is the offset up to which the log was synced.
	synced uint64
	// promises reports whether synced is set.
	promises bool
}

// walk calls visit for the chunks from the offset on. It returns the offset of the first chunk that
// can't be read. whole reports whether walk has reached the end of the file or of the log.
func (f chunkFile) walk(at int, visit func(chunk)) (bad int, whole bool) {
	for at < len(f.data) {
		rest := f.data[at:f.blockEnd(at)]
		if f.padding(at, rest) {
			at += len(rest)
			continue
		}
		if f.isTrailer(rest) {
			return at, true
		}
		c, ok := f.read(at)
		if !ok {
			return at, false
		}
		visit(c)
		at = c.end
	}
	return at, true
}

func (f chunkFile) blockEnd(at int) int { return min(at/chunkBlock*chunkBlock+chunkBlock, len(f.data)) }

// padding reports whether the rest of a block is padding, which Pebble skips.
func (f chunkFile) padding(at int, rest []byte) bool {
	if (at+len(rest))%chunkBlock != 0 {
		return false
	}
	if len(rest) < plainHeader {
		return true
	}
	return len(rest) < syncHeader && f.isLog && allZero(rest)
}

func allZero(bytes []byte) bool {
	for _, b := range bytes {
		if b != 0 {
			return false
		}
	}
	return true
}

// isTrailer reports whether the bytes begin with the trailer of a closed log.
func (f chunkFile) isTrailer(rest []byte) bool {
	return f.isLog && len(rest) >= logHeader && allZero(rest[:6]) && rest[6] == trailerType &&
		binary.LittleEndian.Uint32(rest[7:]) == f.log+1
}

// header returns the header size of chunks of the type, or 0 if the file can't have chunks of the
// type.
func (f chunkFile) header(kind byte) int {
	switch {
	case !f.isLog && kind >= 1 && kind <= 4:
		return plainHeader
	case f.isLog && kind >= 5 && kind <= 8:
		return logHeader
	case f.isLog && kind >= 9 && kind <= 12:
		return syncHeader
	default:
		return 0
	}
}

// read reads the chunk at the offset.
func (f chunkFile) read(at int) (chunk, bool) {
	rest := f.data[at:f.blockEnd(at)]
	if len(rest) < plainHeader {
		return chunk{}, false
	}
	header := f.header(rest[6])
	size := header + int(binary.LittleEndian.Uint16(rest[4:]))
	if header == 0 || size > len(rest) {
		return chunk{}, false
	}
	if f.isLog && binary.LittleEndian.Uint32(rest[7:]) != f.log {
		return chunk{}, false
	}
	if checksum(rest[6:size]) != storedChecksum(rest) {
		return chunk{}, false
	}
	c := chunk{start: at, end: at + size}
	if header == syncHeader {
		c.synced, c.promises = binary.LittleEndian.Uint64(rest[11:]), true
	}
	return c, true
}

// damaged reports whether the chunk at the offset, which can't be read, was once complete.
func (f chunkFile) damaged(at int) bool { return f.provenLater(at) || f.oneBitOff(at) }

// provenLater reports whether a later chunk proves that the chunk at the offset was synced.
func (f chunkFile) provenLater(at int) bool {
	offsets := map[uint64]bool{}
	proven := false
	visit := func(c chunk) {
		offsets[c.synced] = true
		// In a MANIFEST every chunk proves the ones before it: it is synced after each record.
		proven = proven || !c.promises || c.synced > uint64(at) || len(offsets) >= provenSyncs
	}
	for block := at; block < len(f.data) && !proven; block = block/chunkBlock*chunkBlock + chunkBlock {
		end := f.blockEnd(block)
		// The length of the damaged chunk may be wrong, so the next one can begin anywhere.
		for next := block; next < end && !proven; next++ {
			switch {
			case next == at:
			case f.isTrailer(f.data[next:end]):
				// A torn record can contain the same bytes. They end the log only if nothing but
				// zeros follows.
				proven = allZero(f.data[min(next+logHeader, len(f.data)):])
			default:
				if c, ok := f.read(next); ok {
					visit(c)
					next = c.end - 1
				}
			}
		}
	}
	return proven
}

// oneBitOff reports whether the chunk at the offset can be read with one bit changed.
func (f chunkFile) oneBitOff(at int) bool {
	rest := f.data[at:f.blockEnd(at)]
	if len(rest) < plainHeader {
		return false
	}
	if f.isLog && len(rest) < syncHeader && (at+len(rest))%chunkBlock == 0 && bitsSet(rest) == 1 {
		return true // padding of a block is zero
	}
	length := binary.LittleEndian.Uint16(rest[4:])
	for bit := range 16 {
		if f.reads(rest, length^1<<bit, rest[6]) {
			return true
		}
	}
	for bit := range 8 {
		if f.reads(rest, length, rest[6]^1<<bit) {
			return true
		}
	}
	header := f.header(rest[6])
	size := header + int(length)
	if header == 0 || size > len(rest) {
		return false
	}
	bit, found := flippedBit(rest[6:size], storedChecksum(rest))
	if !found || header == plainHeader {
		return found
	}
	number := binary.LittleEndian.Uint32(rest[7:])
	if bit >= 8 && bit < 40 { // the number follows the type
		number ^= 1 << (bit - 8)
	}
	return number == f.log
}

func bitsSet(bytes []byte) int {
	n := 0
	for _, b := range bytes {
		n += bits.OnesCount8(b)
	}
	return n
}

// reads reports whether the bytes are a readable chunk with the length and the type.
func (f chunkFile) reads(rest []byte, length uint16, kind byte) bool {
	header := f.header(kind)
	size := header + int(length)
	if header == 0 || size > len(rest) || f.isLog && binary.LittleEndian.Uint32(rest[7:]) != f.log {
		return false
	}
	sum := crc32.Update(crc32.Update(0, castagnoli, []byte{kind}), castagnoli, rest[7:size])
	return mask(sum) == storedChecksum(rest)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(bytes []byte) uint32 { return mask(crc32.Checksum(bytes, castagnoli)) }

// mask returns a checksum in its stored form.
func mask(sum uint32) uint32 { return (sum>>15 | sum<<17) + maskDelta }

const maskDelta = 0xa282ead8

func unmask(stored uint32) uint32 {
	rotated := stored - maskDelta
	return rotated<<15 | rotated>>17
}

func storedChecksum(chunk []byte) uint32 { return binary.LittleEndian.Uint32(chunk) }

// flippedBit returns the position of the single bit that has changed in the bytes, or -1 if the bit
// is in the stored checksum. It returns false if no single bit explains the checksum.
func flippedBit(bytes []byte, stored uint32) (int, bool) {
	sum := crc32.Checksum(bytes, castagnoli)
	masked := mask(sum) ^ stored
	if masked != 0 && masked&(masked-1) == 0 {
		return -1, true
	}
	// A changed bit changes the checksum by a value that depends only on the bit and the number of
	// bytes after it.
	difference := sum ^ unmask(stored)
	var effects [8]uint32
	for bit := range effects {
		effects[bit] = castagnoli[1<<bit]
	}
	for i := range slices.Backward(bytes) {
		for bit, effect := range effects {
			if effect == difference {
				return i*8 + bit, true
			}
			effects[bit] = castagnoli[byte(effect)] ^ effect>>8
		}
	}
	return 0, false
}
