package explore_test

import (
	"os"
	"testing"

	"github.com/dynajournal/dynajournal/internal/testsize"
)

func TestMain(m *testing.M) {
	testsize.RelaxCollector()
	os.Exit(m.Run())
}
