package repotest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// checkChangelog returns the faults of a changelog's headings, which .ci/release reads. The newest
// version comes first, after the section of unreleased changes.
func checkChangelog(text string) []string {
	kinds := []string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
	version := regexp.MustCompile(`^v(\d+)\.(\d+)\.(\d+)(?: - \d{4}-\d{2}-\d{2})?$`)
	var wrong []string
	var newer [3]int
	for i, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(text, -1) {
		if i == 0 {
			if m[1] != "Unreleased" {
				wrong = append(wrong, fmt.Sprintf("the first section is %q, not Unreleased", m[1]))
			}
			continue
		}
		parts := version.FindStringSubmatch(m[1])
		if parts == nil {
			wrong = append(wrong, fmt.Sprintf("%q is not a version such as v0.1.0 - 2026-01-31", m[1]))
			continue
		}
		var this [3]int
		if _, err := fmt.Sscan(strings.Join(parts[1:], " "), &this[0], &this[1], &this[2]); err != nil {
			wrong = append(wrong, err.Error())
		}
		if i > 1 && slices.Compare(this[:], newer[:]) >= 0 {
			wrong = append(wrong, m[1]+" is below an older version")
		}
		newer = this
	}
	for _, m := range regexp.MustCompile(`(?m)^### (.*)$`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(kinds, m[1]) {
			wrong = append(wrong, fmt.Sprintf("a change is none of %v: %q", kinds, m[1]))
		}
	}
	return wrong
}

func TestChangelogIsByVersion(t *testing.T) {
	t.Parallel()
	for _, wrong := range checkChangelog(readFile(t, "CHANGELOG.md")) {
		t.Error(wrong)
	}
}

func TestWrongChangelogIsFound(t *testing.T) {
	t.Parallel()
	for text, right := range map[string]bool{
		"## Unreleased\n\n### Added\n\n## v0.10.0 - 2026-01-31\n\n## v0.9.1\n": true,
		"## v0.1.0\n":                                   false,
		"## Unreleased\n\n## 0.1.0\n":                   false,
		"## Unreleased\n\n## v0.9.1\n\n## v0.10.0\n":    false,
		"## Unreleased\n\n## v0.9.1\n\n## v0.9.1\n":     false,
		"## Unreleased\n\n## v0.9.1\n\n### Broken\n":    false,
		"## Unreleased\n\n## Unreleased\n\n## v0.9.1\n": false,
	} {
		if wrong := checkChangelog(text); (len(wrong) == 0) != right {
			t.Errorf("%q: %q", text, wrong)
		}
	}
}
