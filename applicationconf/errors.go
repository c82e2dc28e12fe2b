package applicationconf

import (
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/applicationconf/internal/hocon"
)

// Errors of a file, for errors.Is. The error is an *Error.
var (
	// ErrUnknownKey: a section of the plug-ins has a key that they don't have, or a section at the
	// top has almost the name of one of theirs. [Error.Nearest] is the probable name. [AllowKey]
	// allows a key that an extension reads.
	ErrUnknownKey = errors.New("is not known")

	// ErrNoSection: the file has no section of the plug-ins, or none of the name that the host's
	// key has. A file that sets nothing is refused, because it is probably another one.
	ErrNoSection = errors.New("there is no section")

	// ErrNotSupported: the file configures another plug-in than those that this package reads, such
	// as version 2 of Akka's. Its tables have another layout.
	ErrNotSupported = errors.New("is not supported")
)

// Error tells what is wrong in a file, and where. Its text has one line, and no value of
// aws-access-key-id, aws-secret-access-key or proxy-password.
type Error struct {
	// File is the path of the file, or of one that it includes.
	File string

	// Line is the line in File, from 1. It is 0 if the error belongs to the file as a whole.
	Line int

	// Key is the path of the key, such as "dynamodb-journal.journal-table". It is empty if the
	// error does not belong to a key, as with a missing bracket.
	Key string

	// Nearest is the name that an unknown key is probably meant for, as it is below its section. It
	// is empty if no name is similar, and with all errors but ErrUnknownKey.
	Nearest string

	// Err is what is wrong. In a file that includes a wrong one it is the *Error of the included
	// file.
	Err error
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// parseError returns the error of a file that can't be parsed as an *Error. Others, of reading the
// file, are returned unchanged.
func parseError(err error) error {
	var wrong *hocon.Error
	if !errors.As(err, &wrong) {
		return err
	}
	return &Error{File: wrong.At.File, Line: wrong.At.Line, Err: parseError(wrong.Err)}
}
