package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy/migration"
)

// Exit statuses.
const (
	statusDone   = 0
	statusFailed = 1
	statusUsage  = 2
)

// usageError reports a wrong command line or configuration.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

// partialError reports that some of several persistence ids failed. The exit status is
// statusFailed, whatever the cause.
type partialError struct{ err error }

func (e *partialError) Error() string { return e.err.Error() }

func (e *partialError) Unwrap() error { return e.err }

// flagError is an error that names a flag instead of a field.
type flagError struct {
	text string
	err  error
}

func (e *flagError) Error() string { return e.text }

func (e *flagError) Unwrap() error { return e.err }

// namedByFlag replaces the name of a refused field in an error with the name of its flag, if a flag
// sets the field: the user of a command does not know the fields.
func namedByFlag(err error, flags []*kong.Flag) error {
	refused, ok := errors.AsType[*dynajournal.ArgumentError](err)
	if !ok {
		return err
	}
	_, field, _ := strings.Cut(refused.Argument, ".")
	name := settingKey(reflect.StructField{Name: field})
	short := strings.ReplaceAll(name, "sequence-number", "seq")
	for _, flag := range flags {
		if flag.Name == name || flag.Name == short {
			return &flagError{strings.Replace(err.Error(), refused.Argument, "--"+flag.Name, 1), err}
		}
	}
	return err
}

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

// oneLine replaces line breaks and control characters, so that the text is one line and can't
// contain terminal commands.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
