package embedded

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"testing"
)

func FuzzAcceptEncoding(f *testing.F) {
	for _, header := range []string{"gzip, deflate;q=0.5, *;q=0", "*", "gzip;q=1e400", "deflate; q=0x1p-2,,;q=", "identity;q=nan"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		switch got := preferredEncoding(header); got {
		case "", gzipEncoding, deflateEncoding:
		default:
			t.Errorf("%q: got %q", header, got)
		}
	})
}

// FuzzCompressedBody checks that a compressed body is read as the original body, and that any other
// body is at most an error.
func FuzzCompressedBody(f *testing.F) {
	f.Add([]byte(`{"TableName":"t"}`), true)
	f.Add([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}, true)
	f.Add([]byte{0x78, 0x9c, 3, 0, 0, 0, 0, 1}, false)
	f.Fuzz(func(t *testing.T, body []byte, asGzip bool) {
		encoding, open := deflateEncoding, func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }
		if asGzip {
			encoding, open = gzipEncoding, func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
		}
		packed := appendCompressed(nil, encoding, body)
		reader, err := open(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(reader); err != nil || !bytes.Equal(got, body) {
			t.Errorf("got %q, %v", got, err)
		}
		if reader, err = unpackedBody(bytes.NewReader(body), encoding); err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(reader, maxBody))
		}
	})
}
