package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy/migration"
)

// Exit statuses.
const (
	statusDone   = 0
	statusFailed = 1
	statusUsage  = 2
)

// usageError is a wrong command line or configuration.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

// partialError is that of a command over many persistence ids that failed for some of them,
// whatever it failed for.
type partialError struct{ err error }

func (e *partialError) Error() string { return e.err.Error() }

func (e *partialError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// fail writes one line with what failed and why, and returns the exit status.
func fail(w io.Writer, what string, err error) int {
	why := err.Error()
	if errors.Is(err, context.Canceled) {
		why = "interrupted: " + why
	}
	// If this fails too, the exit status still reports the failure.
	_, _ = fmt.Fprintf(w, "dynajournal: %s: %s\n", what, oneLine(why))
	if partial := new(partialError); errors.As(err, &partial) || errors.Is(err, migration.ErrIncomplete) {
		return statusFailed
	}
	usage := new(usageError)
	if errors.As(err, &usage) || errors.Is(err, dynajournal.ErrInvalidArgument) ||
		errors.Is(err, dynajournal.ErrHeaderMismatch) {
		return statusUsage
	}
	return statusFailed
}

// oneLine replaces line breaks and control characters, so that the text is one line and no terminal
// command.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
