package repotest

import (
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/internal/mutants"
)

// mayImport lists the folders of the project that the packages in and below a folder may import, in
// addition to packages below the folder itself. The longest matching folder counts. Tests may
// import anything.
var mayImport = map[string][]string{
	".":                        {"internal", "serialization"},
	"applicationconf":          {".", "internal/layout"},
	"bench":                    {".", "entity", "internal", "legacy", "projection"},
	"cmd":                      {".", "applicationconf", "bench", "doctor", "embedded", "internal", "legacy", "projection", "serialization"},
	"doctor":                   {".", "internal", "projection"},
	"embedded":                 {},
	"entity":                   {".", "internal", "serialization"},
	"entity/entitytest":        {".", "embedded", "entity", "internal", "serialization"},
	"examples":                 {".", "embedded", "entity", "process", "projection", "serialization"},
	"internal":                 {"serialization"},
	"internal/enginetest":      {".", "embedded"},
	"internal/explore":         {"embedded", "internal", "serialization"},
	"internal/layout":          {"internal/clock", "internal/persistentpb", "serialization"},
	"journaltest":              {"."},
	"legacy":                   {".", "internal", "serialization"},
	"payloads":                 {".", "internal", "serialization"},
	"process":                  {".", "entity", "internal", "projection"},
	"projection":               {".", "internal"},
	"serialization":            {"internal/persistentpb"},
	"internal/backoff":         {},
	"internal/clock":           {},
	"internal/mutants":         {},
	"internal/dynamo":          {"internal/backoff", "internal/clock"},
	"internal/dynamo/direct":   {"internal/dynamo/wire"},
	"internal/dynamo/wire":     {},
	"cmd/dynajournal/internal": {".", "projection", "serialization"},

	// The engine of projections does not import its clients, and does not read streams itself.
	"projection/internal/engine": {".", "internal", "serialization"},
	"projection/internal/stream": {".", "internal", "projection/internal/engine"},
	"projection/operator":        {".", "internal", "projection"},
	"projection/outbox":          {".", "internal", "projection"},
	"projection/sqlprojection":   {".", "internal", "projection"},
	"projection/tags":            {".", "internal", "projection"},
	"projection/awslambda":       {".", "internal", "projection"},
}

// isForbidden reports whether a package must not import another package, even if mayImport allows
// it. Internal packages do not import the core. No code imports mutants, which are rows of a table.
func isForbidden(folder, imported string) bool {
	return imported == "internal/mutants" || imported == "internal/core" && below(folder, "internal")
}

// below reports whether a folder equals parent or is within it. The parent "." means the root
// package alone.
func below(folder, parent string) bool {
	return folder == parent || parent != "." && strings.HasPrefix(folder, parent+"/")
}

// ruleFor returns the folder of mayImport whose rule applies to a package, or "".
func ruleFor(folder string) string {
	rule := ""
	for candidate := range mayImport {
		if below(folder, candidate) && len(candidate) > len(rule) {
			rule = candidate
		}
	}
	return rule
}

// nestedModules returns the folders of the modules below the root's.
func nestedModules(t *testing.T) []string {
	t.Helper()
	var folders []string
	for _, file := range sources(t, ".mod") {
		if folder := path.Dir(file); folder != "." {
			folders = append(folders, folder)
		}
	}
	return folders
}

// projectImports returns the folders of the project's packages that a file imports.
func projectImports(t *testing.T, file string) []string {
	t.Helper()
	syntax, err := parser.ParseFile(token.NewFileSet(), inRoot(file), nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if imported == modulePath {
			folders = append(folders, ".")
		} else if folder, ok := strings.CutPrefix(imported, modulePath+"/"); ok {
			folders = append(folders, folder)
		}
	}
	return folders
}

// The test reads the files, to see the imports for all systems and build tags.
func TestPackagesImportOnlyTheLayersBelow(t *testing.T) {
	t.Parallel()
	nested := nestedModules(t)
	inNested := func(folder string) bool {
		return slices.ContainsFunc(nested, func(module string) bool { return below(folder, module) })
	}
	for _, file := range sources(t, ".go") {
		folder := path.Dir(file)
		if strings.HasSuffix(file, "_test.go") || inNested(folder) {
			continue
		}
		rule := ruleFor(folder)
		if rule == "" {
			t.Errorf("%s: no rule says what %s may import: add one to mayImport", file, folder)
			continue
		}
		for _, imported := range projectImports(t, file) {
			allowed := below(imported, rule) || slices.ContainsFunc(mayImport[rule], func(layer string) bool {
				return below(imported, layer)
			})
			if !allowed || inNested(imported) || isForbidden(folder, imported) {
				t.Errorf("%s imports %s, which is not a layer below %s", file, imported, rule)
			}
		}
	}
}

// A nested module is released with its own version, so it may use only the public API of the
// project.
func TestNestedModulesImportNothingInternal(t *testing.T) {
	t.Parallel()
	for _, module := range nestedModules(t) {
		for _, file := range sources(t, ".go") {
			if !below(path.Dir(file), module) {
				continue
			}
			for _, imported := range projectImports(t, file) {
				internal := strings.Contains("/"+imported+"/", "/internal/")
				if internal && !below(imported, module) {
					t.Errorf("%s imports %s, which is internal to another module", file, imported)
				}
			}
		}
	}
}

func TestNoCodeReadsTheVariableOfMutants(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t, ".go") {
		if !below(path.Dir(file), "internal/mutants") && !strings.HasSuffix(file, "_test.go") &&
			strings.Contains(readFile(t, file), mutants.Variable) {
			t.Errorf("%s has the variable that chooses a mutant", file)
		}
	}
}
