package direct

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/internal/dynamo/wire"
)

// outcome is the response or the error of a directly sent request, for the SDK to interpret. It
// acts as the HTTP client with which the SDK "sends" the request.
type outcome struct {
	response *http.Response
	err      error
	// seen is true once the SDK has received the outcome.
	seen bool
}

// Do returns the outcome. It sends nothing, because the request was already sent.
func (o *outcome) Do(*http.Request) (*http.Response, error) {
	o.seen = true
	return o.response, o.err
}

// option returns the option that makes the SDK interpret the outcome instead of sending a request.
func (o *outcome) option(s *Sender, items *wire.Items) func(*dynamodb.Options) {
	return func(options *dynamodb.Options) {
		options.HTTPClient = o
		options.Protocol = protocol{s.sdk, items}
	}
}

// errUninterpreted is the failure of a request whose response the SDK could not interpret.
var errUninterpreted = errors.New("the request was sent, and its response could not be interpreted")

// unseen returns the error of a request whose outcome the SDK did not reach, for example because
// the credentials had expired. The SDK's own error would say that nothing was sent.
func (o *outcome) unseen() error {
	if o.err != nil {
		return fmt.Errorf("send the request: %w", o.err)
	}
	_ = o.response.Body.Close()
	return errUninterpreted
}

// interpretTimeout bounds the time for the SDK to interpret an outcome. The SDK does no I/O for it,
// unless the credentials have just expired.
const interpretTimeout = time.Second
