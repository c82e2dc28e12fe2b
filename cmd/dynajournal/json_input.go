package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/dynajournal/dynajournal/serialization"
)

// maxJSON limits the size of the input. It is far larger than any event can be.
const maxJSON = 16 << 20

var errNotUTF8 = errors.New("it is not valid UTF-8")

// readJSON reads a JSON value from a file, or from standard input if its name is -, and returns it
// as a payload with the manifest class.
func readJSON(stdin io.Reader, name, class string) (payload serialization.Payload, err error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the file that the user names
		if err != nil {
			return payload, fmt.Errorf("read the value: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxJSON+1))
	if err != nil {
		return payload, fmt.Errorf("read the value: %w", err)
	}
	if len(text) > maxJSON {
		return payload, fmt.Errorf("read the value: %s has more than %d bytes", name, maxJSON)
	}
	if !utf8.Valid(text) {
		return payload, fmt.Errorf("%s is not a JSON value: %w", name, errNotUTF8)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return payload, fmt.Errorf("%s is not a JSON value: %w", name, err)
	}
	return serialization.Payload{SerializerID: serialization.IDJacksonJSON, Manifest: class,
		Bytes: compact.Bytes()}, nil
}
