// Package outside bounds the age of payloads that are outside of the journal, in the store of
// serialization.External. Package payloads takes a payload to which no item refers for a leftover
// once it is old. So an item that refers to a payload is sent while the payload is young.
package outside

import (
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/internal/clock"
)

// MaxAge is how old a payload may be when an item that refers to it is sent. With the 15 minutes
// for which the service accepts a signed request, it is less than the least age of a leftover.
const MaxAge = 30 * time.Minute

// OldError reports that a payload is older than MaxAge.
type OldError struct{ Age time.Duration }

func (e *OldError) Error() string {
	return fmt.Sprintf("its payload was put to the store %v ago, so it may be taken for a leftover: write it again",
		e.Age.Round(time.Second))
}

// Check returns an *OldError if a payload that began to be put to the store at a moment is older
// than MaxAge now. The moment is nil if the payload is not in the store: then there is no error.
func Check(put *clock.Moment, now clock.Moment) error {
	if put == nil {
		return nil
	}
	if age := put.Until(now); age > MaxAge {
		return &OldError{age}
	}
	return nil
}

// Checking returns Check as a function that is called before each attempt of a put, nil if the
// payload is not outside.
func Checking(put *clock.Moment, c *clock.Clock) func() error {
	if put == nil {
		return nil
	}
	return func() error { return Check(put, c.Now()) }
}
