//go:build mutants

package explore_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// TestEveryMutantIsCaught runs the tests of this package once for each safeguard, with that one off: they must fail. Run it
// with the build tag mutants.
func TestEveryMutantIsCaught(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{""}, safeguard.Names...) {
		t.Run("without "+name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			run := exec.CommandContext(ctx, program, "-test.skip=^TestEveryMutantIsCaught$", "-test.failfast", "-explore.seed=1", "-explore.schedules=70")
			run.Env = append(os.Environ(), safeguard.Variable+"="+name)
			output, err := run.CombinedOutput()
			if caught := err != nil; caught != (name != "") {
				t.Fatalf("failed: %v (%v)\n%s", caught, err, output)
			}
			t.Logf("caught by %s", bytes.Join(regexp.MustCompile(`--- FAIL: (\S+)`).FindAll(output, -1), []byte(", ")))
		})
	}
}
