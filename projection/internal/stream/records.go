package stream

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dynajournal/dynajournal/internal/dynamo/direct"
	"github.com/dynajournal/dynajournal/internal/dynamo/wire"
)

// records reads the next records of a shard.
func (r *reader) records(ctx context.Context, iterator *string) (wire.Records, error) {
	in := &dynamodbstreams.GetRecordsInput{ShardIterator: iterator}
	p := &recordsProtocol{}
	var options []func(*dynamodbstreams.Options)
	if alone(r.Client) {
		options = append(options, p.install)
	}
	out, err := r.Client.GetRecords(ctx, in, options...)
	if err != nil {
		return wire.Records{}, err
	}
	if p.decoded {
		return p.records, nil
	}
	return recordsOf(out), nil
}

// alone reports whether no code of the program, such as a middleware, takes part in the requests of
// a client. Such code could read the outputs.
func alone(client *dynamodbstreams.Client) bool {
	o := client.Options()
	return len(o.APIOptions) == 0 && !direct.Intercepted(o.Interceptors)
}

// recordsOf converts a response that the SDK has decoded.
func recordsOf(out *dynamodbstreams.GetRecordsOutput) wire.Records {
	all := wire.Records{Next: out.NextShardIterator, Records: make([]wire.Record, len(out.Records))}
	for i := range out.Records {
		of := &out.Records[i]
		all.Records[i].Event = string(of.EventName)
		if c := of.Dynamodb; c != nil {
			all.Records[i] = wire.Record{
				Event: string(of.EventName), Number: aws.ToString(c.SequenceNumber), Created: aws.ToTime(c.ApproximateCreationDateTime),
				Keys: image(c.Keys), NewImage: image(c.NewImage),
			}
		}
	}
	return all
}

// recordsProtocol is the SDK's protocol for one call of GetRecords. It decodes a plain response
// with package wire, and then leaves the output of the SDK empty. Decoding a page with the SDK
// takes more time than everything that a projection does with it
// (go test -run xxx -bench DecodeRecords ./internal/dynamo/wire).
type recordsProtocol struct {
	smithyhttp.ClientProtocol

	decoded bool
	records wire.Records
}

// install makes a call use the protocol.
func (p *recordsProtocol) install(o *dynamodbstreams.Options) {
	p.ClientProtocol = o.Protocol
	o.Protocol = p
}

// pages has buffers for the bodies of responses. The results of package wire do not refer to them.
var pages = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxReusedPage is the capacity of the largest buffer that is reused: a page of 1 MB in base64,
// with the names around it.
const maxReusedPage = 4 << 20

// maxPage is larger than any response of GetRecords, which has at most 1 MB of records.
const maxPage = 64 << 20

// DeserializeResponse decodes a response. The SDK decodes it if it is not plain, is larger than any
// response of the service, or could not be read whole.
func (p *recordsProtocol) DeserializeResponse(
	ctx context.Context, schema *smithy.OperationSchema, registry *smithy.TypeRegistry,
	response *smithyhttp.Response, out smithy.Deserializable,
) error {
	p.decoded, p.records = false, wire.Records{}
	if response.StatusCode != http.StatusOK {
		return p.ClientProtocol.DeserializeResponse(ctx, schema, registry, response, out)
	}
	page := pages.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool has nothing else
	defer func() {
		if page.Cap() <= maxReusedPage {
			page.Reset()
			pages.Put(page)
		}
	}()
	rest := io.Reader(response.Body)
	n, err := page.ReadFrom(io.LimitReader(rest, maxPage))
	if err != nil {
		rest = failed{err}
	} else if n < maxPage {
		if p.records, p.decoded = wire.DecodeRecords(page.Bytes()); p.decoded {
			return nil
		}
	}
	response.Body = body{io.MultiReader(bytes.NewReader(page.Bytes()), rest), response.Body}
	return p.ClientProtocol.DeserializeResponse(ctx, schema, registry, response, out)
}

// body is the body of a response after a part of it was read.
type body struct {
	io.Reader
	io.Closer
}

// failed is a reader that returns an error.
type failed struct{ err error }

// Read returns the error.
func (f failed) Read([]byte) (int, error) { return 0, f.err }
