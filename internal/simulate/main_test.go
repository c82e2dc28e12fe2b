package simulate_test

import (
	"os"
	"testing"

	"github.com/dynajournal/dynajournal/internal/testseed"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

func TestMain(m *testing.M) {
	testsize.RelaxCollector()
	testseed.FixRapid()
	os.Exit(m.Run())
}
