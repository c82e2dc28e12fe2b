package systemtest

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no goroutine outlives what it belongs to.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
