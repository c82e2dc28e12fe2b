package hocon

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Limits of a lookup: the number of values read, the depth of nested substitutions, and the bytes
// of a string.
const (
	maxSteps = 100_000
	maxDepth = 200
	maxText  = 1 << 16
)

var errTooComplicated = errors.New("the substitutions are too complicated")

// Document is a configuration.
type Document struct {
	root    *object
	skipped []Include
}

// Skipped returns the includes that were left out, because the file does not exist or the include
// does not name a file.
func (d *Document) Skipped() []Include { return d.skipped }

// Key is a key of an object, and the position of its last definition.
type Key struct {
	Name string
	At   Position
}

// Keys returns the keys of the object at a path, or of the whole document at "", in the order of
// their positions. It includes keys that are set to null. Without an object at the path there are
// no keys.
func (d *Document) Keys(path string) ([]Key, error) {
	objects, err := d.find(path)
	if err != nil {
		return nil, err
	}
	last := map[string]Position{}
	for _, v := range objects {
		o, ok := v.(*object)
		if !ok {
			continue
		}
		for name, f := range o.fields {
			last[name] = f.definitions[len(f.definitions)-1].at
		}
	}
	keys := make([]Key, 0, len(last))
	for name, at := range last {
		keys = append(keys, Key{name, at})
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.Name, b.Name))
	})
	return keys, nil
}

// At returns the position of the last definition of a path, even of a value that cannot be
// evaluated. It is zero if the definition is in the defaults or does not exist.
func (d *Document) At(path string) Position {
	keys, err := split(path)
	if err != nil {
		return Position{}
	}
	e := &evaluation{document: d, reading: map[*field]int{}}
	last := len(keys) - 1
	objects, err := e.find(keys[:last])
	if err != nil {
		return Position{}
	}
	var at Position
	for _, v := range objects {
		if o, ok := v.(*object); ok && o.fields[keys[last]] != nil {
			f := o.fields[keys[last]]
			at = f.definitions[len(f.definitions)-1].at
		}
	}
	return at
}

// Join makes a path of keys, and quotes them where necessary.
func Join(keys ...string) string {
	quoted := make([]string, len(keys))
	for i, key := range keys {
		if quoted[i] = key; key == "" ||
			strings.ContainsFunc(key, func(r rune) bool { return r == '.' || !isUnquoted(r) }) {
			text, _ := json.Marshal(key) //nolint:errchkjson // a string
			quoted[i] = string(text)
		}
	}
	return strings.Join(quoted, ".")
}

// split splits a path into its keys.
func split(path string) ([]string, error) {
	p := &parser{source: source{text: path + "="}}
	keys, err := p.key("=")
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", path, err)
	}
	return keys, nil
}

// Text returns the value at a path such as "a.b": a string, a number or a boolean, unchanged. It
// reports false if nothing or null is set there.
func (d *Document) Text(path string) (string, bool, error) {
	v, err := d.last(path)
	if err != nil || v == nil {
		return "", false, err
	}
	s, ok := v.(scalar)
	if !ok {
		return "", false, fmt.Errorf("%s is %s instead of a single value", path, kind(v))
	}
	if s.null {
		return "", false, nil
	}
	return s.text, true, nil
}

// List returns the values of the array at a path.
func (d *Document) List(path string) ([]string, bool, error) {
	v, err := d.last(path)
	if err != nil || v == nil || v == (scalar{text: "null", null: true}) {
		return nil, false, err
	}
	a, ok := v.(*array)
	if !ok {
		return nil, false, fmt.Errorf("%s is %s instead of an array", path, kind(v))
	}
	texts := make([]string, len(a.items))
	e := &evaluation{document: d, reading: map[*field]int{}}
	for i, item := range a.items {
		found, err := e.flatten(item)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", path, err)
		}
		s, ok := single(found).(scalar)
		if !ok {
			return nil, false, fmt.Errorf("%s: item %d is not a single value", path, i)
		}
		texts[i] = s.text
	}
	return texts, true, nil
}

// Has reports whether an object is set at a path.
func (d *Document) Has(path string) bool {
	v, err := d.last(path)
	_, isObject := v.(*object)
	return err == nil && isObject
}

// last returns the value at a path, the last of several objects, or nil.
func (d *Document) last(path string) (value, error) {
	found, err := d.find(path)
	return single(found), err
}

// find returns the values at a path. The whole document is at "".
func (d *Document) find(path string) ([]value, error) {
	if path == "" {
		return []value{d.root}, nil
	}
	keys, err := split(path)
	if err != nil {
		return nil, err
	}
	e := &evaluation{document: d, reading: map[*field]int{}}
	found, err := e.find(keys)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return found, nil
}

