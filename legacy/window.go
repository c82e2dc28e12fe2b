package legacy

import (
	"math"

	"github.com/dynajournal/dynajournal"
)

// window is a checked [dynajournal.Range] with its defaults.
type window struct {
	from, to, limit int64
	// corrupt is called for each event that can't be read. Its error stops the read.
	corrupt func(*ItemError) error
}

// unlimited is the limit of a window without a limit.
const unlimited = math.MaxInt64

const mustNotBeNegative = "it must not be negative"

// newWindow checks r. argument is the name of r in an error.
func newWindow(argument string, r dynajournal.Range) (window, error) {
	w := window{from: max(r.From, 1), to: r.To, limit: unlimited, corrupt: func(err *ItemError) error { return err }}
	if w.to == 0 {
		w.to = dynajournal.MaxSequenceNumber
	}
	if r.Limit != nil {
		w.limit = *r.Limit
	}
	for _, field := range []struct {
		name  string
		value int64
	}{{"From", r.From}, {"To", r.To}, {"Limit", w.limit}} {
		if field.value < 0 {
			return w, &dynajournal.ArgumentError{
				Argument: argument + "." + field.name, Value: field.value, Reason: mustNotBeNegative,
			}
		}
	}
	return w, nil
}
