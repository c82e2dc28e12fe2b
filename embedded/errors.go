package embedded

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// ErrClosed is what a request gets from an engine that was closed.
var ErrClosed = errors.New("embedded: the engine is closed")

// ErrStorageFailed is what every request gets from an engine whose storage has failed, together
// with what failed, in which folder, and what to do. A file could not be written, synced or read,
// or is damaged. A write that was under way may be stored or not; everything that was answered
// before is. The engine stays failed: close it, make room or repair the disk, and open the folder
// again.
var ErrStorageFailed = storage.ErrFailed

// The name spaces of error types on the wire.
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

// apiError is an error as a client sees it.
type apiError struct {
	status int
	// kind is the type on the wire, with its name space.
	kind    string
	message string
	// item is the item that made a condition fail, where the request asked for it.
	item attribute.Item
	// emptyKey marks an error about a key without contents, which fails a whole transaction of
	// writes.
	emptyKey bool
	// reasons tells of each action of a cancelled transaction why.
	reasons []cancellationReason
}

// cancellationReason is why one action of a transaction could not be done; the code None if it
// could.
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

// asAPIError turns what a request ended with into what its client is told. Errors that are nobody's
// input's fault tell nothing of what is inside.
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

// appendError appends the body of an answer that tells of the error.
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

// asModelViolation words what is wrong with the parameters of a PutItem, UpdateItem or DeleteItem
// as DynamoDB does for these three: as one violation of the service's model. What several
// violations say reads so already; placeholders that no expression uses are told of as they are.
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

// withOlderWording words an error about a value as the operations do that read values the older
// way.
func withOlderWording(err error) error {
	if rule, is := err.(*attribute.ValidationError); is { //nolint:errorlint // the errors of values are bare
		return rule.InOlderWords()
	}
	return err
}
