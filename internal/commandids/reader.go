package commandids

import "encoding/binary"

// reader reads a stored form. After the first truncated part, every read fails.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.failed, r.rest = true, nil
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) bytes() []byte { return r.take(r.uvarint()) }

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	return advanced(r, v, n)
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	return advanced(r, v, n)
}

// advanced returns a number that was read from n bytes, or zero if it could not be read.
func advanced[T int64 | uint64](r *reader, v T, n int) T {
	if n <= 0 {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}
