package mutants

import (
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Apply returns the changed files, with all mutants in them, by their paths from the module's root.
// It joins the errors of all rows.
func (t *Table) Apply(root string) (map[string][]byte, error) {
	byFile := map[string][]*row{}
	for i := range t.rows {
		byFile[t.rows[i].file] = append(byFile[t.rows[i].file], &t.rows[i])
	}
	changed := map[string][]byte{}
	var failed []error
	for file, rows := range byFile {
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file))) //nolint:gosec // the table is the project's
		if err == nil {
			changed[file], err = apply(string(source), rows)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", file, err))
		}
	}
	return changed, errors.Join(failed...)
}

// change replaces lines of a file.
type change struct {
	first, after int // the lines from first up to, but not including, after
	row          *row
}

// apply applies the rows of a file to its source.
func apply(source string, rows []*row) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	lines := strings.Split(source, "\n")
	var changes []change
	var failed []error
	for _, r := range rows {
		c, err := r.find(files, file, lines)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", r.at, err))
			continue
		}
		changes = append(changes, c)
	}
	if len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	slices.SortFunc(changes, func(a, b change) int { return b.first - a.first })
	for i, c := range changes {
		if i > 0 && c.after > changes[i-1].first {
			return nil, fmt.Errorf("%s and %s change the same lines: make them one row", c.row.at, changes[i-1].row.at)
		}
		lines = slices.Replace(lines, c.first, c.after, c.row.new...)
	}
	text := withImports(strings.Join(lines, "\n"), files.Position(file.Name.End()).Offset, rows)
	mutated, err := format.Source([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the rows do not make Go: %w", err)
	}
	return mutated, nil
}

// withImports adds the imports of the rows after the package clause, which ends at the offset at.
func withImports(text string, at int, rows []*row) string {
	var imports strings.Builder
	for _, r := range rows {
		for _, path := range r.imports {
			fmt.Fprintf(&imports, "\nimport %s", path)
		}
	}
	return text[:at] + imports.String() + text[at:]
}

// find returns the change of a row.
func (r *row) find(files *token.FileSet, file *ast.File, lines []string) (change, error) {
	if len(r.old) == 0 {
		return change{}, errors.New("the row has no line of the code as it is")
	}
	from, to := 0, len(lines)
	where := "the file"
	if r.function != "" {
		f := function(file, r.function)
		if f == nil {
			return change{}, fmt.Errorf("there is no function %s", r.function)
		}
		from, to = files.Position(f.Pos()).Line-1, files.Position(f.End()).Line
		where = r.function
	}
	var found []int
	for i := from; i+len(r.old) <= to; i++ {
		if slices.EqualFunc(lines[i:i+len(r.old)], r.old, sameLine) {
			found = append(found, i)
		}
	}
	if len(found) != 1 {
		return change{}, fmt.Errorf("the lines of the row occur %d times in %s%s: write the row by the code as it is now, "+
			"so that it still breaks its rule", len(found), where, r.nearest(lines[from:to], from))
	}
	return change{found[0], found[0] + len(r.old), r}, nil
}

// nearest returns the position of the first line of a row that occurs in lines and is longer than a
// bracket, or "".
func (r *row) nearest(lines []string, from int) string {
	const leastText = 4
	for _, old := range r.old {
		for i, line := range lines {
			if len(strings.TrimSpace(old)) >= leastText && sameLine(line, old) {
				return fmt.Sprintf(" (%q is line %d)", strings.TrimSpace(old), from+i+1)
			}
		}
	}
	return ""
}

func sameLine(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

// function returns the declaration of a function, or of a method named as T.f. It returns nil if
// there is none.
func function(file *ast.File, name string) *ast.FuncDecl {
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && receiver(f)+f.Name.Name == name {
			return f
		}
	}
	return nil
}

// receiver returns the name of a method's type followed by a dot, or "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name + "."
		default:
			return ""
		}
	}
}
