package protocol

import (
	"errors"
	"fmt"
)

// MaxHole is the largest number of consecutive sequence numbers that may be missing. If more are
// missing, the journal counts as damaged. A writer leaves at most as many as an atomic write has
// events. Sealing more, one by one, could keep a recovery busy for hours or for ever.
const MaxHole = 1 << 20

// ErrHole reports that more numbers in a row are missing than any writer leaves.
var ErrHole = errors.New("more sequence numbers in a row are missing than a writer can leave")

// HoleError names the missing numbers.
type HoleError struct {
	PersistenceID string
	// First and Last are the first and the last missing number.
	First, Last int64
	// HighMark and LowMark are the highest marks, or 0 if the mark is missing.
	HighMark, LowMark int64
}

func (e *HoleError) Error() string {
	return fmt.Sprintf("%v: %q, sequence numbers %d to %d, with the high mark %d and the low mark %d: read from %d on, or recover after a snapshot "+
		"of %d or later", ErrHole, e.PersistenceID, e.First, e.Last, e.HighMark, e.LowMark, e.Last+1, e.Last)
}

// Is reports whether target is ErrHole.
func (e *HoleError) Is(target error) bool { return target == ErrHole }
