package applicationconf_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/applicationconf"
	"github.com/dynajournal/dynajournal/internal/core"
)

// FuzzLoad checks that each file either results in a configuration that a journal accepts, or is
// refused with a single line that names the file.
func FuzzLoad(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "broken", "*.conf"))
	if err != nil || len(seeds) == 0 {
		f.Fatalf("%d seeds, error %v", len(seeds), err)
	}
	for _, seed := range seeds {
		if text, err := os.ReadFile(seed); err == nil {
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "application.conf")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := applicationconf.Load(path)
		if err != nil {
			if !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
			return
		}
		s.Config.AWS.Region = "us-east-1"
		if client, err := core.Connect(&s.Config); err != nil {
			t.Errorf("%+v: %v", s.Config, err)
		} else {
			client.Close()
		}
	})
}
