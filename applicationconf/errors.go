package applicationconf

import (
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/applicationconf/internal/hocon"
)

// Errors in a file, for errors.Is. The error is an *[Error].
var (
	// ErrUnknownKey: a section of the plug-ins has an unknown key, or a section at the top level
	// has a name similar to the name of a plug-in's section. [Error.Nearest] is the probable name.
	// [AllowKey] allows a key that an extension reads.
	ErrUnknownKey = errors.New("is not known")

	// ErrNoSection: the file has no section of the plug-ins, or lacks the section that the host's
	// key names. A file that sets nothing is refused, because it is probably the wrong file.
	ErrNoSection = errors.New("there is no section")

	// ErrNotSupported: the file configures a plug-in that this package does not read, such as
	// version 2 of Akka's plug-in, whose tables have another layout.
	ErrNotSupported = errors.New("is not supported")
)

// Error describes a problem in a file, and its position. Its text is a single line, and never
// contains the value of aws-access-key-id, aws-secret-access-key or proxy-password.
type Error struct {
	// File is the path of the file, or of a file that it includes.
	File string

	// Line is the line in File, starting at 1. It is 0 if the error applies to the whole file.
	Line int

	// Key is the path of the key, such as "dynamodb-journal.journal-table". It is empty if the
	// error has no key, as for a missing bracket.
	Key string

	// Nearest is the name that an unknown key is probably meant for, as a path below its section.
	// It is empty if no known name is similar, and for all errors except ErrUnknownKey.
	Nearest string

	// Err is the reason. If the error is in an included file, the outer file's Err is the *Error of
	// the included file.
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

// parseError returns a parse error as an *Error. Other errors, such as from reading the file, are
// returned unchanged.
func parseError(err error) error {
	var wrong *hocon.Error
	if !errors.As(err, &wrong) {
		return err
	}
	return &Error{File: wrong.At.File, Line: wrong.At.Line, Err: parseError(wrong.Err)}
}
