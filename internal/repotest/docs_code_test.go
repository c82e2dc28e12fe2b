package repotest

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documentedPackages maps the packages that code on the pages may name to their folders.
var documentedPackages = map[string]string{
	"applicationconf": "applicationconf",
	"dynajournal":     ".",
	"embedded":        "embedded",
	"entity":          "entity",
	"entitytest":      "entity/entitytest",
	"journaltest":     "journaltest",
	"legacy":          "legacy",
	"migration":       "legacy/migration",
	"projection":      "projection",
	"serialization":   "serialization",
}

// parsePackage returns the syntax of the files of a folder, with or without tests.
func parsePackage(t *testing.T, folder string, tests bool) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(inRoot(folder), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") && !tests {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// declared returns the names that files declare outside functions, without methods.
func declared(files []*ast.File) map[string]bool {
	names := map[string]bool{}
	for _, file := range files {
		for _, declaration := range file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					names[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						names[s.Name.Name] = true
					case *ast.ValueSpec:
						for _, name := range s.Names {
							names[name.Name] = true
						}
					}
				}
			}
		}
	}
	return names
}

// checkCode returns an error if a block of Go is not formatted, or uses a name that a package of
// the project does not declare. A block is a whole file, or some declarations or statements.
func checkCode(block string, packages map[string]map[string]bool) error {
	formatted, err := format.Source([]byte(block))
	if err != nil {
		return err
	}
	if !bytes.Equal(formatted, []byte(block)) {
		return fmt.Errorf("gofmt would have it as\n%s", formatted)
	}
	for _, source := range []string{
		block,
		"package p\n" + block,
		"package p\nfunc _() {\n" + block + "\n}",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		var unknown []error
		ast.Inspect(file, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			name, ok := selector.X.(*ast.Ident)
			if ok && packages[name.Name] != nil && !packages[name.Name][selector.Sel.Name] {
				unknown = append(unknown, fmt.Errorf("there is no %s.%s", name.Name, selector.Sel.Name))
			}
			return true
		})
		return errors.Join(unknown...)
	}
	return errors.New("it is neither a file, nor declarations, nor statements")
}

func TestPages_GoCodeUsesExistingNames(t *testing.T) {
	t.Parallel()
	packages := map[string]map[string]bool{}
	for name, folder := range documentedPackages {
		packages[name] = declared(parsePackage(t, folder, false))
	}
	blocks := 0
	for _, page := range sources(t, ".md") {
		for _, block := range fenced(readFile(t, page), "go") {
			blocks++
			if err := checkCode(block, packages); err != nil {
				t.Errorf("%s has\n%s\n%v", page, block, err)
			}
		}
	}
	if blocks == 0 {
		t.Error("no page has a block of Go")
	}
}

func TestWrongCodeOfAPageIsFound(t *testing.T) {
	t.Parallel()
	packages := map[string]map[string]bool{"embedded": {"OpenMemory": true}}
	for code, right := range map[string]bool{
		"x := embedded.OpenMemory()\n":                      true,
		"var x = embedded.OpenMemory\n":                     true,
		"package a\n\nfunc f() { embedded.OpenMemory() }\n": true,
		"x := embedded.OpenMemroy()\n":                      false,
		"x:=1\n":                                            false,
		"x := (\n":                                          false,
		"package a\n\nfunc f() { return embedded.Open }\n":  false,
		"x := other.Name\ny := embedded.OpenMemory(embedded.Absent)\n": false,
	} {
		if err := checkCode(code, packages); (err == nil) != right {
			t.Errorf("%q: %v", code, err)
		}
	}
}

var (
	goCommand = regexp.MustCompile("(?m)\\bgo (?:test|run) [^`|\n#)]*")
	ciCommand = regexp.MustCompile(`(?m)(?:^|[\s` + "`" + `])(\.ci/[a-z]+)`)
)

// checkCommand returns an error if a go command names a folder, a test or a test flag that does not
// exist, or only tests that are skipped without the build tag long. For a folder, names returns the
// names that its package declares, flags the flags of its tests, and long the tests that need the
// tag.
func checkCommand(command string, names, flags, long func(folder string) map[string]bool) error {
	var folder, run string
	other := false // benchmarks or fuzzing: -run then excludes the tests on purpose
	var custom []string
	words := strings.Fields(command)
	for i, word := range words {
		name, value, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		switch {
		case folder == "" && (word == "." || strings.HasPrefix(word, "./")):
			folder = filepath.Clean(strings.TrimSuffix(word, "..."))
			if info, err := os.Stat(inRoot(folder)); err != nil || !info.IsDir() {
				return fmt.Errorf("there is no folder %s", word)
			}
		case strings.HasPrefix(word, "-") && (name == "run" || name == "bench" || name == "fuzz"):
			if value == "" && i+1 < len(words) {
				value = words[i+1]
			}
			if name != "run" || !other {
				run = strings.Trim(value, "'\"^$")
			}
			other = other || name != "run"
		case strings.HasPrefix(word, "-") && strings.Contains(name, ".") && words[1] == "test":
			custom = append(custom, name)
		}
	}
	if folder == "" {
		return nil
	}
	for _, flag := range custom {
		if !strings.HasPrefix(flag, "test.") && !strings.HasPrefix(flag, "rapid.") && !flags(folder)[flag] {
			return fmt.Errorf("the tests of %s have no flag -%s", folder, flag)
		}
	}
	if run == "" || !regexp.MustCompile(`^[A-Za-z]\w*$`).MatchString(run) {
		return nil
	}
	skipped := ""
	for name := range names(folder) {
		if strings.Contains(name, run) {
			if strings.Contains(command, "-tags long") || !long(folder)[name] {
				return nil
			}
			skipped = name
		}
	}
	if skipped != "" {
		return fmt.Errorf("%s of %s is skipped without -tags long", skipped, folder)
	}
	return fmt.Errorf("%s has no test that -run %s names", folder, run)
}

