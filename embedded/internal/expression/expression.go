// Package expression implements DynamoDB's expressions: conditions (also of filters and keys),
// projections and updates.
//
// An expression passes through three stages. Parsing returns a syntax tree that depends only on the
// text, is immutable and can be cached (see Parser). Binding resolves the names and values of one
// request (see Parameters), and makes all checks that need them. Then the bound expression is
// evaluated on items. Bound expressions are immutable and safe for concurrent use.
//
// Errors are *attribute.ValidationError with DynamoDB's messages. The length of an expression
// limits the recursion of parsing and evaluating, see MaxLength.
package expression

import (
	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// MaxLength is the length limit of an expression in bytes.
const MaxLength = 4096

const (
	maxOperators = 300
	maxInList    = 100
	maxPathDepth = 32
)

// Kind is the request parameter of an expression. Messages begin with its name.
type Kind string

// The parameters with expressions.
const (
	ConditionExpression    Kind = "ConditionExpression"
	FilterExpression       Kind = "FilterExpression"
	KeyConditionExpression Kind = "KeyConditionExpression"
	ProjectionExpression   Kind = "ProjectionExpression"
	UpdateExpression       Kind = "UpdateExpression"
)

// invalid returns the error of an expression of the kind. The kind is empty for expressions without
// a parameter.
func (k Kind) invalid(format string, args ...any) error {
	if k == "" {
		return attribute.Invalid(format, args...)
	}
	return attribute.Invalid("Invalid "+string(k)+": "+format, args...)
}
