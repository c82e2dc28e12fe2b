//go:build mutants

package mutants_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal/internal/mutants"
)

// arguments lists further arguments for the tests of a package. The explorations have a fixed seed
// and a fixed number of schedules.
var arguments = map[string][]string{
	"internal/explore":    {"-explore.seed=1", "-explore.schedules=70"},
	"internal/systemtest": {"-rapid.nofailfile"}, // the failures are intended
}

// TestMain lets twice as many programs run at once as there are processors: many of them only wait
// for an event that a mutant prevents.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	m.Run() // which reads the command line, so that -parallel has priority
}

// TestEveryMutantIsCaught runs, for each mutant, the tests that need its safeguard: at least one
// must fail. Without a mutant they must pass. Run it with the build tag mutants.
func TestEveryMutantIsCaught(t *testing.T) {
	table := read(t)
	programs := build(t, table)
	t.Run("none", func(t *testing.T) {
		for folder := range programs.paths {
			t.Run(folder, func(t *testing.T) {
				t.Parallel()
				var patterns []string
				for _, m := range table.Mutants {
					if m.Folder == folder && !slices.Contains(patterns, m.Run) {
						patterns = append(patterns, m.Run)
					}
				}
				for _, pattern := range patterns {
					output, err := programs.run(t, "", folder, pattern)
					if err != nil || bytes.Contains(output, []byte("no tests to run")) {
						t.Errorf("the tests %s fail without a mutant, or there are none: %v\n%s", pattern, err, output)
					}
				}
			})
		}
	})
	for _, m := range table.Mutants {
		t.Run("without "+m.Name, func(t *testing.T) {
			t.Parallel()
			output, err := programs.run(t, m.Name, m.Folder, m.Run)
			for again := 1; again < mostRuns && err == nil; again++ {
				output, err = programs.run(t, m.Name, m.Folder, m.Run)
			}
			failed := regexp.MustCompile(`--- FAIL: (\S+)`).FindAll(output, -1)
			if err == nil || len(failed) == 0 {
				t.Fatalf("no test fails of %s in %s (%v)\n%s", m.Run, m.Folder, err, output)
			}
			t.Logf("caught by %s", bytes.Join(failed, []byte(", ")))
		})
	}
}

// mostRuns bounds the number of runs of the tests without their safeguard. Parallel requests are
// served in any order, and not every order needs the safeguard.
const mostRuns = 10

// programs are test programs that contain all mutants.
type programs struct {
	overlay string
	// paths maps the folders of packages to their programs.
	paths map[string]string
}

// build builds the test programs of the packages with killers, with one overlay.
func build(t *testing.T, table *mutants.Table) *programs {
	t.Helper()
	folder := t.TempDir()
	overlay, err := table.WriteOverlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &programs{overlay, map[string]string{}}
	for _, m := range table.Mutants {
		if p.paths[m.Folder] != "" {
			continue
		}
		program := filepath.Join(folder, strings.ReplaceAll(m.Folder, "/", "-")+".test")
		compile := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay, "-tags", "long", "-o", program, ".")
		// The folder may be in a nested module.
		compile.Dir = filepath.Join(root, filepath.FromSlash(m.Folder))
		if output, err := compile.CombinedOutput(); err != nil {
			t.Fatalf("build the tests of %s: %v\n%s", m.Folder, err, output)
		}
		if text, err := os.ReadFile(program); err != nil || !bytes.Contains(text, []byte(mutants.SwitchFile)) {
			t.Fatalf("the tests of %s have no mutants in them: is the build flag -cover set? (%v)", m.Folder, err)
		}
		p.paths[m.Folder] = program
	}
	return p
}

// run runs tests with a mutant, or without one if the name is empty. Programs that the tests build
// also contain the mutants.
func (p *programs) run(t *testing.T, mutant, folder, pattern string) ([]byte, error) {
	t.Helper()
	const longest = 2 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	run := exec.CommandContext(ctx, p.paths[folder], append([]string{"-test.failfast", "-test.run=" + pattern}, arguments[folder]...)...)
	run.Dir = filepath.Join(root, filepath.FromSlash(folder))
	run.Env = append(os.Environ(), fmt.Sprintf("%s=%s", mutants.Variable, mutant),
		"GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+p.overlay)
	return run.CombinedOutput()
}
