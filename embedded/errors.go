package embedded

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// ErrClosed is the error of requests to a closed engine.
var ErrClosed = errors.New("embedded: the engine is closed")

// ErrStorageFailed is the error of all requests after the engine's storage has failed: a file could
// not be written, synced or read, or is damaged. The error that wraps it names the failure, the
// folder, and the remedy. Acknowledged writes are stored; a write in flight may or may not be. The
// engine does not recover: close it, free some space or repair the disk, and open the folder again.
var ErrStorageFailed = storage.ErrFailed

// The name spaces of error types.
const (
	dynamoErrors   = "com.amazonaws.dynamodb.v20120810#"
	validateErrors = "com.amazon.coral.validate#"
	serviceErrors  = "com.amazon.coral.service#"
)

const (
	conditionFailed   = "The conditional request failed"
	tableNotFound     = "Requested resource not found"
	invalidParameters = "One or more parameter values were invalid: "
)

// apiError is an error that a client receives.
type apiError struct {
	status int
	// kind is the type of the error, with its name space.
	kind    string
	message string
	// item is the item that a failed condition was evaluated on, if the request asks for it.
	item attribute.Item
	// emptyKey is set if a key attribute is empty, which refuses a whole transaction.
	emptyKey bool
	// reasons has the reasons of a canceled transaction.
	reasons []cancellationReason
	// throttling is the reason of a throttled request, or nil.
	throttling *throttlingReason
}

// cancellationReason is the reason why one action of a transaction failed, with the code None if it
// did not.
type cancellationReason struct {
	code    string
	message string
	item    attribute.Item
}

// Error returns the type and the message.
func (e *apiError) Error() string { return e.kind + ": " + e.message }

// name returns the type without its name space.
func (e *apiError) name() string {
	for i := range e.kind {
		if e.kind[i] == '#' {
			return e.kind[i+1:]
		}
	}
	return e.kind
}

func invalid(format string, args ...any) *apiError {
	message := format
	if len(args) > 0 {
		message = fmt.Sprintf(format, args...)
	}
	return &apiError{status: http.StatusBadRequest, kind: validateErrors + "ValidationException", message: message}
}

func dynamoError(name, message string) *apiError {
	return &apiError{status: http.StatusBadRequest, kind: dynamoErrors + name, message: message}
}

func serviceError(name, message string) *apiError {
	return &apiError{status: http.StatusBadRequest, kind: serviceErrors + name, message: message}
}

func notFound(message string) *apiError { return dynamoError("ResourceNotFoundException", message) }

func inUse(message string) *apiError { return dynamoError("ResourceInUseException", message) }

func internalError() *apiError {
	return &apiError{
		status: http.StatusInternalServerError, kind: dynamoErrors + "InternalServerError",
		message: "The request processing has failed because of an unknown error, exception or failure.",
	}
}

func busy() *apiError {
	return &apiError{
		status: http.StatusServiceUnavailable, kind: dynamoErrors + "ServiceUnavailable",
		message: "The service is currently unavailable or busy.",
	}
}

// asAPIError returns the error that the client receives. An internal error does not reveal its
// cause.
func asAPIError(err error) *apiError {
	if api, ok := errors.AsType[*apiError](err); ok {
		return api
	}
	if rule, ok := errors.AsType[*attribute.ValidationError](err); ok {
		return invalid("%s", rule.Message)
	}
	if broken, ok := errors.AsType[*attribute.SerializationError](err); ok {
		return serviceError("SerializationException", broken.Message)
	}
	return internalError()
}

// appendError appends the body of an error response.
func appendError(dst []byte, e *apiError) []byte {
	dst = append(dst, `{"__type":`...)
	dst = attribute.AppendText(dst, e.kind)
	switch {
	case e.message == "":
	case e.kind == serviceErrors+"SerializationException" || e.reasons != nil:
		dst = append(dst, `,"Message":`...)
		dst = attribute.AppendText(dst, e.message)
	default:
		dst = append(dst, `,"message":`...)
		dst = attribute.AppendText(dst, e.message)
	}
	if e.item != nil {
		dst = append(dst, `,"Item":`...)
		dst = attribute.AppendItem(dst, e.item)
	}
	if e.throttling != nil {
		dst = e.throttling.append(dst, e.name())
	}
	if e.reasons != nil {
		dst = append(dst, `,"CancellationReasons":[`...)
		for i, reason := range e.reasons {
			dst = separate(dst, i)
			dst = appendReason(dst, reason)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func appendReason(dst []byte, reason cancellationReason) []byte {
	dst = append(dst, `{"Code":`...)
	dst = attribute.AppendText(dst, reason.code)
	if reason.message != "" {
		dst = append(dst, `,"Message":`...)
		dst = attribute.AppendText(dst, reason.message)
	}
	if reason.item != nil {
		dst = append(dst, `,"Item":`...)
		dst = attribute.AppendItem(dst, reason.item)
	}
	return append(dst, '}')
}

const unusedPlaceholder = "Value provided in ExpressionAttribute"

// asModelViolation returns the error of a parameter of PutItem, UpdateItem or DeleteItem in
// DynamoDB's wording for these operations: as a single violation of the model. Errors that already
// have this wording, and errors about unused placeholders, are returned unchanged.
func asModelViolation(err error) error {
	if err == nil {
		return nil
	}
	api := asAPIError(err)
	if api.name() != "ValidationException" || strings.HasPrefix(api.message, unusedPlaceholder) ||
		strings.Contains(api.message, " detected: ") {
		return err
	}
	return invalid("%s", "1 validation error detected: "+api.message)
}

// withOlderWording rewords an error about a value, for operations that decode values in the older
// way.
func withOlderWording(err error) error {
	if rule, is := err.(*attribute.ValidationError); is { //nolint:errorlint // the errors of values are bare
		return rule.OlderWording()
	}
	return err
}
