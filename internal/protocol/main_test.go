package protocol_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/internal/testsize"
)

// TestMain checks that no goroutine that reads ahead outlives its replay.
func TestMain(m *testing.M) {
	testsize.RelaxCollector()
	goleak.VerifyTestMain(m)
}
