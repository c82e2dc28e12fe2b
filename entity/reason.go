package entity

import (
	"cmp"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/errorform"
)

// reasons are the words of [Reason]. An error comes before the errors that it can wrap.
var reasons = []errorform.Reason{
	{Err: ErrOutcomeUnknown, Word: "outcome_unknown"},
	{Err: ErrContended, Word: "contended"},
	{Err: ErrBusy, Word: "busy"},
	{Err: ErrClosed, Word: "closed"},
	{Err: ErrDuplicate, Word: "duplicate"},
	{Err: ErrPanic, Word: "panic"},
	{Err: ErrRecoveryTimeout, Word: "recovery_timeout"},
	{Err: ErrReentrant, Word: "reentrant"},
}

// Reason returns a short, stable word for an error of a command or a hook of this package, such as
// busy for [ErrBusy]. For all other errors it returns the word of [dynajournal.Reason].
func Reason(err error) string {
	return cmp.Or(errorform.WordOf(err, reasons), dynajournal.Reason(err))
}
