package projection

import (
	"cmp"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/errorform"
	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// reasons are the words of [Reason]. An error comes before the errors that it can wrap.
var reasons = []errorform.Reason{
	{Err: ErrStuck, Word: "stuck"},
	{Err: ErrPanic, Word: "panic"},
	{Err: engine.ErrRefused, Word: "refused"},
	{Err: ErrTooManyItems, Word: "too_many_items"},
	{Err: ErrInUse, Word: "in_use"},
	{Err: ErrNoProjection, Word: "no_projection"},
	{Err: ErrNoTable, Word: "no_table"},
	{Err: ErrNoStream, Word: "no_stream"},
	{Err: ErrOtherOffsets, Word: "other_offsets"},
	{Err: ErrReplicated, Word: "replicated"},
	{Err: ErrResetting, Word: "resetting"},
	{Err: ErrRunning, Word: "running"},
	{Err: ErrUnsupported, Word: "unsupported"},
}

// Reason returns a short, stable word for an error of a group or a projection, such as
// stuck for [ErrStuck]. For all other errors it returns the word of [dynajournal.Reason].
func Reason(err error) string {
	return cmp.Or(errorform.WordOf(err, reasons), dynajournal.Reason(err))
}
