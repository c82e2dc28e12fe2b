package repotest

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/internal/testsize"
)

// excerpts lists the pages whose blocks of Go are parts of compiled files, which other tests check.
var excerpts = []string{"README.md", "docs/aws.md", "docs/tutorial.md"}

// nested are the modules in the repository that pages show.
var nested = []string{"payloads/s3payloads", "telemetry"}

// pageSources returns the sources in a page's blocks of Go: each whole file, and one source with
// all fragments. The fragments follow the file of testdata/pages with the page's name, which
// declares the names that they use.
func pageSources(t *testing.T, page string) (found []string) {
	t.Helper()
	var fragments strings.Builder
	text := readFile(t, page)
	if page == "docs/jvm.md" {
		text = strings.Replace(text, section(t, text, concepts), "", 1)
	}
	for i, block := range fenced(text, "go") {
		set := token.NewFileSet()
		if _, err := parser.ParseFile(set, "", block, 0); err == nil {
			found = append(found, block)
			continue
		}
		if _, err := parser.ParseFile(set, "", "package p\n"+block, 0); err != nil {
			block = fmt.Sprintf("func _(block%d int) {\n%s}\n", i, block)
		}
		fragments.WriteString("\n" + block)
	}
	if fragments.Len() > 0 {
		name := strings.TrimSuffix(path.Base(page), ".md") + ".go"
		found = append(found, readPath(t, filepath.Join("testdata", "pages", name))+fragments.String())
	}
	return found
}

// exported returns an importer of the packages that sources import, in the module of a folder.
func exported(t *testing.T, folder string, sources []string) types.Importer {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skipf("skipped: it asks the go command, which is not found: %v", err)
	}
	arguments := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for _, source := range sources {
		for _, name := range importsOf(t, source) {
			if !slices.Contains(arguments, name) {
				arguments = append(arguments, name)
			}
		}
	}
	command := exec.CommandContext(t.Context(), tool, arguments...)
	var stderr bytes.Buffer
	command.Dir, command.Stderr = inRoot(folder), &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list -export: %v: %s", err, &stderr)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[name] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(name string) (io.ReadCloser, error) {
		return os.Open(files[name])
	})
}

// importsOf returns the paths that a file imports.
func importsOf(t *testing.T, source string) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// compile returns the compiler errors of a file. A fragment may leave a variable unused, and return
// values of the function that it is taken from.
func compile(source string, packages types.Importer) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "page", source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	var found []error
	config := types.Config{Importer: packages, Error: func(err error) {
		text := err.Error()
		if !strings.Contains(text, "declared and not used") && !strings.Contains(text, "too many return values") {
			found = append(found, err)
		}
	}}
	_, _ = config.Check("page", set, []*ast.File{file}, nil) // config.Error has received each error
	return errors.Join(found...)
}

func TestGoCodeOfThePagesCompiles(t *testing.T) {
	testsize.NeedsLong(t, "it checks the types of whole packages")
	t.Parallel()
	byFolder := map[string][]string{}
	pageOf := map[string]string{}
	for _, page := range sources(t, ".md") {
		if slices.Contains(excerpts, page) {
			continue
		}
		for _, source := range pageSources(t, page) {
			folder := "."
			for _, module := range nested {
				if slices.Contains(importsOf(t, source), modulePath+"/"+module) {
					folder = module
				}
			}
			byFolder[folder] = append(byFolder[folder], source)
			pageOf[source] = page
		}
	}
	for _, module := range nested {
		if len(byFolder[module]) == 0 {
			t.Errorf("found no source with %s, so the search is wrong", module)
		}
	}
	if len(byFolder["."]) < 12 {
		t.Errorf("found %d sources, so the search is wrong", len(byFolder["."]))
	}
	for folder, list := range byFolder {
		packages := exported(t, folder, list)
		for _, source := range list {
			if err := compile(source, packages); err != nil {
				t.Errorf("%s has\n%s\n%v", pageOf[source], source, err)
			}
		}
	}
}

func TestCodeOfAPageThatDoesNotCompileIsFound(t *testing.T) {
	t.Parallel()
	for body, right := range map[string]bool{
		"func f() { x := 1 }":              true,
		"func f() { return 1 }":            true,
		"func f() { absent() }":            false,
		"func f() int { return \"a\" }":    false,
		"func f() { var s string; s = 1 }": false,
	} {
		if err := compile("package p\n"+body, importer.Default()); (err == nil) != right {
			t.Errorf("%q: %v", body, err)
		}
	}
}
