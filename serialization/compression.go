package serialization

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/pierrec/lz4/v4"
)

// Compression is the compression of a document.
type Compression int

// The compressions that the JVM side supports.
const (
	NoCompression Compression = iota
	Gzip
	// LZ4 is a single block after a mark and the decompressed size.
	LZ4
)

// The header of an LZ4 document: the mark and the decompressed size, both
// big-endian, 4 bytes each.
const (
	lz4Mark       = "\x87\xd9\x6d\xf6"
	lz4HeaderSize = 8
	// lz4MaxRatio is the maximum number of bytes that one byte of a block can
	// expand to.
	lz4MaxRatio = 255
)

const gzipMark = "\x1f\x8b"

func (c Compression) compress(document []byte) ([]byte, error) {
	switch c {
	case Gzip:
		return compressGzip(document)
	case LZ4:
		return compressLZ4(document)
	default:
		return document, nil
	}
}

func compressGzip(document []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(document); err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}

	return out.Bytes(), nil
}

func compressLZ4(document []byte) ([]byte, error) {
	if len(document) > math.MaxInt32 {
		return nil, errors.New("LZ4: document is too large for its header")
	}
	out := make([]byte, lz4HeaderSize+lz4.CompressBlockBound(len(document)))
	copy(out, lz4Mark)
	binary.BigEndian.PutUint32(out[len(lz4Mark):], uint32(len(document)))
	size, err := lz4.CompressBlock(document, out[lz4HeaderSize:], nil)
	if err != nil {
		return nil, fmt.Errorf("LZ4: %w", err)
	}

	return out[:lz4HeaderSize+size], nil
}

// decompress reverses the compression that the first bytes of stored show, if
// any. It neither allocates nor returns much more than limit bytes.
func decompress(stored []byte, limit int64) ([]byte, error) {
	switch {
	case bytes.HasPrefix(stored, []byte(gzipMark)):
		return decompressGzip(stored, limit)
	case bytes.HasPrefix(stored, []byte(lz4Mark)):
		return decompressLZ4(stored, limit)
	default:
		return stored, nil
	}
}

func decompressGzip(stored []byte, limit int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(stored))
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	document, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	// After the limit comes the end, an error, or too much.
	var more [1]byte
	switch _, err := io.ReadFull(r, more[:]); {
	case err == nil:
		return nil, fmt.Errorf("gzip: more than %d bytes: %w", limit, ErrTooLarge)
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("gzip: %w", err)
	}

	return document, nil
}

func decompressLZ4(stored []byte, limit int64) ([]byte, error) {
	if len(stored) < lz4HeaderSize {
		return nil, errors.New("LZ4: header is cut off")
	}
	size := int64(binary.BigEndian.Uint32(stored[len(lz4Mark):]))
	block := stored[lz4HeaderSize:]
	if size > limit {
		return nil, fmt.Errorf("LZ4: %d bytes, more than %d: %w", size, limit, ErrTooLarge)
	}
	if size > int64(len(block))*lz4MaxRatio {
		return nil, fmt.Errorf("LZ4: a block of %d bytes cannot hold %d", len(block), size)
	}
	document := make([]byte, size)
	n, err := lz4.UncompressBlock(block, document)
	if err != nil {
		return nil, fmt.Errorf("LZ4: %w", err)
	}
	if int64(n) != size {
		return nil, fmt.Errorf("LZ4: %d bytes instead of %d", n, size)
	}

	return document, nil
}
