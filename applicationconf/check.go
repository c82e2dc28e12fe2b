package applicationconf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dynajournal/dynajournal/applicationconf/internal/hocon"
)

// file is a file together with the files it includes.
type file struct {
	*hocon.Document
	path string
	// allowed contains unknown keys that are accepted: see AllowKey.
	allowed []string
}

// wrong returns an error about the value at a path of keys, with its file and line if it has a
// position.
func (f *file) wrong(path, format string, args ...any) error {
	return f.wrongAt(f.At(path), path, format, args...)
}

// wrongAt returns an error about a key at a position. key may be empty.
func (f *file) wrongAt(at hocon.Position, key, format string, args ...any) *Error {
	wrong := &Error{File: at.File, Line: at.Line, Key: key, Err: fmt.Errorf(format, args...)}
	if at.IsZero() {
		wrong.File = f.path
	}
	return wrong
}

// unknown returns an error about an unknown key. nearest is the most similar known key, or empty.
func (f *file) unknown(at hocon.Position, key, nearest string) error {
	wrong := f.wrongAt(at, key, "%s %w%s", key, ErrUnknownKey, didYouMean(nearest))
	wrong.Nearest = nearest
	return wrong
}

// checkKeys checks that every key of a section is known.
func (f *file) checkKeys(section string, known keys) error {
	for _, include := range f.Skipped() {
		if within := hocon.Join(include.Within...); within == section || strings.HasPrefix(within, section+".") {
			return f.wrongAt(include.At, within, "%s includes %q, which is not found", within, include.Name)
		}
	}
	return f.checkGroup(section, "", known)
}

// checkGroup checks the keys below a path within a section. A non-empty path ends with a dot.
func (f *file) checkGroup(section, within string, known keys) error {
	group := strings.TrimSuffix(section+"."+within, ".")
	found, err := f.Keys(group)
	if err != nil {
		return f.wrong(group, "%w", err)
	}
	for _, key := range found {
		name := hocon.Join(key.Name)
		path := within + name
		full := section + "." + path
		_, leaf := known[path]
		switch {
		case leaf, slices.Contains(f.allowed, full), slices.Contains(f.allowed, path):
		case !known.isGroup(path):
			at := key.At
			if at.IsZero() {
				at = f.At(section)
			}
			return f.unknown(at, full, nearestKey(within, name, known))
		case !f.Has(full):
			return f.notAnObject(full)
		default:
			if err := f.checkGroup(section, path+".", known); err != nil {
				return err
			}
		}
	}
	return nil
}

// notAnObject returns an error if a path has a single value instead of an object. A missing value
// is not an error.
func (f *file) notAnObject(path string) error {
	_, set, err := f.Text(path)
	switch {
	case err != nil:
		return f.wrong(path, "%w", err)
	case set:
		return f.wrong(path, "%s is a single value instead of an object", path)
	}
	return nil
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "; did you mean " + name + "?"
}

// nearestKey returns the known key that an unknown one below within is probably meant for: a
// similar name in the same group, or else one elsewhere in the section.
func nearestKey(within, name string, known keys) string {
	var siblings []string
	elsewhere := map[string]string{}
	for key := range known {
		if rest, found := strings.CutPrefix(key, within); found {
			first, _, _ := strings.Cut(rest, ".")
			siblings = append(siblings, first)
		}
		elsewhere[key[strings.LastIndex(key, ".")+1:]] = key
	}
	if path, exact := elsewhere[name]; exact {
		return path
	}
	if found := nearest(name, siblings, len(name)/3); found != "" {
		return found
	}
	names := make([]string, 0, len(elsewhere))
	for last := range elsewhere {
		names = append(names, last)
	}
	return elsewhere[nearest(name, names, 2)]
}

// nearest returns the candidate with the fewest edits, at most most. Of several such candidates it
// returns the first in alphabetical order.
func nearest(name string, candidates []string, most int) string {
	slices.Sort(candidates)
	found := ""
	for _, candidate := range candidates {
		if d := edits(strings.ToLower(name), strings.ToLower(candidate)); d <= most {
			found, most = candidate, d-1
		}
	}
	return found
}

// longestName is the length, in bytes, of the longest name that is compared.
const longestName = 100

// edits returns the number of bytes to insert, remove or replace to turn a into b.
func edits(a, b string) int {
	if len(a) > longestName || len(b) > longestName {
		return longestName
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := corner
			if a[i] != b[j] {
				replaced++
			}
			corner = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
