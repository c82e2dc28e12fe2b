package network

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

const (
	// maxHead and maxBody limit the size of a message. DynamoDB's requests and responses have at
	// most 16 MB.
	maxHead = 64 << 10
	maxBody = 32 << 20
)

// errMessage reports a message that the proxy can't carry.
var errMessage = errors.New("the proxy can't carry this HTTP message")

// readMessage appends the next message, head and body, to buffer. It waits for the first byte of
// the message before it calls started. It returns io.EOF if the stream ends before a message
// begins.
func readMessage(r *bufio.Reader, buffer []byte, started func()) ([]byte, error) {
	if _, err := r.Peek(1); err != nil {
		return buffer, err
	}
	started()
	length, head := 0, len(buffer)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return buffer, fmt.Errorf("%w: its head ends early: %w", errMessage, err)
		}
		buffer = append(buffer, line...)
		if len(buffer)-head > maxHead {
			return buffer, fmt.Errorf("%w: its head has more than %d bytes", errMessage, maxHead)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			break
		}
		if length, err = headerLength(line, length); err != nil {
			return buffer, err
		}
	}
	// The buffer grows with the received bytes, so that a large Content-Length alone does not take
	// memory.
	body := bytes.NewBuffer(buffer)
	if _, err := io.CopyN(body, r, int64(length)); err != nil {
		return buffer, fmt.Errorf("%w: its body ends early: %w", errMessage, err)
	}
	return body.Bytes(), nil
}

// headerLength returns the length of the body if a line of the head has it, and otherwise known.
func headerLength(line []byte, known int) (int, error) {
	name, value, found := bytes.Cut(line, []byte(":"))
	switch {
	case !found:
		return known, nil
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		return 0, fmt.Errorf("%w: its body has no Content-Length", errMessage)
	case !bytes.EqualFold(name, []byte("Content-Length")):
		return known, nil
	}
	length, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 31)
	if err != nil || length > maxBody {
		return 0, fmt.Errorf("%w: Content-Length %q; it may be up to %d", errMessage, value, maxBody)
	}
	return int(length), nil
}