func single(found []value) value {
	if len(found) == 0 {
		return nil
	}
	return found[len(found)-1]
}

func kind(v value) string {
	switch v.(type) {
	case *object:
		return "an object"
	case *array:
		return "an array"
	default:
		return "a single value"
	}
}

// evaluation is one lookup. It represents a value as a list: one scalar, one array, or several
// objects that are merged, where later ones win.
type evaluation struct {
	document     *Document
	steps, depth int
	// reading maps each field that is being evaluated to its current definition. Within that
	// definition, a reference to the field means its earlier definitions, so no evaluation is
	// circular.
	reading map[*field]int
	// circular reports that a field was read within its own first definition.
	circular bool
}

// find returns the values at a path, or nil if nothing is set there.
func (e *evaluation) find(path []string) ([]value, error) {
	found := []value{e.document.root}
	for _, key := range path {
		var next []value
		for _, v := range found {
			o, ok := v.(*object)
			if !ok || o.fields[key] == nil {
				continue
			}
			var err error
			if next, err = e.read(o.fields[key], next); err != nil {
				return nil, err
			}
		}
		found = next
	}
	return found, nil
}

// read adds the definitions of a field to found, which contains the values of other objects for the
// same key.
func (e *evaluation) read(f *field, found []value) ([]value, error) {
	end := len(f.definitions)
	outer, nested := e.reading[f]
	if nested {
		end = outer
		e.circular = e.circular || end == 0
	}
	defer func() {
		if delete(e.reading, f); nested {
			e.reading[f] = outer
		}
	}()
	for i := range end {
		e.reading[f] = i
		values, err := e.flatten(f.definitions[i].value)
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			if _, merges := v.(*object); !merges || !objects(found) {
				found = nil
			}
			found = append(found, v)
		}
	}
	return found, nil
}

func objects(found []value) bool {
	_, ok := single(found).(*object)
	return ok || len(found) == 0
}

// flatten resolves the references of a value, but not those nested in it.
func (e *evaluation) flatten(v value) ([]value, error) {
	e.depth++
	defer func() { e.depth-- }()
	if e.steps++; e.steps > maxSteps || e.depth > maxDepth {
		return nil, errTooComplicated
	}
	switch v := v.(type) {
	case *reference:
		return e.resolve(v)
	case *concat:
		return e.join(v)
	default:
		return []value{v}, nil
	}
}

func (e *evaluation) resolve(r *reference) ([]value, error) {
	if len(r.within) > 0 {
		found, err := e.find(slices.Concat(r.within, r.path))
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	found, err := e.find(r.path)
	if err != nil || len(found) > 0 {
		e.steps += len(found)
		return found, err
	}
	name := strings.Join(r.path, ".") // the name of an environment variable
	if text, set := os.LookupEnv(name); set {
		return []value{scalar{text: text}}, nil
	}
	if r.optional {
		return nil, nil
	}
	if e.circular {
		return nil, fmt.Errorf("${%s} is not set: it refers to itself", Join(r.path...))
	}
	return nil, fmt.Errorf("${%s} is not set, neither in the file nor in the environment", Join(r.path...))
}

// join combines several values into one: merged objects, one array, or one string.
func (e *evaluation) join(c *concat) ([]value, error) {
	var text strings.Builder
	var merged, items []value
	var scalars, arrays, before int
	pending := ""
	for _, part := range c.parts {
		if between, ok := part.(blank); ok {
			pending = string(between)
			continue
		}
		found, err := e.flatten(part)
		if err != nil {
			return nil, err
		}
		if before++; before > 1 {
			text.WriteString(pending)
		}
		pending = ""
		for _, v := range found {
			switch v := v.(type) {
			case scalar:
				scalars++
				text.WriteString(v.text)
			case *array:
				arrays++
				items = append(items, v.items...)
			default:
				merged = append(merged, v)
			}
		}
		if e.steps += len(items) + len(merged); text.Len() > maxText || e.steps > maxSteps {
			return nil, errTooComplicated
		}
	}
	switch {
	case scalars == 0 && arrays == 0:
		return merged, nil
	case scalars > 0 && arrays == 0 && merged == nil:
		return []value{scalar{text: text.String()}}, nil
	case scalars == 0 && merged == nil:
		return []value{&array{items: items}}, nil
	default:
		return nil, errors.New("different kinds of values are concatenated")
	}
}
