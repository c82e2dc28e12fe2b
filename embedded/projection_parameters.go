package embedded

import (
	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
	"github.com/dynajournal/dynajournal/embedded/internal/partiql"
)

// projectionInput has the parameters of a read that select attributes.
type projectionInput struct {
	placeholders

	projection      *string
	attributesToGet []string
}

func (in *projectionInput) read(name string, r *decoder) {
	switch name {
	case "ProjectionExpression":
		in.projection = r.text()
	case "AttributesToGet":
		in.attributesToGet = r.texts()
	case "ExpressionAttributeNames":
		in.names = r.names()
	default:
		r.skip()
	}
}

func (in *projectionInput) constrain(c *constraints, member string) {
	if in.attributesToGet != nil {
		c.length(len(in.attributesToGet), listed(in.attributesToGet), member, 1, maxNameLength)
	}
}

// checkParameters checks that AttributesToGet and ProjectionExpression are not mixed, and that
// placeholders are given only with the expression. It is for requests without other expressions.
func (in *projectionInput) checkParameters() error {
	projection := parameter{"ProjectionExpression", has(in.projection)}
	err := exclusive(givenNames(parameter{"AttributesToGet", in.attributesToGet != nil}), givenNames(projection))
	if err != nil {
		return err
	}
	return in.allowed(nil, projection)
}

// projector chooses attributes of items.
type projector struct {
	expression *expression.BoundProjection
	names      []string
	// columns is a SELECT with columns.
	columns *partiql.Bound
}

// narrows reports whether the projector selects only parts of items.
func (p projector) narrows() bool { return p.expression != nil || p.names != nil || p.columns != nil }

// of returns the chosen attributes of the item.
func (p projector) of(item attribute.Item) attribute.Item {
	switch {
	case p.columns != nil:
		return p.columns.Project(item)
	case p.expression != nil:
		return p.expression.Project(item)
	case p.names != nil:
		part := make(attribute.Item, len(p.names))
		for _, name := range p.names {
			if value, ok := item[name]; ok {
				part[name] = value
			}
		}
		return part
	}
	return item
}

// bindProjection returns the projection with its placeholders resolved. It is for requests without
// other expressions.
func (in *projectionInput) bindProjection(e *Engine) (projector, error) {
	parameters, err := in.bind()
	if err != nil {
		return projector{}, err
	}
	p, err := in.projector(e, parameters)
	if err != nil {
		return projector{}, err
	}
	return p, parameters.Unused()
}

func (in *projectionInput) projector(e *Engine, parameters *expression.Parameters) (projector, error) {
	bound, err := e.bindProjection(in.projection, parameters)
	return projector{expression: bound, names: in.attributesToGet}, err
}

// attributes returns the names of the attributes that the projection reads, or nil for whole items.
func (p projector) attributes() []string {
	if p.expression != nil {
		return p.expression.Attributes()
	}
	return p.names
}
