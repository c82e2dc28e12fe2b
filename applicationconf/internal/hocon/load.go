package hocon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Limits of a document.
const (
	maxBytes        = 1 << 20
	maxIncludes     = 100
	maxIncludeDepth = 10
	maxNesting      = 64
)

// Load reads the defaults, which are HOCON text, and then the file at path, whose settings win.
// Included files are searched next to it, with or without the extension .conf or .json. An include
// that is not found, or that names a URL or a class path, is left out, unless it is required. If
// text can't be parsed, the error is an *Error.
func Load(path, defaults string) (*Document, error) {
	l := &loader{root: newObject()}
	if err := l.parse(source{text: defaults}, l.root); err != nil {
		return nil, err
	}
	text, err := l.read(path)
	if err != nil {
		return nil, err
	}
	if err := l.parse(source{name: path, text: text}, l.root); err != nil {
		return nil, err
	}
	return &Document{root: l.root, skipped: l.skipped}, nil
}

// loader loads a document, and counts its bytes and includes to limit them.
type loader struct {
	root            *object
	bytes, includes int
	skipped         []Include
}

// Include is a file that a document includes.
type Include struct {
	Name string
	// Within is the path of the object that contains the include.
	Within []string
	At     Position
}

// source is text to parse, and its place among the includes of the document.
type source struct {
	name, text string
	// within is the path of the object that includes the source.
	within []string
	depth  int
	// includer is the source that includes this one, or nil.
	includer *source
}

// includes reports whether the file at path is this source, or one of its includers.
func (s *source) includes(path string) bool {
	for ; s != nil; s = s.includer {
		if filepath.Clean(s.name) == path {
			return true
		}
	}
	return false
}

func (l *loader) read(path string) (string, error) {
	f, err := os.Open(path) //nolint:gosec // the file that the user names
	if err != nil {
		return "", fmt.Errorf("read the configuration: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("read the configuration: %w", err)
	}
	if l.bytes += len(text); l.bytes > maxBytes {
		return "", fmt.Errorf("read the configuration: %s: more than %d bytes, including included files", path,
			maxBytes)
	}
	return string(text), nil
}

func (l *loader) parse(s source, into *object) error {
	p := &parser{loader: l, source: s, line: 1, path: s.within}
	if err := p.document(into); err != nil {
		return &Error{Position{s.name, p.line}, err}
	}
	return nil
}

// include adds the content of the file with a name, relative to s, to an object. It reports whether
// the file exists.
func (l *loader) include(s source, name string, required bool, into *object, at []string) (bool, error) {
	if l.includes++; l.includes > maxIncludes || s.depth >= maxIncludeDepth {
		return false, fmt.Errorf("there are more than %d includes, or they are nested deeper than %d", maxIncludes,
			maxIncludeDepth)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(s.name), name)
	}
	candidates := []string{name}
	if ext := filepath.Ext(name); ext != ".conf" && ext != ".json" {
		candidates = []string{name + ".conf", name + ".json", name}
	}
	for _, path := range candidates {
		if s.includes(filepath.Clean(path)) {
			return false, fmt.Errorf("%q includes itself", path)
		}
		text, err := l.read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		return true, l.parse(source{name: path, text: text, within: at, depth: s.depth + 1, includer: &s}, into)
	}
	if required {
		return false, fmt.Errorf("required include not found: %q", candidates)
	}
	return false, nil
}
