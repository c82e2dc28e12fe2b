package hocon

// value is a scalar, *object, *array, *reference or *concat.
type value any

// scalar is a string, a number or a boolean, as it was written; or null.
type scalar struct {
	text string
	null bool
}

// object has for each key all its definitions in order: later ones override earlier ones, or are merged with them.
type object struct {
	fields map[string]*field
}

type field struct {
	definitions []value
}

type array struct {
	items []value
}

// reference is a substitution.
type reference struct {
	path []string
	// within is the path of the object that included the file it stands in, under which it is looked for first.
	within   []string
	optional bool
}

// concat is several values in a row. Those made of blanks only are what stood between the others.
type concat struct {
	parts []value
}

type blank string

func newObject() *object { return &object{fields: map[string]*field{}} }

// define adds a definition of what is at a path in the object.
func (o *object) define(path []string, v value) {
	for i := len(path) - 1; i > 0; i-- {
		outer := newObject()
		outer.fields[path[i]] = &field{definitions: []value{v}}
		v = outer
	}
	f := o.fields[path[0]]
	if f == nil {
		f = &field{}
		o.fields[path[0]] = f
	}
	f.definitions = append(f.definitions, v)
}
