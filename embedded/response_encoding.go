package embedded

import (
	"compress/gzip"
	"compress/zlib"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

const (
	gzipEncoding = "gzip"
	// deflateEncoding is the zlib format of RFC 1950, as in HTTP.
	deflateEncoding = "deflate"
	// compressedSize is the size in bytes from which DynamoDB compresses a response.
	compressedSize = 4 << 10
)

// compressor writes the compressed form of a body.
type compressor interface {
	io.WriteCloser
	Reset(dst io.Writer)
}

// compressors has idle compressors by their encoding. Each takes about a megabyte.
var compressors = map[string]*sync.Pool{
	gzipEncoding:    {New: func() any { return newGzipWriter() }},
	deflateEncoding: {New: func() any { return newZlibWriter() }},
}

// compressing limits the number of responses that are compressed at a time, and so the memory for
// that.
var compressing = make(chan struct{}, runtime.GOMAXPROCS(0))

func newGzipWriter() compressor {
	writer, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails only for an unknown level
	return writer
}

func newZlibWriter() compressor {
	writer, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // fails only for an unknown level
	return writer
}

// compress compresses the body of a large response in the encoding that the Accept-Encoding header
// of its request prefers, if any. The body is left unchanged if it would not become smaller.
func (r *response) compress(accepted string) {
	if len(r.body) < compressedSize || r.buffer == nil {
		return
	}
	encoding := preferredEncoding(accepted)
	if encoding == "" {
		return
	}
	compressing <- struct{}{}
	defer func() { <-compressing }()
	packed := takeBuffer()
	*packed = appendCompressed((*packed)[:0], encoding, r.body)
	if len(*packed) >= len(r.body) {
		giveBuffer(packed)
		return
	}
	r.release()
	r.buffer, r.body, r.encoding = packed, *packed, encoding
}

// appendCompressed appends the compressed body to dst.
func appendCompressed(dst []byte, encoding string, body []byte) []byte {
	pool := compressors[encoding]
	writer := pool.Get().(compressor) //nolint:forcetypeassert // the pool holds nothing else
	out := appendWriter{dst: dst}
	writer.Reset(&out)
	// Writing to memory never fails.
	_, _ = writer.Write(body)
	_ = writer.Close()
	writer.Reset(io.Discard) // it must not keep the response
	pool.Put(writer)
	return out.dst
}

// appendWriter is an io.Writer that appends to dst.
type appendWriter struct{ dst []byte }

// Write appends the bytes.
func (w *appendWriter) Write(data []byte) (int, error) {
	w.dst = append(w.dst, data...)
	return len(data), nil
}

// preferredEncoding returns the encoding with the highest weight in an Accept-Encoding header, or
// nothing if the header accepts neither gzip nor deflate. If two have the same weight, it returns
// the first one, and a named encoding before one that only a star accepts. Like DynamoDB, it
// ignores identity.
func preferredEncoding(header string) string {
	best, bestWeight, star := "", 0.0, 0.0
	named := map[string]bool{}
	for element := range strings.SplitSeq(header, ",") {
		name, parameters, _ := strings.Cut(element, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		switch weight := encodingWeight(parameters); name {
		case gzipEncoding, deflateEncoding:
			named[name] = true
			if weight > bestWeight {
				best, bestWeight = name, weight
			}
		case "*":
			star = max(star, weight)
		}
	}
	for _, name := range []string{gzipEncoding, deflateEncoding} {
		if !named[name] && star > bestWeight {
			best, bestWeight = name, star
		}
	}
	return best
}

// encodingWeight returns the weight among the parameters of an encoding, from 0 to 1. It is the
// number after the first "q=", or 1 if there is no valid number.
func encodingWeight(parameters string) float64 {
	_, text, found := strings.Cut(parameters, "q=")
	if !found {
		return 1
	}
	text, _, _ = strings.Cut(text, ";")
	weight, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || weight > 1 || math.IsNaN(weight) {
		return 1
	}
	return max(weight, 0)
}
