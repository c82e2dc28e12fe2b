package errorform

import "errors"

// Reason is the word that metrics and logs use for an error.
type Reason struct {
	Err  error
	Word string
}

// WordOf returns the word of the first error of a list that err is, or wraps. It returns an empty
// word if err is none of them.
func WordOf(err error, reasons []Reason) string {
	for _, reason := range reasons {
		if errors.Is(err, reason.Err) {
			return reason.Word
		}
	}
	return ""
}