// longTests returns the tests of a folder that are skipped without the build tag long.
func longTests(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(inRoot(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	test := regexp.MustCompile(`(?ms)^func (Test\w+)\(.*?^}`)
	found := map[string]bool{}
	for _, file := range files {
		source := readPath(t, file)
		for _, m := range test.FindAllStringSubmatch(source, -1) {
			found[m[1]] = strings.Contains(m[0], "\ttestsize.NeedsLong(") || strings.HasPrefix(source, "//go:build long\n")
		}
	}
	return found
}

func TestPages_CommandsUseExistingNames(t *testing.T) {
	t.Parallel()
	names := onceEach(func(folder string) map[string]bool { return declared(parsePackage(t, folder, true)) })
	defined := regexp.MustCompile(`flag\.[A-Z]\w*\("([^"]+)"`)
	flags := onceEach(func(folder string) map[string]bool {
		found := map[string]bool{}
		files, err := filepath.Glob(filepath.Join(inRoot(folder), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, m := range defined.FindAllStringSubmatch(readPath(t, file), -1) {
				found[m[1]] = true
			}
		}
		return found
	})
	long := onceEach(func(folder string) map[string]bool { return longTests(t, folder) })
	commands := 0
	for _, page := range sources(t, ".md") {
		text := readFile(t, page)
		for _, command := range goCommand.FindAllString(text, -1) {
			commands++
			if err := checkCommand(command, names, flags, long); err != nil {
				t.Errorf("%s says %q: %v", page, command, err)
			}
		}
		for _, m := range ciCommand.FindAllStringSubmatch(text, -1) {
			commands++
			if info, err := os.Stat(inRoot(m[1])); err != nil || info.Mode()&0o100 == 0 {
				t.Errorf("%s names %s, which cannot be run", page, m[1])
			}
		}
	}
	if commands < 10 {
		t.Errorf("found %d commands, so the pattern is wrong", commands)
	}
}

// onceEach returns a function that calls find once for each folder, because most commands name the
// same folders.
func onceEach(find func(folder string) map[string]bool) func(folder string) map[string]bool {
	found := map[string]map[string]bool{}
	return func(folder string) map[string]bool {
		if found[folder] == nil {
			found[folder] = find(folder)
		}
		return found[folder]
	}
}

func TestWrongCommandOfAPageIsFound(t *testing.T) {
	t.Parallel()
	names := func(string) map[string]bool {
		return map[string]bool{"TestOne": true, "FuzzTwo": true, "TestFour": true}
	}
	long := func(string) map[string]bool { return map[string]bool{"TestFour": true} }
	flags := func(string) map[string]bool { return map[string]bool{"verify.seed": true} }
	for command, right := range map[string]bool{
		"go test ./...": true,
		"go test ./internal/protocol -run TestOne":          true,
		"go test . -run '^$' -fuzz FuzzTwo":                 true,
		"go test . -verify.seed=1 -rapid.seed=2":            true,
		"go test -tags interop ./internal/interop/ -seed 7": true,
		"go test ./internal/absent":                         false,
		"go run ./cmd/absent":                               false,
		"go test . -run TestThree":                          false,
		"go test . -fuzz=FuzzThree":                         false,
		"go test . -run none -bench One":                    true,
		"go test . -bench Three -run TestOne":               false,
		"go test . -run TestOne -verify.absent=100":         false,
		"go test . -run TestFour":                           false,
		"go test -tags long . -run 'TestFour$'":             true,
	} {
		if err := checkCommand(command, names, flags, long); (err == nil) != right {
			t.Errorf("%q: %v", command, err)
		}
	}
}

func TestREADME_InstallCommands(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.Join(fenced(readFile(t, "README.md"), "sh"), ""), "\n")
	for _, line := range []string{
		"go get " + modulePath,
		"go install " + modulePath + "/cmd/dynajournal@latest",
	} {
		if !slices.Contains(lines, line) {
			t.Errorf("README.md does not say %q", line)
		}
	}
	if files := parsePackage(t, "cmd/dynajournal", false); len(files) == 0 || files[0].Name.Name != "main" {
		t.Error("cmd/dynajournal is no command")
	}
}
