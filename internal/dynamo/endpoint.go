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

	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// sumHeader is the header of the checksum that DynamoDB sends with every answer, failures included.
const sumHeader = "X-Amz-Crc32"

// What an answer can lack that this service sends. None of them says what was done.
var (
	errNoSum      = errors.New("the answer has no checksum, which this service sends")
	errNoCapacity = errors.New("the answer does not say what was consumed, as was asked for")
	errEmpty      = errors.New("the answer is empty")
	errNoItems    = errors.New("the answer has no list of items")
)

// endpoint is what a client knows of the service's answers. Something between the two, such as a
// proxy, can answer in the service's place; its answers lack what the service sends. DynamoDB sends
// a checksum with every answer and says what was consumed where it is asked. Other services send
// neither, so each is demanded only of a service that has sent one.
type endpoint struct {
	sums atomic.Bool
	// capacity reports that any answer said what was consumed, told which operations did (string).
	capacity atomic.Bool
	told     sync.Map
}

// check checks that an answer is the service's, and whole. After an error its body is closed.
func (e *endpoint) check(answer *http.Response) error {
	if answer.Header.Get(sumHeader) != "" {
		if err := checkSum(answer); err != nil && safeguard.Checksum {
			return err
		}
		e.sums.Store(true)
		return nil
	}
	if safeguard.SumDemanded && e.sums.Load() {
		return errors.Join(errNoSum, answer.Body.Close())
	}
	if answer.StatusCode == http.StatusOK {
		return notEmpty(answer)
	}
	return nil
}

// notEmpty checks that an answer has a body: even one that says nothing is an object.
func notEmpty(answer *http.Response) error {
	first := make([]byte, 1)
	switch _, err := io.ReadFull(answer.Body, first); {
	case errors.Is(err, io.EOF):
		return errors.Join(errEmpty, answer.Body.Close())
	case err != nil:
		return errors.Join(fmt.Errorf("read the answer: %w", err), answer.Body.Close())
	}
	answer.Body = &restored{io.MultiReader(bytes.NewReader(first), answer.Body), answer.Body}
	return nil
}

// restored is a body whose beginning was read already.
type restored struct {
	io.Reader
	io.Closer
}

// consumed checks that the answer to a request that succeeded says what was consumed. A service
// that sends checksums is DynamoDB, which says it of every operation; of any other it is demanded
// by operation.
func (e *endpoint) consumed(operation string, told bool) error {
	if told {
		if _, known := e.told.Load(operation); !known {
			e.told.Store(operation, struct{}{})
			e.capacity.Store(true)
		}
		return nil
	}
	if _, known := e.told.Load(operation); safeguard.CapacityDemanded && (known || e.capacity.Load() && e.sums.Load()) {
		return fmt.Errorf("%s: %w", operation, errNoCapacity)
	}
	return nil
}

// capacity is the cost that an answer tells, or errNoCapacity.
func (c *Client) capacity(operation string, write bool, told *types.ConsumedCapacity) (Cost, error) {
	if told == nil {
		return Cost{Requests: 1}, c.endpoint.consumed(operation, false)
	}
	return consumed(write, *told), c.endpoint.consumed(operation, true)
}
