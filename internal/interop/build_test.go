//go:build interop

package interop_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// needJVM skips a test if Java or Maven is missing.
func needJVM(tb testing.TB) {
	tb.Helper()
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			tb.Skipf("%s is not on the path: nothing is tested against the real plug-in", tool)
		}
	}
}

// plugin is a version of the real plug-in.
type plugin struct {
	// name is the name of the plug-in, and of its profile in pom.xml.
	name string
	// built returns the folder with the program and its libraries.
	built func() (string, error)
}

var (
	pekko110 = newPlugin("pekko-1.1.0")
	akka112  = newPlugin("akka-1.1.2")
	akka130  = newPlugin("akka-1.3.0")

	allPlugins = []*plugin{pekko110, akka112, akka130}
)

// chosen names the plug-ins for tests that run once for each plug-in.
var chosen = flag.String("plugins", "", "plug-ins with commas between, or all; by default Akka's run some of the tests")

// chosenPlugins returns the plug-ins that the flag names, or unless if the flag is empty.
func chosenPlugins(tb testing.TB, unless ...*plugin) []*plugin {
	tb.Helper()
	switch *chosen {
	case "":
		return unless
	case "all":
		return allPlugins
	}
	var plugins []*plugin
	for name := range strings.SplitSeq(*chosen, ",") {
		i := slices.IndexFunc(allPlugins, func(p *plugin) bool { return p.name == name })
		if i < 0 {
			tb.Fatalf("there is no plug-in %q", name)
		}
		plugins = append(plugins, allPlugins[i])
	}
	return plugins
}

// eachPlugin runs a test with each plug-in, on the tables of a shared journal.
func eachPlugin(t *testing.T, test func(t *testing.T, s *service)) {
	t.Helper()
	runWith(t, chosenPlugins(t, allPlugins...), test)
}

// eachChosen runs a test with Pekko's plug-in, and with Akka's if the flag names them.
func eachChosen(t *testing.T, test func(t *testing.T, s *service)) {
	t.Helper()
	runWith(t, chosenPlugins(t, pekko110), test)
}

func runWith(t *testing.T, plugins []*plugin, test func(t *testing.T, s *service)) {
	t.Helper()
	for _, p := range plugins {
		t.Run(p.name, func(t *testing.T) { test(t, onPlugin(t, p)) })
	}
}

// onPlugin returns a shared journal with the default configuration in Go, and a JVM with the
// plug-in.
func onPlugin(tb testing.TB, p *plugin) *service {
	tb.Helper()
	s := newService(tb, dynajournal.Config{}, dynajournal.TableOptions{SharedWithJVM: true})
	s.jvm, s.plugin = p.on(tb, dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable), p
	return s
}

// on returns the program with the plug-in, on tables with the given names.
func (p *plugin) on(tb testing.TB, journal, snapshots string) *program {
	tb.Helper()
	if p == pekko110 && journal == dynajournal.DefaultJournalTable && snapshots == dynajournal.DefaultSnapshotTable {
		return jvm(tb) // the names are its defaults
	}
	return p.run(tb, tablesSettings(journal, snapshots)...)
}

// tablesSettings returns the settings of the tables' names.
func tablesSettings(journal, snapshots string) []string {
	return []string{
		"dynamodb-journal.journal-table=" + journal,
		"dynamodb-read-journal.journal-table=" + journal,
		"dynamodb-snapshot-store.snapshot-table=" + snapshots,
	}
}

func newPlugin(name string) *plugin {
	p := &plugin{name: name}
	p.built = sync.OnceValues(p.build)
	return p
}

// build builds the Java program once for each state of the sources, in the user's cache.
func (p *plugin) build() (string, error) {
	sum, err := sourcesSum()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache: %w", err)
	}
	parent := filepath.Join(cache, "dynajournal")
	built := filepath.Join(parent, fmt.Sprintf("interop-%s-%x", p.name, sum[:8]))
	if _, err := os.Stat(built); err == nil {
		return built, nil
	}
	if err := os.MkdirAll(parent, 0o750); err != nil {
		return "", fmt.Errorf("make the cache: %w", err)
	}
	target, err := os.MkdirTemp(parent, "building-*")
	if err != nil {
		return "", fmt.Errorf("make a folder to build in: %w", err)
	}
	defer func() { _ = os.RemoveAll(target) }() // after success it no longer exists
	maven := exec.CommandContext(context.Background(), "mvn", "-q", "-B", "-P"+p.name, "-Dinterop.target="+target, "package")
	if out, err := maven.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the Java program with %s: %w\n%s", p.name, err, out)
	}
	if err := os.Rename(target, built); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("put the Java program into the cache: %w", err)
	}
	return built, nil
}

// sourcesSum returns the hash of all sources of the Java program.
func sourcesSum() ([sha256.Size]byte, error) {
	hash := sha256.New()
	add := func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path) //nolint:gosec // our own sources
		if err == nil {
			_, err = fmt.Fprintf(hash, "%s %d\n%s", path, len(data), data)
		}
		return err
	}
	for _, root := range []string{"pom.xml", "src"} {
		if err := filepath.WalkDir(root, add); err != nil {
			return [sha256.Size]byte{}, fmt.Errorf("read the sources of the Java program: %w", err)
		}
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}
