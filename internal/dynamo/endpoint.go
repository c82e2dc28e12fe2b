package dynamo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo/direct"
)

// Failures of a response that lacks something the service always sends. After each of them the
// outcome of the request is unknown.
var (
	errNoChecksum = errors.New("the response has no checksum, which this service sends")
	errNoCapacity = errors.New("the response lacks the consumed capacity, which was asked for")
	errEmpty      = errors.New("the response is empty")
	errNoItems    = errors.New("the response has no list of items")
)

// contentType is the content type of the service's responses.
const contentType = "application/x-amz-json-1.0"

// endpoint detects responses of a proxy that responds in the service's place. DynamoDB sends a
// checksum with every response, and the consumed capacity if the request asks for it; a proxy does
// not. Other services may send neither, so each is required only of a service that has sent it
// before.
//
// DynamoDB Local sends the checksum only with successes (aws/aws-sdk-go-v2 issue 3545). If its
// errors were rejected, a conflict would become an unknown outcome. So an error without a checksum
// is accepted if it has the service's other marks: see marked. This rule does not depend on earlier
// responses. It therefore also covers an edge of AWS that answers one kind of error without the
// checksum.
type endpoint struct {
	sums atomic.Bool
	// capacity is true after any response with consumed capacity.
	// capacityOf has the operations (string) of such responses.
	capacity   atomic.Bool
	capacityOf sync.Map
}

// check verifies that a response comes from the service and is complete. It closes the body if it
// returns an error.
func (e *endpoint) check(response *http.Response) error {
	if response.Header.Get(direct.ChecksumHeader) != "" {
		if err := direct.ReadChecked(response); err != nil {
			return err
		}
		e.sums.Store(true)
		return nil
	}
	if e.sums.Load() && !marked(response) {
		return errors.Join(errNoChecksum, response.Body.Close())
	}
	if response.StatusCode == http.StatusOK {
		return notEmpty(response)
	}
	return nil
}

// marked reports whether a response is an error with the marks of the service: its content type and
// a request id, which a proxy does not invent. DynamoDB Local sends both; the Java SDK shows the id
// in its error messages. The namespace of the error's type is not a mark: DynamoDB Local omits it
// in some errors (HENNGE/aiodynamo pull request 137).
func marked(response *http.Response) bool {
	return response.StatusCode != http.StatusOK &&
		response.Header.Get("Content-Type") == contentType && response.Header.Get("X-Amzn-Requestid") != ""
}

// notEmpty checks that a response has a body. Even a response without fields is a JSON object.
func notEmpty(response *http.Response) error {
	first := make([]byte, 1)
	switch _, err := io.ReadFull(response.Body, first); {
	case errors.Is(err, io.EOF):
		return errors.Join(errEmpty, response.Body.Close())
	case err != nil:
		return errors.Join(fmt.Errorf("read the response: %w", err), response.Body.Close())
	}
	response.Body = &unreadBody{io.MultiReader(bytes.NewReader(first), response.Body), response.Body}
	return nil
}

// unreadBody is a body whose first byte was read and put back.
type unreadBody struct {
	io.Reader
	io.Closer
}

// consumed checks that the response to a successful request has the consumed capacity. A service
// that sends checksums is DynamoDB, which reports the capacity of every operation. Another service
// must report it only for operations for which it has done so before.
func (e *endpoint) consumed(operation string, present bool) error {
	_, known := e.capacityOf.Load(operation)
	if present {
		if !known {
			e.capacityOf.Store(operation, struct{}{})
			e.capacity.Store(true)
		}
		return nil
	}
	if known || e.capacity.Load() && e.sums.Load() {
		return fmt.Errorf("%s: %w", operation, errNoCapacity)
	}
	return nil
}

// cost returns the cost of a successful request. The error is errNoCapacity if the response lacks
// the consumed capacity and the service usually sends it.
func (e *endpoint) cost(operation string, write bool, capacity *types.ConsumedCapacity) (Cost, error) {
	if capacity == nil {
		return Cost{Requests: 1}, e.consumed(operation, false)
	}
	return consumed(write, *capacity), e.consumed(operation, true)
}
