package serialization

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// First bytes of CBOR items: the major type is in the upper three bits, the
// length, or the size of the length that follows, in the lower five.
const (
	cborBytes = 0x40
	cborText  = 0x60
	cborArray = 0x80
	cborMap   = 0xa0
	cborTag   = 0xc0
	cborBreak = 0xff

	cborMajor      = 0xe0
	cborDetail     = 0x1f
	cborIndefinite = 0x1f
	// From cborLength1 on, the length follows in 1, 2, 4 or 8 bytes.
	cborLength1 = 24
	cborLength2 = 25
)

// jacksonTextChunk is the number of UTF-16 units above which Jackson writes
// text in chunks, and the length of a chunk.
const jacksonTextChunk = 3996

// jacksonForm rewrites CBOR into the form Jackson writes: objects of indefinite
// length, and long text in chunks. The input must be well-formed.
type jacksonForm struct {
	out, rest []byte
}

// head decodes the first byte and length of the next item; size is their size.
func (f *jacksonForm) head() (first byte, length uint64, size int) {
	first = f.rest[0]
	detail := first & cborDetail
	switch {
	case detail == cborIndefinite, detail < cborLength1:
		return first, uint64(detail), 1
	default:
		width := 1 << (detail - cborLength1)
		var wide [8]byte
		copy(wide[len(wide)-width:], f.rest[1:1+width])

		return first, binary.BigEndian.Uint64(wide[:]), 1 + width
	}
}

func (f *jacksonForm) take(n int) []byte {
	taken := f.rest[:n]
	f.rest = f.rest[n:]

	return taken
}

func (f *jacksonForm) copyBytes(n int) { f.out = append(f.out, f.take(n)...) }

// item rewrites the next item. It recurses as deep as the input is nested.
func (f *jacksonForm) item() {
	first, length, size := f.head()
	major, indefinite := first&cborMajor, first&cborDetail == cborIndefinite
	switch {
	case major == cborMap:
		f.take(size)
		f.out = append(f.out, cborMap|cborIndefinite)
		f.items(2*length, indefinite, f.item)
		f.out = append(f.out, cborBreak)
	case major == cborArray:
		f.copyBytes(size)
		f.items(length, indefinite, f.item)
		if indefinite {
			f.out = append(f.out, cborBreak)
		}
	case indefinite:
		f.copyBytes(size)
		f.items(0, true, f.chunk)
		f.out = append(f.out, cborBreak)
	case major == cborText:
		f.take(size)
		f.text(f.take(int(length)))
	case major == cborBytes:
		f.copyBytes(size + int(length))
	case major == cborTag:
		f.copyBytes(size)
		f.item()
	default:
		f.copyBytes(size)
	}
}

// items rewrites n items, or, if their number is indefinite, all items up to
// the break, which it consumes.
func (f *jacksonForm) items(n uint64, indefinite bool, rewrite func()) {
	for i := uint64(0); i < n || indefinite; i++ {
		if indefinite && f.rest[0] == cborBreak {
			f.take(1)

			return
		}
		rewrite()
	}
}

// chunk copies one chunk of a string that is already in chunks.
func (f *jacksonForm) chunk() {
	_, length, size := f.head()
	f.copyBytes(size + int(length))
}

func (f *jacksonForm) text(s []byte) {
	end := chunkEnd(s)
	if end == len(s) {
		f.textChunk(s)

		return
	}
	f.out = append(f.out, cborText|cborIndefinite)
	for len(s) > 0 {
		f.textChunk(s[:end])
		s = s[end:]
		end = chunkEnd(s)
	}
	f.out = append(f.out, cborBreak)
}

// textChunk writes text of at most jacksonTextChunk units, whose length in
// bytes takes two bytes at most.
func (f *jacksonForm) textChunk(s []byte) {
	switch {
	case len(s) < cborLength1:
		f.out = append(f.out, cborText|byte(len(s)))
	case len(s) <= 0xff:
		f.out = append(f.out, cborText|cborLength1, byte(len(s)))
	default:
		f.out = append(f.out, cborText|cborLength2, byte(len(s)>>8), byte(len(s)))
	}
	f.out = append(f.out, s...)
}

// chunkEnd returns the number of bytes of the whole characters in the first
// jacksonTextChunk UTF-16 units of s.
func chunkEnd(s []byte) int {
	units := 0
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRune(s[i:])
		units += utf16.RuneLen(c)
		if units > jacksonTextChunk {
			return i
		}
		i += size
	}

	return len(s)
}
