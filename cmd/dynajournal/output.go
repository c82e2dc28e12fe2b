package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// result is one result of a command: JSON by its fields, or a line of text.
type result interface {
	text() string
}

// output writes results to stdout, as JSON or as text.
type output struct {
	w    *bufio.Writer
	json *json.Encoder
}

func newOutput(w io.Writer, format string) *output {
	o := &output{w: bufio.NewWriter(w)}
	if format == "json" || format == "" && !isTerminal(w) {
		o.json = json.NewEncoder(o.w)
		o.json.SetEscapeHTML(false)
	}
	return o
}

func (o *output) write(r result) error {
	if o.json != nil {
		if err := o.json.Encode(r); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
		return nil
	}
	return o.line(r.text())
}

// line writes a line that is no result.
func (o *output) line(text string) error {
	if _, err := o.w.WriteString(text + "\n"); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

func (o *output) flush() error {
	if err := o.w.Flush(); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// printable returns a string unchanged, or quoted if it has characters that a terminal does not
// print.
func printable(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
