package systemtest

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/internal/testseed"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// TestMain checks that no goroutine outlives the tests.
func TestMain(m *testing.M) {
	testsize.RelaxCollector()
	testseed.FixRapid()
	if !testsize.Long {
		if err := flag.Set("rapid.checks", "20"); err != nil { // the command line may override it
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
