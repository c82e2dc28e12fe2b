package projection_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

func TestReason_MostSpecificError(t *testing.T) {
	t.Parallel()
	for word, err := range map[string]error{
		"":          nil,
		"stuck":     fmt.Errorf("wait: %w", projection.ErrStuck),
		"panic":     &projection.HandlerError{Err: projection.ErrPanic},
		"refused":   fmt.Errorf("send: %w", outbox.ErrRefused),
		"throttled": dynajournal.ErrThrottled,
		"other":     errors.New("an error of the handler"),
	} {
		if got := projection.Reason(err); got != word {
			t.Errorf("Reason(%v) is %q, want %q", err, got, word)
		}
	}
}
