package embedded

import (
	"strconv"
	"sync"
)

// maxKeptBuffer bounds what the pool keeps of a buffer that once held a large answer.
const maxKeptBuffer = 1 << 20

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func takeBuffer() *[]byte { return buffers.Get().(*[]byte) } //nolint:forcetypeassert // the pool holds nothing else

func giveBuffer(buffer *[]byte) {
	if cap(*buffer) <= maxKeptBuffer {
		*buffer = (*buffer)[:0]
		buffers.Put(buffer)
	}
}

// separate appends the comma between elements before all but the first.
func separate(dst []byte, index int) []byte {
	if index > 0 {
		dst = append(dst, ',')
	}
	return dst
}

// appendName begins the next member of the object that dst ends with.
func appendName(dst []byte, name string) []byte {
	if last := dst[len(dst)-1]; last != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }
