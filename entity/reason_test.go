package entity_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

func TestReason_MostSpecificError(t *testing.T) {
	t.Parallel()
	for word, err := range map[string]error{
		"":                 nil,
		"busy":             fmt.Errorf("update: %w", entity.ErrBusy),
		"contended":        &entity.ContendedError{Err: dynajournal.ErrWriterConflict},
		"outcome_unknown":  fmt.Errorf("%w: %w", entity.ErrRecoveryTimeout, entity.ErrOutcomeUnknown),
		"recovery_timeout": entity.ErrRecoveryTimeout,
		"throttled":        dynajournal.ErrThrottled,
		"other":            errors.New("an error of a command"),
	} {
		if got := entity.Reason(err); got != word {
			t.Errorf("Reason(%v) is %q, want %q", err, got, word)
		}
	}
}
