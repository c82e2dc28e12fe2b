package repotest

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// commentColumns is the largest number of columns of a line with a comment; a tab counts as four.
const commentColumns = 100

// sources returns the files with an extension, except files in hidden folders and test data.
// .github is not skipped, because it has pages for readers.
func sources(t *testing.T, extension string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path, err = filepath.Rel(root, path); err != nil {
			return err
		}
		name := entry.Name()
		hidden := path != "." && strings.HasPrefix(name, ".") && name != ".github"
		if entry.IsDir() && (hidden || name == "node_modules" || name == "testdata") {
			return filepath.SkipDir
		}
		if entry.Type().IsRegular() && filepath.Ext(path) == extension {
			files = append(files, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// directive matches a directive such as go:build, which cannot be broken: a word and a colon,
// without a space before the word.
var directive = regexp.MustCompile(`^//[a-z]+:\S`)

// longComments returns the numbers of the lines of a Go file with a comment beyond the limit.
// Directives and comments of one word, such as an address, are left out.
func longComments(source string) []int {
	lines := strings.Split(source, "\n")
	var file scanner.Scanner
	position := token.NewFileSet().AddFile("", -1, len(source))
	file.Init(position, []byte(source), nil, scanner.ScanComments)
	var long []int
	for {
		start, kind, text := file.Scan()
		if kind == token.EOF {
			return long
		}
		if kind != token.COMMENT || directive.MatchString(text) {
			continue
		}
		first := position.Line(start)
		for i, part := range strings.Split(text, "\n") {
			words := strings.Fields(strings.TrimLeft(part, "/* \t"))
			width := utf8.RuneCountInString(strings.ReplaceAll(strings.TrimRight(lines[first+i-1], "\r"), "\t", "    "))
			if width > commentColumns && len(words) > 1 && !slices.Contains(long, first+i) {
				long = append(long, first+i)
			}
		}
	}
}

func TestLongCommentsAreFound(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 20) + "word"
	for name, c := range map[string]struct {
		source string
		lines  []int
	}{
		"a line":           {"package p\n\n// " + long + "\n", []int{3}},
		"after code":       {"package p\n\nvar a = 1 // " + long + "\n", []int{3}},
		"a block":          {"package p\n\n/*\nshort\n" + long + "\n*/\n", []int{5}},
		"by its tabs":      {"package p\n\n\t\t\t// " + strings.Repeat("w ", 43) + "\n", []int{3}},
		"runes, not bytes": {"package p\n\n// " + strings.Repeat("é ", 48) + "\n", nil},
		"short":            {"package p\n\n// short\n", nil},
		"long code":        {"package p\n\nvar a = \"// " + long + "\"\n", nil},
		"a directive":      {"package p\n\nvar a = 1 //nolint:all // " + long + "\n", nil},
		"an address":       {"package p\n\n// https://example.com/" + strings.Repeat("x", 100) + "\n", nil},
	} {
		if lines := longComments(c.source); !slices.Equal(lines, c.lines) {
			t.Errorf("%s: lines %v, want %v", name, lines, c.lines)
		}
	}
}

func TestCommentsKeepToTheColumnLimit(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t, ".go") {
		source := readFile(t, file)
		if generated.MatchString(source) {
			continue
		}
		for _, line := range longComments(source) {
			t.Errorf("%s:%d: the comment goes beyond column %d: wrap it", file, line, commentColumns)
		}
	}
}

// generated matches files that a program has written, as `go help generate` defines it.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
