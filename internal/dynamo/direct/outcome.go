package direct

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/internal/dynamo/wire"
)

// outcome is the response, or the error, of a request that was sent directly and that the SDK has
// to interpret. It is the HTTP client that the SDK "sends" the request with.
type outcome struct {
	response *http.Response
	err      error
	// seen is true once the SDK has got it.
	seen bool
}

// Do sends nothing: the request was sent.
func (o *outcome) Do(*http.Request) (*http.Response, error) {
	o.seen = true
	return o.response, o.err
}

// option is the option of the SDK's request.
func (o *outcome) option(s *Sender, items *wire.Items) func(*dynamodb.Options) {
	return func(options *dynamodb.Options) {
		options.HTTPClient = o
		options.Protocol = protocol{s.sdk, items}
	}
}

// errUninterpreted is the failure of a request whose response the SDK could not interpret.
var errUninterpreted = errors.New("the request was sent, and its response could not be interpreted")

// unseen returns the error of a request whose outcome the SDK did not come to, as when there were
// no credentials any more. The SDK's own error says in this case that nothing was sent.
func (o *outcome) unseen() error {
	if o.err != nil {
		return fmt.Errorf("send the request: %w", o.err)
	}
	_ = o.response.Body.Close()
	return errUninterpreted
}

// interpretTimeout bounds how long the SDK may take to interpret an outcome. It needs nothing from
// elsewhere, unless the credentials have just expired.
const interpretTimeout = time.Second
