//go:build mutants

package safeguard_test

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// killer names tests of a package that fail without a safeguard.
type killer struct {
	folder string
	// run is a pattern of go test's -run for the tests.
	run string
}

// The folders of the packages of these tests, from the module's root.
const (
	hosting    = "entity"
	projecting = "projection"
	processing = "process"
	system     = "internal/systemtest"
	dynamo     = "internal/dynamo"
	explored   = "internal/explore"
	ids        = "internal/ids"
	protocol   = "internal/protocol"
	relational = "projection/sqltest"
	snapshots  = "internal/snapshots"
	payloads   = "payloads"
)

// explorer is the systematic and random exploration of one scenario, with a fixed seed and a fixed
// number of schedules.
func explorer(scenario string) killer {
	return killer{explored, "TestExplore/^" + strings.ReplaceAll(regexp.QuoteMeta(scenario), " ", "_") + "$"}
}

// arguments are further arguments of a package's tests.
var arguments = map[string][]string{
	explored: {"-explore.seed=1", "-explore.schedules=70"},
	system:   {"-rapid.nofailfile"}, // the failures are wanted
}

// TestEverySafeguardIsListed compares the safeguards of the normal build with the switches, and
// with the tests that need them.
func TestEverySafeguardIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "on.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for _, name := range spec.Names {
				declared = append(declared, name.Name)
			}
		}
		return true
	})
	slices.Sort(declared)
	if switches := slices.Sorted(slices.Values(safeguard.Names)); !slices.Equal(declared, switches) {
		t.Errorf("on.go has %v, mutants.go has %v", declared, switches)
	}
	if killed := slices.Sorted(maps.Keys(killers)); !slices.Equal(declared, killed) {
		t.Errorf("on.go has %v, there are tests that kill for %v", declared, killed)
	}
}

// TestEveryMutantIsCaught runs, for each safeguard, the tests that need it, with that one off: they
// must fail. With all safeguards on they must pass. Run it with the build tag mutants.
func TestEveryMutantIsCaught(t *testing.T) {
	programs := build(t)
	t.Run("all on", func(t *testing.T) {
		for folder := range programs {
			t.Run(folder, func(t *testing.T) {
				t.Parallel()
				var patterns []string
				for _, k := range killers {
					if k.folder == folder && !slices.Contains(patterns, k.run) {
						patterns = append(patterns, k.run)
					}
				}
				for _, pattern := range patterns {
					output, err := without(t, "", programs[folder], killer{folder, pattern})
					if err != nil || bytes.Contains(output, []byte("no tests to run")) {
						t.Errorf("the tests %s fail with all safeguards on, or there are none: %v\n%s",
							pattern, err, output)
					}
				}
			})
		}
	})
	for _, name := range safeguard.Names {
		t.Run("without "+name, func(t *testing.T) {
			t.Parallel()
			k := killers[name]
			output, err := without(t, name, programs[k.folder], k)
			for again := 1; again < mostRuns && err == nil; again++ {
				output, err = without(t, name, programs[k.folder], k)
			}
			failed := regexp.MustCompile(`--- FAIL: (\S+)`).FindAll(output, -1)
			if err == nil || len(failed) == 0 {
				t.Fatalf("no test fails of %s in %s (%v)\n%s", k.run, k.folder, err, output)
			}
			t.Logf("caught by %s", bytes.Join(failed, []byte(", ")))
		})
	}
}

// mostRuns limits how often the tests that need a safeguard are run without it. Parallel requests
// are served in any order, and not every order needs the safeguard.
const mostRuns = 10

// build builds the test programs of these packages.
func build(t *testing.T) map[string]string {
	t.Helper()
	programs := map[string]string{}
	dir := t.TempDir()
	for _, k := range killers {
		if programs[k.folder] != "" {
			continue
		}
		program := filepath.Join(dir, strings.ReplaceAll(k.folder, "/", "-")+".test")
		compile := exec.CommandContext(t.Context(), "go", "test", "-c", "-tags", "mutants,long", "-o", program, ".")
		compile.Dir = filepath.Join("..", "..", k.folder) // which may be in a nested module
		if output, err := compile.CombinedOutput(); err != nil {
			t.Fatalf("build the tests of %s: %v\n%s", k.folder, err, output)
		}
		programs[k.folder] = program
	}
	return programs
}

// without runs tests with one safeguard off, or none if name is empty.
func without(t *testing.T, name, program string, k killer) ([]byte, error) {
	t.Helper()
	const longest = 2 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	run := exec.CommandContext(ctx, program, append([]string{"-test.failfast", "-test.run=" + k.run}, arguments[k.folder]...)...)
	run.Dir = filepath.Join("..", "..", k.folder)
	run.Env = append(os.Environ(), fmt.Sprintf("%s=%s", safeguard.Variable, name))
	return run.CombinedOutput()
}
