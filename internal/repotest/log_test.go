package repotest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Patterns of log records in code, and of their rows in docs/operations.md.
var (
	logCall  = regexp.MustCompile(`Logger\.(?:Log|LogAttrs|Debug|Info|Warn|Error)(?:Context)?\(`)
	logEvent = regexp.MustCompile(`"((?:journal|entity|projection|stream)\.[a-z_]+)"`)
	logRow   = regexp.MustCompile("(?m)^\\| `((?:journal|entity|projection|stream)\\.[a-z_]+)` \\|")
)

// logs reports whether a file is of a package that logs for services.
func logs(file string) bool {
	for _, folder := range []string{"entity/", "internal/core/", "internal/protocol/", "projection/"} {
		if strings.HasPrefix(file, folder) {
			return true
		}
	}
	return !strings.Contains(file, "/")
}

// Each record has a stable name, and operations.md says what to do about it.
func TestLog_EventsAreOnThePage(t *testing.T) {
	t.Parallel()
	events := map[string]bool{}
	for _, file := range sources(t, ".go") {
		if !logs(file) || strings.HasSuffix(file, "_test.go") {
			continue
		}
		source := readFile(t, file)
		for _, call := range logCall.FindAllStringIndex(source, -1) {
			if text := source[call[0]:min(call[0]+300, len(source))]; !strings.Contains(text, `"event"`) {
				t.Errorf("%s: a record has no event: %s", file, text[:80])
			}
		}
		for _, m := range logEvent.FindAllStringSubmatch(source, -1) {
			events[m[1]] = true
		}
	}
	rows := map[string]bool{}
	for _, m := range logRow.FindAllStringSubmatch(readFile(t, "docs/operations.md"), -1) {
		rows[m[1]] = true
	}
	if len(events) < 30 || !maps.Equal(events, rows) {
		t.Errorf("the code logs the events %q, docs/operations.md has %q", slices.Sorted(maps.Keys(events)), slices.Sorted(maps.Keys(rows)))
	}
}
