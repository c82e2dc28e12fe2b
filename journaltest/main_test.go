package journaltest_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no goroutine is left.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
