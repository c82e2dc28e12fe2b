package direct

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dynajournal/dynajournal/internal/dynamo/wire"
)

// protocol is the SDK's protocol, for requests that the SDK sends, with its slow parts replaced by
// package [wire]. It encodes a BatchExecuteStatement, which has a statement with parameters for
// each event, and decodes plain responses. The SDK does everything else, including errors.
// docs/decisions/0008-group-commit.md and 0009-decoding-pages.md have the measurements.
type protocol struct {
	smithyhttp.ClientProtocol

	// items receives the items of a Query. Nil leaves them in the output.
	items *wire.Items
}

// SerializeRequest encodes a request.
func (p protocol) SerializeRequest(
	ctx context.Context, schema *smithy.OperationSchema, in smithy.Serializable, r *smithyhttp.Request,
) error {
	if batch, ok := in.(*dynamodb.BatchExecuteStatementInput); ok {
		if body, ok := wire.Encode(nil, batch); ok {
			return p.withBody(ctx, schema, body, r)
		}
	}
	if err := p.ClientProtocol.SerializeRequest(ctx, schema, in, r); err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	return nil
}

// withBody sets the SDK's headers and an encoded body.
func (p protocol) withBody(
	ctx context.Context, schema *smithy.OperationSchema, body []byte, r *smithyhttp.Request,
) error {
	if err := p.ClientProtocol.SerializeRequest(ctx, schema, noFields{}, r); err != nil {
		return fmt.Errorf("set the headers of the request: %w", err)
	}
	written, err := r.SetStream(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("set the body: %w", err)
	}
	*r = *written
	return nil
}

// noFields is an input without fields.
type noFields struct{}

// Serialize encodes nothing.
func (noFields) Serialize(smithy.ShapeSerializer) {}

// DeserializeResponse decodes a response, with the SDK's decoder if it is not plain.
func (p protocol) DeserializeResponse(
	ctx context.Context, schema *smithy.OperationSchema, registry *smithy.TypeRegistry,
	response *smithyhttp.Response, out smithy.Deserializable,
) error {
	if response.StatusCode == http.StatusOK && decode(response.Response, out, p.items) {
		return nil
	}
	return p.ClientProtocol.DeserializeResponse(ctx, schema, registry, response, out)
}

// decode decodes a plain response whose checksum was checked. It returns false for any other
// response.
func decode(response *http.Response, out any, items *wire.Items) bool {
	items.Start()
	body, ok := response.Body.(*checkedBody)
	return ok && wire.Decode(body.buffer.Bytes(), out, items)
}
