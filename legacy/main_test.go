package legacy_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/internal/testseed"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// TestMain checks that no goroutine outlives its test.
func TestMain(m *testing.M) {
	testsize.RelaxCollector()
	testseed.FixRapid()
	goleak.VerifyTestMain(m)
}
