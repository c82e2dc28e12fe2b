package dynamo

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// protocol is the SDK's, but for the one request whose writing down takes most of a group's time: it has a statement with its
// parameters for each event. What goes around that (the address, credentials, the signature, the clock's skew) and every
// answer remain the SDK's; docs/decisions/0008-group-commit.md has the measurements.
type protocol struct{ smithyhttp.ClientProtocol }

// SerializeRequest writes a request down.
func (p protocol) SerializeRequest(ctx context.Context, schema *smithy.OperationSchema, in smithy.Serializable, r *smithyhttp.Request) error {
	if batch, ok := in.(*dynamodb.BatchExecuteStatementInput); ok {
		if body, ok := appendBatch(make([]byte, 0, batchLength(batch)), batch); ok {
			if kept, ok := ctx.Value(bodyKey{}).(*keptBody); ok {
				kept.bytes = body
			}
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

// keptBody is where a request's body is kept on its way through the SDK, so that the transport need not copy it. It is a value
// of the context under bodyKey.
type keptBody struct{ bytes []byte }

type bodyKey struct{}

// nothing is an input without members.
type nothing struct{}

// Serialize writes nothing down.
func (nothing) Serialize(smithy.ShapeSerializer) {}

// batchLength is at least how long the JSON of a batch is, for values that need no escapes.
func batchLength(in *dynamodb.BatchExecuteStatementInput) int {
	const perBatch, perStatement, perParameter = 64, 48, 10
	n := perBatch
	for i := range in.Statements {
		n += perStatement + len(*in.Statements[i].Statement)
		for _, p := range in.Statements[i].Parameters {
			n += perParameter
			switch v := p.(type) {
			case *types.AttributeValueMemberS:
				n += len(v.Value)
			case *types.AttributeValueMemberN:
				n += len(v.Value)
			case *types.AttributeValueMemberB:
				n += base64.StdEncoding.EncodedLen(len(v.Value))
			}
		}
	}
	return n
}

// appendBatch appends the JSON of a batch; false if it has anything that no event has, which is left to the SDK.
func appendBatch(dst []byte, in *dynamodb.BatchExecuteStatementInput) ([]byte, bool) {
	dst = append(dst, `{"ReturnConsumedCapacity":`...)
	dst = appendText(dst, string(in.ReturnConsumedCapacity))
	dst = append(dst, `,"Statements":[`...)
	for i := range in.Statements {
		s := &in.Statements[i]
		if s.ConsistentRead != nil || s.ReturnValuesOnConditionCheckFailure != "" {
			return nil, false
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"Statement":`...)
		dst = appendText(dst, *s.Statement)
		dst = append(dst, `,"Parameters":[`...)
		for i, p := range s.Parameters {
			if i > 0 {
				dst = append(dst, ',')
			}
			switch v := p.(type) {
			case *types.AttributeValueMemberS:
				dst = append(dst, `{"S":`...)
				dst = appendText(dst, v.Value)
			case *types.AttributeValueMemberN:
				dst = append(dst, `{"N":`...)
				dst = appendText(dst, v.Value)
			case *types.AttributeValueMemberB:
				if v.Value == nil {
					return nil, false
				}
				dst = append(dst, `{"B":"`...)
				dst = base64.StdEncoding.AppendEncode(dst, v.Value)
				dst = append(dst, '"')
			default:
				return nil, false
			}
			dst = append(dst, '}')
		}
		dst = append(dst, `]}`...)
	}
	return append(dst, `]}`...), true
}

// appendText appends a string of JSON. What is no UTF-8 becomes U+FFFD, as the SDK has it.
func appendText(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	begin := 0 // of what is to be appended as it is
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, s[begin:i]...)
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		default:
			dst = append(dst, "\uFFFD"...)
		}
		i++
		begin = i
	}
	return append(append(dst, s[begin:]...), '"')
}
