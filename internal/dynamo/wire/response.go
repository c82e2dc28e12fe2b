package wire

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Decode decodes the body of a successful response into out, the SDK's output of the operation. It
// returns false, and leaves out unchanged, if the body is not plain or is not a response of that
// operation. If items is not nil, it receives the items of a Query instead of out. Decoded values
// do not refer to body.
func Decode(body []byte, out any, items *Items) bool {
	switch out := out.(type) {
	case *dynamodb.QueryOutput:
		page, ok := decodePage(body, items)
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
		return decodeBatchExecute(body, out)
	case *dynamodb.PutItemOutput:
		return decodePut(body, out)
	case *dynamodb.UpdateItemOutput:
		s, ok := decodeSingle(body, "Attributes")
		if ok {
			out.Attributes, out.ConsumedCapacity = s.item, s.capacity
		}
		return ok
	case *dynamodb.GetItemOutput:
		s, ok := decodeSingle(body, "Item")
		if ok {
			out.Item, out.ConsumedCapacity = s.item, s.capacity
		}
		return ok
	}
	return false
}

// decodeObject decodes a body that is one object into out. It calls field with the name of each
// field, to read the value.
func decodeObject[T any](body []byte, out *T, field func(d *decoder, out *T, name []byte) bool) bool {
	d := decoder{json: body}
	var got T
	ok := d.object(func(name []byte) bool { return field(&d, &got, name) })
	d.space()
	if !ok || d.at != len(body) {
		return false
	}
	*out = got
	return true
}

// decodeBatchGet decodes a response of BatchGetItem without unprocessed keys.
func decodeBatchGet(body []byte, out *dynamodb.BatchGetItemOutput) bool {
	return decodeObject(body, out, func(d *decoder, out *dynamodb.BatchGetItemOutput, name []byte) (ok bool) {
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

// mostStatements is the largest number of statements in a request.
const mostStatements = 25

// decodeBatchExecute decodes a response of BatchExecuteStatement whose statements all succeeded and
// return no items.
func decodeBatchExecute(body []byte, out *dynamodb.BatchExecuteStatementOutput) bool {
	return decodeObject(body, out, func(d *decoder, out *dynamodb.BatchExecuteStatementOutput, name []byte) (ok bool) {
		switch string(name) {
		case "Responses":
			out.Responses = make([]types.BatchStatementResponse, 0, mostStatements)
			var last *string
			return d.list(func() bool {
				var r types.BatchStatementResponse
				ok := d.object(func(name []byte) (ok bool) {
					if string(name) == "TableName" {
						r.TableName, ok = d.stringPointer(last)
						last = r.TableName
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

// decodePut decodes a response of PutItem that returns no item.
func decodePut(body []byte, out *dynamodb.PutItemOutput) bool {
	return decodeObject(body, out, func(d *decoder, out *dynamodb.PutItemOutput, name []byte) (ok bool) {
		if string(name) == "ConsumedCapacity" {
			out.ConsumedCapacity, ok = d.tableCapacity()
		}
		return ok
	})
}

// single is a response with one item, or with attributes of one item.
type single struct {
	item     Attributes
	capacity *types.ConsumedCapacity
}

// decodeSingle decodes a response that has an item in a field.
func decodeSingle(body []byte, field string) (single, bool) {
	var s single
	ok := decodeObject(body, &s, func(d *decoder, s *single, name []byte) (ok bool) {
		switch string(name) {
		case field:
			ok = d.item()
			s.item = d.last.attributeMap()
		case "ConsumedCapacity":
			s.capacity, ok = d.tableCapacity()
		}
		return ok
	})
	return s, ok
}

// page is a response of Query or Scan.
type page struct {
	items          []Attributes // nil if a taker received them
	count, scanned int32
	next           Attributes
	capacity       *types.ConsumedCapacity
}

// decodePage decodes a response of Query or Scan. If items is not nil, it receives the response's
// items.
func decodePage(body []byte, items *Items) (page, bool) {
	var p page
	taker, listed := items.destination(), false
	ok := decodeObject(body, &p, func(d *decoder, p *page, name []byte) (ok bool) {
		switch string(name) {
		case "Items":
			if listed { // the last list counts, but the taker already has the first one
				return false
			}
			listed = true
			p.items, ok = d.items(taker)
		case "Count":
			p.count, ok = d.count()
		case "ScannedCount":
			p.scanned, ok = d.count()
		case "LastEvaluatedKey":
			ok = d.item()
			p.next = d.last.attributeMap()
		case "ConsumedCapacity":
			p.capacity, ok = d.tableCapacity()
		}
		return ok
	})
	if items != nil {
		items.listed = ok && listed
	}
	return p, ok
}
