package embedded

import "slices"

// nesting is an expression with document paths.
type nesting interface {
	// Nested returns the top-level attributes within which the expression names a member or an
	// element.
	Nested() []string
}

// checkPaths refuses expressions with paths into key attributes of the table or of an index, which
// are scalars in every item.
func (s *schema) checkPaths(expressions ...nesting) error {
	for _, e := range expressions {
		nested := e.Nested()
		if len(nested) == 0 {
			continue
		}
		if err := keyPath("Key", s.Key.names(), nested); err != nil {
			return err
		}
		for _, i := range s.Indexes {
			if err := keyPath("IndexKey", i.Key.names(), nested); err != nil {
				return err
			}
		}
	}
	return nil
}

// keyPath returns an error for the first key attribute that is in nested.
func keyPath(which string, key, nested []string) error {
	for _, name := range key {
		if slices.Contains(nested, name) {
			return invalid("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: %s: %s",
				which, name)
		}
	}
	return nil
}
