package repotest

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// The architecture page names files in code spans. A file that is renamed must also be renamed
// there.
func TestFilesNamedInTheArchitectureExist(t *testing.T) {
	t.Parallel()
	for _, m := range regexp.MustCompile("`([a-z_/]+\\.go)`").FindAllStringSubmatch(readFile(t, "docs/architecture.md"), -1) {
		if _, err := os.Stat(inRoot(m[1])); err != nil {
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
