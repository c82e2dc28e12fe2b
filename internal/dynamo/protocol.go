package dynamo

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// protocol is the SDK's, but for what takes most of the time where the SDK sends a request (direct.go sends the others): writing
// down a group's request, which has a statement with its parameters for each event, and decoding plain answers. All errors and
// whatever is not plain remain the SDK's. docs/decisions/0008-group-commit.md and 0009-decoding-pages.md have the measurements.
type protocol struct{ smithyhttp.ClientProtocol }

// SerializeRequest writes a request down.
func (p protocol) SerializeRequest(ctx context.Context, schema *smithy.OperationSchema, in smithy.Serializable, r *smithyhttp.Request) error {
	if batch, ok := in.(*dynamodb.BatchExecuteStatementInput); ok {
		if body, ok := appendPlain(batch); ok {
			return p.serialized(ctx, schema, body, r)
		}
	}
	if err := p.ClientProtocol.SerializeRequest(ctx, schema, in, r); err != nil {
		return fmt.Errorf("write the request down: %w", err)
	}
	return nil
}

// serialized gives a request the SDK's head and a body of our own.
func (p protocol) serialized(ctx context.Context, schema *smithy.OperationSchema, body []byte, r *smithyhttp.Request) error {
	if err := p.ClientProtocol.SerializeRequest(ctx, schema, nothing{}, r); err != nil {
		return fmt.Errorf("write the head of the request down: %w", err)
	}
	written, err := r.SetStream(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("set the body: %w", err)
	}
	*r = *written
	return nil
}

// nothing is an input without members.
type nothing struct{}

// Serialize writes nothing down.
func (nothing) Serialize(smithy.ShapeSerializer) {}

// DeserializeResponse decodes an answer: a plain page in one pass over its bytes. One that is not plain (with another type than
// S, N and B, or a field that is not known here) it leaves to the SDK, as a whole: its decoder says what an answer means.
func (p protocol) DeserializeResponse(
	ctx context.Context, schema *smithy.OperationSchema, registry *smithy.TypeRegistry, answer *smithyhttp.Response, out smithy.Deserializable,
) error {
	if answer.StatusCode == http.StatusOK && decodePlain(ctx, answer.Response, out) {
		return nil
	}
	return p.ClientProtocol.DeserializeResponse(ctx, schema, registry, answer, out) //nolint:wrapcheck // it stands for the SDK's own
}
