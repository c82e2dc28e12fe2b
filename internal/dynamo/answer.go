package dynamo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxAnswer is more bytes than an answer of DynamoDB has, of which the largest hold 16 MB of items. trustedLength is how much
// room is made for an answer that says that it is as long, before it has come.
const maxAnswer, trustedLength = 64 << 20, 64 << 10

var (
	errAnswerTooLarge = errors.New("the answer is too large to be DynamoDB's")
	errWrongSum       = errors.New("the answer does not have the checksum that it says")
)

// checkSum reads an answer that says its checksum, and checks it. After an error the answer's body is closed.
func checkSum(answer *http.Response) error {
	stated := answer.Header.Get(sumHeader)
	if stated == "" {
		return nil
	}
	buffer := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool has nothing else
	body := newWholeBody(buffer)
	err := readAll(buffer, answer.Body, answer.ContentLength)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		err = fmt.Errorf("read the answer: %w", err)
	} else if stated != strconv.FormatUint(uint64(crc32.ChecksumIEEE(buffer.Bytes())), 10) {
		err = errWrongSum
	}
	if err != nil {
		return errors.Join(err, body.Close())
	}
	body.Reset(buffer.Bytes())
	answer.Body = body
	return nil
}

// readAll reads a body of a stated length, -1 for one that is not known. The memory that it takes is bounded by what has come,
// not by what was stated: many answers that state too much take little.
func readAll(buffer *bytes.Buffer, body io.Reader, length int64) error {
	if length > maxAnswer {
		return errAnswerTooLarge
	}
	buffer.Grow(int(min(max(length, 0), trustedLength)) + bytes.MinRead)
	n, err := buffer.ReadFrom(io.LimitReader(body, trustedLength))
	if err != nil || n < trustedLength {
		return err //nolint:wrapcheck // checkSum says what was read
	}
	buffer.Grow(max(int(min(length, maxKept))-buffer.Len(), 0) + bytes.MinRead)
	if _, err := buffer.ReadFrom(io.LimitReader(body, maxAnswer+1-n)); err != nil {
		return err //nolint:wrapcheck // as above
	}
	if buffer.Len() > maxAnswer {
		return errAnswerTooLarge
	}
	return nil
}

// wholeBody is a body that has been read, and can be had at once. Its buffer is used again when it has been closed.
type wholeBody struct {
	*bytes.Reader

	whole *bytes.Buffer
}

// buffers are those of answers. What is decoded keeps nothing of them.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func newWholeBody(whole *bytes.Buffer) *wholeBody {
	return &wholeBody{bytes.NewReader(whole.Bytes()), whole}
}

// maxKept is the capacity of a buffer that is kept for another answer: a page of 1 MB in base64, and what is around it.
const maxKept = 2 << 20

// Close gives the buffer back. The body is empty then.
func (b *wholeBody) Close() error {
	if b.whole != nil && b.whole.Cap() <= maxKept {
		b.whole.Reset()
		buffers.Put(b.whole)
	}
	b.whole = nil
	b.Reset(nil)
	return nil
}

// decodePlain decodes an answer that has been read, if it is plain.
func decodePlain(ctx context.Context, answer *http.Response, out any) bool {
	body, ok := answer.Body.(*wholeBody)
	given, _ := ctx.Value(takesItems{}).(*taking)
	if given == nil {
		return ok && decodeInto(body.whole.Bytes(), out, nil)
	}
	given.Start()
	return ok && decodeInto(body.whole.Bytes(), out, given)
}

// decodeInto decodes an answer into the SDK's form of it. The items of a Query are given to taker instead, if there is one.
func decodeInto(body []byte, out any, taker Taker) bool {
	switch out := out.(type) {
	case *dynamodb.QueryOutput:
		page, ok := decodePage(body, taker)
		if ok {
			out.Items, out.Count, out.ScannedCount = page.items, page.count, page.scanned
			out.LastEvaluatedKey, out.ConsumedCapacity = page.next, page.capacity
		}
		return ok
	case *dynamodb.ScanOutput:
		page, ok := decodePage(body, nil)
		if ok {
			out.Items, out.Count, out.ScannedCount = page.items, page.count, page.scanned
			out.LastEvaluatedKey, out.ConsumedCapacity = page.next, page.capacity
		}
		return ok
	case *dynamodb.BatchGetItemOutput:
		return decodeBatchGet(body, out)
	case *dynamodb.BatchExecuteStatementOutput:
		return decodeBatch(body, out)
	case *dynamodb.PutItemOutput:
		return decodePut(body, out)
	}
	return false
}

