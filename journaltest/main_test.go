package journaltest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/internal/testseed"
)

// TestMain checks that no goroutine is left.
func TestMain(m *testing.M) {
	testseed.FixRapid()
	goleak.VerifyTestMain(m)
}
