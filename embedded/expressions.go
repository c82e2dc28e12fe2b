package embedded

import (
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

// placeholders are ExpressionAttributeNames and ExpressionAttributeValues.
type placeholders struct {
	names  map[string]string
	values itemParameter
}

// allowed checks that placeholders are given only with expressions. A projection has no values.
func (p placeholders) allowed(withValues []parameter, projections ...parameter) error {
	if p.names != nil && len(givenNames(append(projections, withValues...)...)) == 0 {
		return invalid("ExpressionAttributeNames can only be specified when using expressions")
	}
	if p.values.given() && len(givenNames(withValues...)) == 0 {
		return invalid("%s", valuesAlone+nullList(withValues))
	}
	return nil
}

const valuesAlone = "ExpressionAttributeValues can only be specified when using expressions"

// allowedInWrite is allowed for the operations that write one item, whose errors do not list the
// expressions.
func (p placeholders) allowedInWrite(expressions []parameter) error {
	err := p.allowed(expressions)
	if api, is := err.(*apiError); is && strings.HasPrefix(api.message, valuesAlone) { //nolint:errorlint // it is bare
		return invalid(valuesAlone)
	}
	return err
}

// nullList returns the text that lists the expressions that are not given.
func nullList(parameters []parameter) string {
	names := make([]string, len(parameters))
	for i, p := range parameters {
		names[i] = p.name
	}
	verb := " is null"
	if len(names) > 1 {
		verb = " are null"
	}
	return ": " + strings.Join(names, " and ") + verb
}

// bind resolves the placeholders for the expressions of the request.
func (p placeholders) bind() (*expression.Parameters, error) {
	parameters, err := expression.NewParameters(p.names, p.values.item)
	if err != nil {
		return nil, err
	}
	if p.values.invalid != nil {
		return nil, p.values.invalid
	}
	return parameters, nil
}

// bindCondition parses a condition or a filter and resolves its placeholders. It returns nil if
// text is nil.
func bindCondition(
	parse func(text string) (*expression.Condition, error), text *string, p *expression.Parameters,
) (*expression.BoundCondition, error) {
	if text == nil {
		return nil, nil //nolint:nilnil // no condition is none
	}
	parsed, err := parse(*text)
	if err != nil {
		return nil, err
	}
	return parsed.Bind(p)
}

// evaluator returns the condition as a function, or nil if condition is nil.
func evaluator(condition *expression.BoundCondition) func(attribute.Item) bool {
	if condition == nil {
		return nil
	}
	return condition.Eval
}

// bindProjection parses a projection and resolves its placeholders. It returns nil if text is nil.
func (e *Engine) bindProjection(text *string, p *expression.Parameters) (*expression.BoundProjection, error) {
	if text == nil {
		return nil, nil //nolint:nilnil // no projection is none
	}
	parsed, err := e.parser.Projection(*text)
	if err != nil {
		return nil, err
	}
	return parsed.Bind(p)
}