// decodeWhole decodes an answer into out: an object, of which field takes the values. An answer that is not plain leaves out as it
// is: it is the SDK's to fill then.
func decodeWhole[T any](body []byte, out *T, field func(d *decoder, out *T, name []byte) bool) bool {
	d := decoder{answer: body}
	var got T
	ok := d.object(func(name []byte) bool { return field(&d, &got, name) })
	d.space()
	if !ok || d.at != len(body) {
		return false
	}
	*out = got
	return true
}

// decodeBatchGet decodes an answer of BatchGetItem that leaves nothing over.
func decodeBatchGet(body []byte, out *dynamodb.BatchGetItemOutput) bool {
	return decodeWhole(body, out, func(d *decoder, out *dynamodb.BatchGetItemOutput, name []byte) (ok bool) {
		switch string(name) {
		case "Responses":
			out.Responses = map[string][]Attributes{}
			return d.object(func(table []byte) (ok bool) {
				out.Responses[string(table)], ok = d.items(nil)
				return ok
			})
		case "UnprocessedKeys":
			out.UnprocessedKeys = map[string]types.KeysAndAttributes{}
			return d.take('{') && d.take('}')
		case "ConsumedCapacity":
			out.ConsumedCapacity, ok = d.capacities()
		}
		return ok
	})
}

// decodeBatch decodes an answer of BatchExecuteStatement whose statements have all succeeded and return nothing.
func decodeBatch(body []byte, out *dynamodb.BatchExecuteStatementOutput) bool {
	return decodeWhole(body, out, func(d *decoder, out *dynamodb.BatchExecuteStatementOutput, name []byte) (ok bool) {
		switch string(name) {
		case "Responses":
			out.Responses = []types.BatchStatementResponse{}
			return d.list(func() bool {
				var r types.BatchStatementResponse
				ok := d.object(func(name []byte) (ok bool) {
					if string(name) == "TableName" {
						r.TableName, ok = d.name()
					}
					return ok
				})
				out.Responses = append(out.Responses, r)
				return ok
			})
		case "ConsumedCapacity":
			out.ConsumedCapacity, ok = d.capacities()
		}
		return ok
	})
}

// decodePut decodes an answer of PutItem that returns no item.
func decodePut(body []byte, out *dynamodb.PutItemOutput) bool {
	return decodeWhole(body, out, func(d *decoder, out *dynamodb.PutItemOutput, name []byte) (ok bool) {
		if string(name) == "ConsumedCapacity" {
			out.ConsumedCapacity, ok = d.capacity()
		}
		return ok
	})
}

// page is what the answers of Query and Scan say.
type page struct {
	items          []Attributes // nil if they were given to a Taker
	count, scanned int32
	next           Attributes
	capacity       *types.ConsumedCapacity
}

// decodePage decodes an answer of Query or Scan, and gives its items to taker, if there is one. False says that it is not plain,
// or no such answer at all.
func decodePage(b []byte, taker Taker) (page, bool) {
	var p page
	given := false // to the taker: of several lists the last counts, which is for the SDK
	ok := decodeWhole(b, &p, func(d *decoder, p *page, name []byte) (ok bool) {
		switch string(name) {
		case "Items":
			if given {
				return false
			}
			given = true
			if taking, ok := taker.(*taking); ok {
				taking.given = true
			}
			p.items, ok = d.items(taker)
		case "Count":
			p.count, ok = d.count()
		case "ScannedCount":
			p.scanned, ok = d.count()
		case "LastEvaluatedKey":
			ok = d.item()
			p.next = d.last.attributeMap()
		case "ConsumedCapacity":
			p.capacity, ok = d.capacity()
		}
		return ok
	})
	return p, ok
}
