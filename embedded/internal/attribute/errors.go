package attribute

import "fmt"

// ValidationError is DynamoDB's ValidationException: a well-formed request violates the data model.
type ValidationError struct {
	Message string
	// Older is the message of the operations that check values in an older way (see OlderWording).
	// It is empty if the message is the same.
	Older string
	// Attribute is the name of the top-level attribute with the invalid value, if an item was
	// decoded.
	Attribute string
}

// Error returns DynamoDB's message.
func (e *ValidationError) Error() string { return e.Message }

// OlderWording returns the error with the message of the operations that decode values in an older
// way: Scan, batch writes, transactions and PartiQL. They parse numbers as Java's BigDecimal does,
// and name the placeholder of an expression's value.
func (e *ValidationError) OlderWording() *ValidationError {
	if e.Older == "" {
		return e
	}
	return &ValidationError{Message: e.Older, Attribute: e.Attribute}
}

// Invalid returns a ValidationError.
func Invalid(format string, args ...any) *ValidationError {
	if len(args) == 0 {
		return &ValidationError{Message: format}
	}
	return &ValidationError{Message: fmt.Sprintf(format, args...)}
}

// SerializationError is DynamoDB's SerializationException: a request is not JSON, or a JSON value
// has the wrong type.
type SerializationError struct{ Message string }

// Error returns the message as DynamoDB words it.
func (e *SerializationError) Error() string { return e.Message }
