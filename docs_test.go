package dynajournal_test

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// markdown are the project's pages.
func markdown(t *testing.T) []string {
	t.Helper()
	var pages []string
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && path != "." && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func TestLinksBetweenPagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	code := regexp.MustCompile("(?ms)^```.*?^```$")
	for _, page := range markdown(t) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(readFile(t, page), ""), -1) {
			if u, err := url.Parse(m[1]); err != nil || u.IsAbs() {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
		}
	}
}

// The architecture names files in code quotes; one that was renamed must be renamed there.
func TestFilesNamedInTheArchitectureExist(t *testing.T) {
	t.Parallel()
	for _, m := range regexp.MustCompile("`([a-z_/]+\\.go)`").FindAllStringSubmatch(readFile(t, "docs/architecture.md"), -1) {
		if _, err := os.Stat(filepath.FromSlash(m[1])); err != nil {
			t.Errorf("docs/architecture.md names %s: %v", m[1], err)
		}
	}
}

func TestEveryFieldOfTheConfigurationIsDocumented(t *testing.T) {
	t.Parallel()
	page := readFile(t, "docs/configuration.md")
	for prefix, config := range map[string]reflect.Type{
		"":      reflect.TypeFor[dynajournal.Config](),
		"HTTP.": reflect.TypeFor[dynajournal.HTTPConfig](),
	} {
		for field := range config.Fields() {
			if name := prefix + field.Name; field.IsExported() && name != "HTTP" && !strings.Contains(page, "`"+name+"`") {
				t.Errorf("docs/configuration.md does not name %s", name)
			}
		}
	}
}
