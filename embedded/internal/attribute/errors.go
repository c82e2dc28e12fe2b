package attribute

import "fmt"

// ValidationError says that a request is well formed but breaks a rule of the data model:
// DynamoDB's ValidationException, with its message.
type ValidationError struct {
	Message string
	// Older is the message of the operations that check values as DynamoDB did before (see
	// InOlderWords); empty if it is the same.
	Older string
	// Attribute is the name of the outermost attribute that holds the bad value, when an item was
	// decoded.
	Attribute string
}

// Error returns the message as DynamoDB words it.
func (e *ValidationError) Error() string { return e.Message }

// InOlderWords returns the error as DynamoDB words it where it reads values the older way: in Scan,
// in batches that write, in transactions and in PartiQL. There a number is read as Java reads a
// BigDecimal, and a value of an expression is named.
func (e *ValidationError) InOlderWords() *ValidationError {
	if e.Older == "" {
		return e
	}
	return &ValidationError{Message: e.Older, Attribute: e.Attribute}
}

// Invalid makes a ValidationError.
func Invalid(format string, args ...any) *ValidationError {
	if len(args) == 0 {
		return &ValidationError{Message: format}
	}
	return &ValidationError{Message: fmt.Sprintf(format, args...)}
}

// SerializationError says that a request is not JSON, or that a JSON value has a type that has no
// meaning where it stands: DynamoDB's SerializationException, with its message.
type SerializationError struct{ Message string }

// Error returns the message as DynamoDB words it.
func (e *SerializationError) Error() string { return e.Message }
