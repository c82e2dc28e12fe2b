package embedded

import (
	"bytes"
	"strconv"
)

// plainHead is the head of a plain request: its first line and its headers. A head is plain if it
// is one as SDKs send, and if nothing in it asks for more than a response:
//   - it begins with "POST / HTTP/1.1"
//   - it has a Host, an X-Amz-Target, a signature, and a Content-Length of at most smallBody
//   - it has none of the headers of an encoded body, of a page in a browser, or of the protocol
//     that would need an action, and none of those above twice
//   - all its bytes are valid
//
// What is not plain is not necessarily wrong: net/http decides about it.
type plainHead struct {
	host, target, kind, accepted, signedAt plainValue
	length                                 int
}

// plainValue is the value of a header. It is kept from request to request: the next one on a
// connection mostly has the same value, which takes no allocation then.
type plainValue struct {
	text  string
	given bool
}

// set sets the value, and reports whether it had none.
func (v *plainValue) set(value []byte) bool {
	if v.given {
		return false
	}
	v.given = true
	if v.text != string(value) {
		v.text = string(value)
	}
	return true
}

// value returns the value, empty if there is none.
func (v *plainValue) value() string {
	if !v.given {
		return ""
	}
	return v.text
}

const plainFirstLine = "POST / HTTP/1.1\r\n"

// parse reads the head at the beginning of data and returns its size, or false if it is not plain
// or not complete.
func (h *plainHead) parse(data []byte) (size int, plain bool) {
	if !bytes.HasPrefix(data, []byte(plainFirstLine)) {
		return 0, false
	}
	for _, v := range []*plainValue{&h.host, &h.target, &h.kind, &h.accepted, &h.signedAt} {
		v.given = false
	}
	h.length = -1
	signed := false
	for size = len(plainFirstLine); ; {
		end := bytes.IndexByte(data[size:], '\n')
		if end < 1 || data[size+end-1] != '\r' {
			return 0, false
		}
		line := data[size : size+end-1]
		size += end + 1
		if len(line) == 0 {
			return size, signed && h.length >= 0 && h.host.value() != "" && h.target.given
		}
		name, value, valid := splitHeader(line)
		if !valid || !h.set(name.text(), value, &signed) {
			return 0, false
		}
	}
}

// set applies a header, and reports whether the head can still be plain.
func (h *plainHead) set(name, value []byte, signed *bool) bool {
	switch string(name) {
	case "host":
		return isPlainHost(value) && h.host.set(value)
	case "x-amz-target":
		return h.target.set(value)
	case "content-type":
		return h.kind.set(value)
	case "accept-encoding":
		return h.accepted.set(value)
	case "x-amz-date":
		return h.signedAt.set(value)
	case "authorization":
		again := *signed
		*signed = bytes.HasPrefix(value, []byte(signaturePrefix))
		return *signed && !again
	case "content-length":
		again := h.length >= 0
		length, err := strconv.ParseUint(string(value), 10, 16)
		h.length = int(length)
		return err == nil && length <= smallBody && !again
	case "connection":
		return string(value) == "keep-alive"
	case "content-encoding", "transfer-encoding", "trailer", "expect", "upgrade", "origin", "sec-fetch-site":
		return false
	}
	return true
}

// isPlainHost reports whether a host has only the bytes of names, addresses and ports.
func isPlainHost(host []byte) bool {
	for _, c := range host {
		if ('a' > c || c > 'z') && ('A' > c || c > 'Z') && ('-' > c || c > ':' || c == '/') && c != '[' && c != ']' && c != '_' {
			return false
		}
	}
	return true
}

// headerKey is the name of a header in lower case.
type headerKey struct {
	letters [32]byte
	size    int
}

// text returns the name, empty if it is longer than any that matters.
func (k *headerKey) text() []byte { return k.letters[:k.size] }

// splitHeader returns the name and the value of a header line, and false if a byte of it is
// invalid.
func splitHeader(line []byte) (name headerKey, value []byte, valid bool) {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 {
		return name, nil, false
	}
	for i, c := range line[:colon] {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		} else if ('a' > c || c > 'z') && ('0' > c || c > '9') && c != '-' {
			return name, nil, false
		}
		if i < len(name.letters) {
			name.letters[i] = c
		}
	}
	if colon <= len(name.letters) {
		name.size = colon
	}
	value = bytes.Trim(line[colon+1:], " \t")
	for _, c := range value {
		if (c < ' ' || c > '~') && c != '\t' {
			return name, nil, false
		}
	}
	return name, value, true
}
