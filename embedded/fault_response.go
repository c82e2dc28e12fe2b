package embedded

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// damage is the kind of damage that a fault does to a response.
type damage uint8

const (
	intact damage = iota
	damageReset
	damageTruncated
	damageGarbage
)

// damageResponse applies the damage of the call to the response.
func (c *call) damageResponse(response *response) {
	response.damage = c.damage
	if c.damage == damageGarbage {
		response.status = http.StatusOK
		scramble(response.body, c.fault.random)
	}
}

// scramble replaces the body with random bytes. The first byte can't start a JSON value.
func scramble(body []byte, random *rand.Rand) {
	for i := range body {
		body[i] = byte(random.Uint32())
	}
	if len(body) > 0 {
		body[0] = 0xff
	}
}

// sendDamaged sends a truncated response with half of its body, or resets the connection, and
// closes it.
func (r *response) sendDamaged(w http.ResponseWriter, now time.Time) {
	connection, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		// The connection can't be hijacked: net/http closes it on this panic.
		panic(http.ErrAbortHandler)
	}
	if r.damage == damageTruncated {
		_, _ = fmt.Fprintf(buffered, "HTTP/1.1 %d %s\r\n", r.status, http.StatusText(r.status))
		_ = r.header(now).Write(buffered)
		_, _ = buffered.WriteString("\r\n")
		_, _ = buffered.Write(r.body[:len(r.body)/2])
		_ = buffered.Flush()
	} else if tcp, is := connection.(*net.TCPConn); is {
		// Close then discards unsent data and resets the connection.
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}

// deliver returns the response as the in-process transport receives it.
func (r *response) deliver(response *http.Response) (*http.Response, error) {
	switch r.damage {
	case damageReset:
		r.release()
		if err := response.Request.Context().Err(); err != nil {
			return nil, fmt.Errorf("in-process request: %w", err)
		}
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	case damageTruncated:
		response.Body = &cutBody{ReadCloser: response.Body, left: len(r.body) / 2}
	case intact, damageGarbage:
	}
	return response, nil
}

// cutBody is a body that ends with io.ErrUnexpectedEOF.
type cutBody struct {
	io.ReadCloser

	left int
}

// Read reads the next bytes before the end.
func (b *cutBody) Read(dst []byte) (int, error) {
	if b.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(dst[:min(len(dst), b.left)])
	b.left -= n
	return n, err
}
