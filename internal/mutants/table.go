package mutants

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Variable is the environment variable that names the chosen mutant.
const Variable = "DYNAJOURNAL_WITHOUT"

// Mutant is a safeguard that can be removed.
type Mutant struct {
	Name string
	// Rule is the rule that the mutant breaks.
	Rule string
	// Folder is the folder of a package, relative to the module's root. Run is a pattern of its
	// tests, of which at least one must fail.
	Folder, Run string
}

// row is a change of the code.
type row struct {
	// at is the place of the row in the table.
	at             string
	file, function string
	imports        []string
	old, new       []string
}

// Table is the content of the table's files.
type Table struct {
	Mutants []Mutant
	rows    []row
}

// used matches the uses of mutants in a text.
var used = regexp.MustCompile(`\bmutant\("(\w+)"\)`)

// Read reads the files of a folder, and checks that mutants and rows fit together.
func Read(folder fs.FS) (*Table, error) {
	t := &Table{}
	names, err := fs.Glob(folder, "*.txt")
	if err != nil {
		return nil, fmt.Errorf("list the table: %w", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, fmt.Errorf("read the table: %w", err)
		}
		if err := t.parse(name, string(text)); err != nil {
			return nil, err
		}
	}
	return t, t.check()
}

// parse reads a file of the table.
func (t *Table) parse(name, text string) error {
	var m *Mutant
	var r *row
	for i, line := range strings.Split(text, "\n") {
		at := fmt.Sprintf("%s:%d", name, i+1)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case word == "mutant":
			t.Mutants = append(t.Mutants, Mutant{Name: rest})
			m, r = &t.Mutants[len(t.Mutants)-1], nil
		case word == "row":
			file, function, _ := strings.Cut(rest, " ")
			t.rows = append(t.rows, row{at: at, file: file, function: function})
			m, r = nil, &t.rows[len(t.rows)-1]
		case m != nil && line[0] == '\t':
			if err := m.add(line[1:]); err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
		case r == nil || !r.add(line):
			return fmt.Errorf("%s: %q is neither a line of a mutant nor of a row", at, line)
		}
	}
	return nil
}

// add adds a line to a mutant.
func (m *Mutant) add(line string) error {
	killer, is := strings.CutPrefix(line, "killer ")
	if !is {
		m.Rule = strings.TrimSpace(m.Rule + " " + line)
		return nil
	}
	var ok bool
	if m.Folder, m.Run, ok = strings.Cut(killer, " "); !ok {
		return fmt.Errorf("the killer of %s lacks the pattern of its tests", m.Name)
	}
	return nil
}

// add adds a line to a row. It returns false if the line does not belong to a row.
func (r *row) add(line string) bool {
	if path, is := strings.CutPrefix(line, "import "); is && len(r.old)+len(r.new) == 0 {
		r.imports = append(r.imports, path)
		return true
	}
	switch line[0] {
	case ' ':
		r.old, r.new = append(r.old, line[1:]), append(r.new, line[1:])
	case '-':
		r.old = append(r.old, line[1:])
	case '+':
		r.new = append(r.new, line[1:])
	default:
		return false
	}
	return true
}

// check verifies that each mutant is described once and used by a row, and that each row uses only
// mutants that are described.
func (t *Table) check() error {
	inRows := map[string]bool{}
	for i := range t.rows {
		r := &t.rows[i]
		found := used.FindAllStringSubmatch(strings.Join(r.new, "\n"), -1)
		if len(found) == 0 {
			return fmt.Errorf("%s: the row uses no mutant", r.at)
		}
		for _, name := range found {
			inRows[name[1]] = true
			if !slices.ContainsFunc(t.Mutants, func(m Mutant) bool { return m.Name == name[1] }) {
				return fmt.Errorf("%s: the mutant %s is not described", r.at, name[1])
			}
		}
	}
	known := map[string]bool{}
	for _, m := range t.Mutants {
		switch {
		case known[m.Name]:
			return fmt.Errorf("the mutant %s is described twice", m.Name)
		case m.Rule == "" || m.Folder == "":
			return fmt.Errorf("the mutant %s lacks the rule that it breaks, or its killer", m.Name)
		case !inRows[m.Name]:
			return fmt.Errorf("no row uses the mutant %s", m.Name)
		}
		known[m.Name] = true
	}
	return nil
}
