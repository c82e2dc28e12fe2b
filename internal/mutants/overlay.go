package mutants

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// SwitchFile is the name of the file that the overlay adds to each package with mutants. A program
// with mutants contains the name.
const SwitchFile = "mutants_of_the_overlay.go"

// WriteOverlay writes the files of a build overlay with all mutants to a folder, and returns the
// path of the overlay file.
func (t *Table) WriteOverlay(root, folder string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	changed, err := t.Apply(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	write := func(file string, text []byte) error {
		to := filepath.Join(folder, strings.ReplaceAll(file, "/", "-"))
		replace[filepath.Join(root, filepath.FromSlash(file))] = to
		return os.WriteFile(to, text, 0o600)
	}
	for file, text := range changed {
		if err := write(file, text); err != nil {
			return "", fmt.Errorf("write the overlay: %w", err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
		if err == nil {
			err = write(path.Join(path.Dir(file), SwitchFile), switchOf(parsed.Name.Name))
		}
		if err != nil {
			return "", fmt.Errorf("write the overlay: %w", err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	overlay := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	return overlay, nil
}

// switchOf returns the source of the function mutant for a package with the given name.
func switchOf(name string) []byte {
	return fmt.Appendf(nil, `package %s

import "os"

var chosenMutant = os.Getenv(%q)

func mutant(name string) bool { return name == chosenMutant }
`, name, Variable)
}
