package applicationconf_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/applicationconf"
)

var update = flag.Bool("update", false, "write the errors of the broken files anew")

// TestLoad_BrokenFiles reads the files of testdata/broken. Each has a file with
// its expected error, one line.
func TestLoad_BrokenFiles(t *testing.T) {
	t.Chdir(filepath.Join("testdata", "broken"))
	files, err := filepath.Glob("*.conf")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, name := range files {
		if name == "included-part.conf" {
			continue
		}
		t.Run(strings.TrimSuffix(name, ".conf"), func(t *testing.T) {
			_, err := applicationconf.Load(name)
			if err == nil {
				t.Fatal("it was read")
			}
			got, expected := err.Error()+"\n", strings.TrimSuffix(name, ".conf")+".error"
			if *update {
				if err := os.WriteFile(expected, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(expected)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) || strings.Count(got, "\n") != 1 {
				t.Errorf("got  %swant %s", got, want)
			}
		})
	}
}
