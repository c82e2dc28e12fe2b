package bench_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
)

// wire sends requests as bytes on persistent connections. It takes a fraction of the processor time
// of net/http and the SDK, which would otherwise dominate the figures.
type wire struct {
	address string
	idle    chan *wireConn
}

// wireConn is a connection with the buffers of its requests and responses.
type wireConn struct {
	net.Conn

	reader             *bufio.Reader
	body, sent, answer []byte
}

// connectWire opens one connection to a server for each caller.
func connectWire(b *testing.B, url string) *wire {
	b.Helper()
	w := &wire{address: strings.TrimPrefix(url, "http://"), idle: make(chan *wireConn, callers)}
	for range callers {
		conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", w.address)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close() }) // an error does no harm
		w.idle <- &wireConn{Conn: conn, reader: bufio.NewReaderSize(conn, 64<<10)}
	}
	return w
}

// ask sends a request, whose body is appended to a buffer, and checks that its response is a
// success that check accepts. The body of the response is valid during the call of check.
func (w *wire) ask(ctx context.Context, operation string, body func([]byte) []byte, check func([]byte) bool) error {
	var conn *wireConn
	select {
	case conn = <-w.idle:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { w.idle <- conn }()
	conn.body = body(conn.body[:0])
	sent := append(conn.sent[:0], "POST / HTTP/1.1\r\nX-Amz-Target: DynamoDB_20120810."...)
	sent = append(append(sent, operation...), "\r\nHost: "...)
	sent = append(append(sent, w.address...), "\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\n"+
		"Authorization: AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request, "+
		"SignedHeaders=host;x-amz-date;x-amz-target, Signature=0000\r\nContent-Length: "...)
	sent = append(strconv.AppendInt(sent, int64(len(conn.body)), 10), "\r\n\r\n"...)
	conn.sent = append(sent, conn.body...)
	if _, err := conn.Write(conn.sent); err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	status, err := conn.receive()
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	if status != "200" || !check(conn.answer) {
		return fmt.Errorf("%s: status %s: %.200s", operation, status, conn.answer)
	}
	return nil
}

var errMalformed = errors.New("the response has no status or no length")

// receive reads the next response, whose body becomes the connection's answer.
func (c *wireConn) receive() (status string, err error) {
	length := -1
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, value, found := bytes.Cut(line, []byte(":"))
		switch {
		case status == "":
			if len(line) < len("HTTP/1.1 200") {
				return "", errMalformed
			}
			status = string(line[9:12])
		case found && bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return "", err
			}
		}
	}
	if length < 0 {
		return "", errMalformed
	}
	if cap(c.answer) < length {
		c.answer = make([]byte, length)
	}
	c.answer = c.answer[:length]
	_, err = io.ReadFull(c.reader, c.answer)
	return status, err
}
