package expression

import "github.com/dynajournal/dynajournal/embedded/internal/attribute"

// Projection is a parsed projection. It is immutable.
type Projection struct {
	paths        []Path
	placeholders []string
}

// BoundProjection is a projection with its names resolved.
type BoundProjection struct{ tree pathTree[struct{}] }

// ParseProjection reads a projection: paths separated by commas.
func ParseProjection(text string) (*Projection, error) {
	p, err := newParser(ProjectionExpression, text)
	if err != nil {
		return nil, err
	}
	paths := []Path{p.path()}
	for p.TakeSymbol(",") {
		paths = append(paths, p.path())
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	return &Projection{paths: paths, placeholders: p.placeholders}, nil
}

// Bind resolves the names. Paths that overlap are an error.
func (e *Projection) Bind(p *Parameters) (*BoundProjection, error) {
	bindings, err := p.bind(ProjectionExpression, e.placeholders)
	if err != nil {
		return nil, err
	}
	paths := make([]Path, len(e.paths))
	for i, path := range e.paths {
		paths[i] = path.resolve(bindings)
	}
	return NewProjection(paths)
}

// NewProjection returns a projection of paths without placeholders. Paths that overlap are an
// error.
func NewProjection(paths []Path) (*BoundProjection, error) {
	bound := &BoundProjection{}
	for _, path := range paths {
		if err := bound.tree.add(ProjectionExpression, path, struct{}{}); err != nil {
			return nil, err
		}
	}
	return bound, nil
}

// Project returns the parts of an item at the paths. Lists have only the elements at the paths. The
// result is never nil and shares values with the item.
func (e *BoundProjection) Project(item attribute.Item) attribute.Item { return e.tree.project(item) }

// Attributes returns the top-level attributes that the projection reads.
func (e *BoundProjection) Attributes() []string { return e.tree.attributes() }
