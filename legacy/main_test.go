package legacy_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no goroutine outlives its test.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
