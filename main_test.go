package dynajournal_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no goroutine is left when the tests are done.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
