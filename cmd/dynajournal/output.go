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
	"unicode/utf8"

	"golang.org/x/term"
)

// result is one result of a command. It is printed as JSON, by its fields, or as a line of text.
type result interface {
	text() string
}

// output writes results to stdout, as JSON or as text.
type output struct {
	w    *bufio.Writer
	json *json.Encoder
	// width is the width of the terminal in columns, or 0 for no limit. Lines with a payload are
	// cut there, and other lines are wrapped.
	width int
}

// newOutput returns an output in a format. Lines are neither cut nor wrapped if full is set or w is
// not a terminal.
func newOutput(w io.Writer, format string, full bool) *output {
	o := &output{w: bufio.NewWriter(w)}
	if !full {
		o.width = widthOf(w)
	}
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
	text := r.text()
	if _, ok := r.(interface{ hasPayload() }); ok {
		return o.line(cut(text, o.width))
	}
	return o.line(wrap(text, o.width))
}

// wrap breaks a text at spaces into lines of at most width columns. A word that is longer stays
// whole.
func wrap(text string, width int) string {
	const indent = "    "
	var b strings.Builder
	for rest := []rune(text); ; {
		at := -1
		for i := min(width, len(rest)-1); width > 0 && len(rest) > width && i > len(indent) && at < 0; i-- {
			if rest[i] == ' ' {
				at = i
			}
		}
		if at < 0 {
			b.WriteString(string(rest))
			return b.String()
		}
		b.WriteString(strings.TrimRight(string(rest[:at]), " ") + "\n")
		rest = []rune(indent + strings.TrimLeft(string(rest[at:]), " "))
	}
}

// cut shortens a line to a width, and ends it with an ellipsis. It counts characters, although a
// wide one takes two columns.
func cut(line string, width int) string {
	if width <= 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width-1]) + "…"
}

// widthOf returns the width of a terminal in columns, or 0 if w is not a terminal. The environment
// variable COLUMNS overrides the terminal's width.
func widthOf(w io.Writer) int {
	if !isTerminal(w) {
		return 0
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	columns, _, err := term.GetSize(int(w.(*os.File).Fd())) //nolint:forcetypeassert // a terminal is a file
	if err != nil {
		return 0
	}
	return columns
}

// line writes a line of text.
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
