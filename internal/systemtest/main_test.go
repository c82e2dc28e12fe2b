package systemtest

import (
	"flag"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/internal/testsize"
)

// TestMain checks that no goroutine outlives what it belongs to.
func TestMain(m *testing.M) {
	if !testsize.Long {
		// Most tests hold little memory, so the collector would run a thousand times. With the
		// limit it runs more often for those that hold more.
		const percent, limit = 400, 550 << 20
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
		if err := flag.Set("rapid.checks", "30"); err != nil { // the command line may set it again
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
