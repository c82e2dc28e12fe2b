package applicationconf

import (
	"archive/zip"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/applicationconf/internal/hocon"
)

// releases contains the plug-ins whose reference.conf is compared with the known keys, each with
// its host. Their jars are read from the local Maven repository, where the interop tests put them.
var releases = map[string]struct {
	product      product
	plugin, host string
}{
	"Pekko 1.1.0": {
		pekko, "org/apache/pekko/pekko-persistence-dynamodb_2.13/1.1.0/pekko-persistence-dynamodb_2.13-1.1.0.jar",
		"org/apache/pekko/pekko-persistence_2.13/*/pekko-persistence_2.13-*.jar",
	},
	"Akka 1.1.2": {
		akka, "com/typesafe/akka/akka-persistence-dynamodb_2.13/1.1.2/akka-persistence-dynamodb_2.13-1.1.2.jar",
		"com/typesafe/akka/akka-persistence_2.13/2.5.*/akka-persistence_2.13-*.jar",
	},
	"Akka 1.3.0": {
		akka, "com/typesafe/akka/akka-persistence-dynamodb_2.13/1.3.0/akka-persistence-dynamodb_2.13-1.3.0.jar",
		"com/typesafe/akka/akka-persistence_2.13/2.6.*/akka-persistence_2.13-*.jar",
	},
}

// unreferenced contains the keys that are in none of these files: keys without a default, of
// earlier versions of the plug-ins, or of later versions of the hosts.
var unreferenced = []string{
	"region", "operation-timeout", "blocking-dispatcher", "event-adapters", "event-adapter-bindings",
	"only-one-snapshot",
}

// referenceOf reads the reference.conf in the jar that matches a pattern. Of several jars it reads
// the last by name.
func referenceOf(t *testing.T, pattern string) string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip(err)
	}
	found, err := filepath.Glob(filepath.Join(home, ".m2", "repository", pattern))
	if err != nil || len(found) == 0 {
		t.Skipf("the local Maven repository does not have %s (%v): the interop tests fetch it", pattern, err)
	}
	jar, err := zip.OpenReader(slices.Max(found))
	if err != nil {
		t.Fatal(err)
	}
	defer jar.Close()
	f, err := jar.Open("reference.conf")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "application.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestReferenceConf_Loads reads each reference.conf as a file, and as the base of an
// application.
func TestReferenceConf_Loads(t *testing.T) {
	for name, release := range releases {
		t.Run(name, func(t *testing.T) {
			plugin, host := referenceOf(t, release.plugin), referenceOf(t, release.host)
			p := release.product
			for how, text := range map[string]string{
				"alone":         plugin,
				"with the host": host + "\n" + plugin,
				"in sections with all that the host has": host + "\n" + plugin + `
					dynamodb-journal = ${` + p.host + `.persistence.journal-plugin-fallback} ${dynamodb-journal}
					dynamodb-snapshot-store = ${` + p.host + `.persistence.snapshot-store-plugin-fallback} ${dynamodb-snapshot-store}`,
				"under another name": plugin + `
					` + p.host + `.persistence.journal.plugin = bank, ` + p.host + `.persistence.snapshot-store.plugin = bank-snapshots
					bank = ${dynamodb-journal}, bank-snapshots = ${dynamodb-snapshot-store}`,
			} {
				s, err := Load(writeFile(t, text))
				if err != nil {
					t.Errorf("%s: %v", how, err)
				}
				if c := s.Config; c.JournalTable != p.tables || c.SnapshotTable != p.tables+"-snapshot" ||
					c.MaxItemSize != 400_000 || c.SequenceShards != 10 {
					t.Errorf("%s: %+v", how, c)
				}
			}
		})
	}
}

// TestReferenceConf_Keys compares the keys with each reference.conf, and the defaults to
// which a file can refer.
func TestReferenceConf_Keys(t *testing.T) {
	for name, release := range releases {
		t.Run(name, func(t *testing.T) {
			p := release.product
			path := writeFile(t, referenceOf(t, release.plugin)+"\n"+referenceOf(t, release.host))
			theirs, err := hocon.Load(path, "")
			if err != nil {
				t.Fatal(err)
			}
			ours, err := hocon.Load(writeFile(t, ""), p.defaults())
			if err != nil {
				t.Fatal(err)
			}
			unused := map[string]bool{}
			for section, known := range map[string]struct {
				keys     keys
				fallback string
			}{
				usualJournal:   {p.journalKeys(), p.host + ".persistence.journal-plugin-fallback"},
				usualSnapshots: {p.snapshotKeys(), p.host + ".persistence.snapshot-store-plugin-fallback"},
				usualRead:      {p.readKeys(), p.host + ".persistence.journal-plugin-fallback"},
			} {
				if !theirs.Has(section) {
					continue // of a version without read journals
				}
				rest := maps.Clone(known.keys)
				for _, from := range []string{section, known.fallback} {
					for _, key := range leaves(t, theirs, from, "", known.keys) {
						if _, ok := known.keys[key]; !ok {
							t.Errorf("%s.%s is not known", from, key)
						}
						delete(rest, key)
						want, _, errTheirs := theirs.Text(from + "." + key)
						got, set, err := ours.Text(section + "." + key)
						if from == section && (err != nil || errTheirs != nil || set && got != want) &&
							known.keys[key] != open {
							t.Errorf("%s.%s is %q by default, %v, %v; want %q", section, key, got, err, errTheirs, want)
						}
					}
				}
				for key := range rest {
					unused[key] = true
				}
			}
			for key := range unused {
				if !slices.Contains(unreferenced, key) && (key != "snapshot-is-optional" || p != akka) {
					t.Errorf("no reference.conf has %s", key)
				}
			}
		})
	}
}

// leaves returns the paths of the keys below a section that have no nested keys.
func leaves(t *testing.T, d *hocon.Document, section, within string, known keys) []string {
	t.Helper()
	found, err := d.Keys(strings.TrimSuffix(section+"."+within, "."))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, key := range found {
		path := within + key.Name
		if d.Has(section+"."+path) && known[path] != open {
			paths = append(paths, leaves(t, d, section, path+".", known)...)
			continue
		}
		paths = append(paths, path)
	}
	return paths
}
