package simulate_test

import (
	"os"
	"testing"

	"github.com/dynajournal/dynajournal/internal/testseed"
)

func TestMain(m *testing.M) {
	testseed.FixRapid()
	os.Exit(m.Run())
}
