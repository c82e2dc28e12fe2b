package protocol_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that nothing that is read ahead outlives its reading.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
