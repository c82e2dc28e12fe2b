package protocol_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no goroutine that reads ahead outlives its replay.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
