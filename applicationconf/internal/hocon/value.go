package hocon

import "fmt"

// value is a scalar, *object, *array, *reference or *concat.
type value any

// scalar is an unchanged string, number or boolean, or null.
type scalar struct {
	text string
	null bool
}

// object contains all definitions of each key, in order. Later ones override earlier ones, or are
// merged with them.
type object struct {
	fields map[string]*field
}

type field struct {
	definitions []definition
}

type definition struct {
	value value
	at    Position
}

// Position is a position in a file. It is zero for values of the defaults.
type Position struct {
	File string
	// Line counts from 1.
	Line int
}

// IsZero reports whether the position is not in a file.
func (p Position) IsZero() bool { return p == Position{} }

func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

type array struct {
	items []value
}

// reference is a substitution.
type reference struct {
	path []string
	// within is the path of the object that includes the reference's file. The reference is first
	// looked up there.
	within   []string
	optional bool
}

// concat is a sequence of values, with the blanks between them.
type concat struct {
	parts []value
}

type blank string

func newObject() *object { return &object{fields: map[string]*field{}} }

// define adds a definition of a path to the object.
func (o *object) define(path []string, v value, at Position) {
	for i := len(path) - 1; i > 0; i-- {
		outer := newObject()
		outer.fields[path[i]] = &field{definitions: []definition{{v, at}}}
		v = outer
	}
	f := o.fields[path[0]]
	if f == nil {
		f = &field{}
		o.fields[path[0]] = f
	}
	f.definitions = append(f.definitions, definition{v, at})
}
