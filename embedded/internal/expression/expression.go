// Package expression is DynamoDB's expression languages: conditions (also of filters and keys),
// projections and updates.
//
// An expression passes three stages. Parsing gives a syntax tree that depends on its text alone; it
// is immutable and can be cached (see Parser). Binding joins the tree with the names and values of
// one request (see Parameters) and makes all the checks that need them. A bound expression is
// evaluated against items. Bound expressions are immutable too and safe for concurrent use.
//
// Errors are *attribute.ValidationError with DynamoDB's messages. The recursion of parsing and
// evaluating is bounded by the length of an expression's text, see MaxLength.
package expression

import (
	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// MaxLength is how many bytes the text of an expression may have.
const MaxLength = 4096

const (
	maxOperators = 300
	maxInList    = 100
	maxPathDepth = 32
)

// Kind is the request parameter an expression came from; messages begin with its name.
type Kind string

// The parameters that hold expressions.
const (
	ConditionExpression    Kind = "ConditionExpression"
	FilterExpression       Kind = "FilterExpression"
	KeyConditionExpression Kind = "KeyConditionExpression"
	ProjectionExpression   Kind = "ProjectionExpression"
	UpdateExpression       Kind = "UpdateExpression"
)

// invalid makes the error for an expression of the kind. What is in no such parameter has no kind.
func (k Kind) invalid(format string, args ...any) error {
	if k == "" {
		return attribute.Invalid(format, args...)
	}
	return attribute.Invalid("Invalid "+string(k)+": "+format, args...)
}
