package dynamo

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

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

// decodePlain decodes an answer that has been read, if it is plain.
func decodePlain(ctx context.Context, answer *http.Response, out any) bool {
	taker, _ := ctx.Value(takesItems{}).(Taker)
	if taker != nil {
		taker.Start()
	}
	body, ok := answer.Body.(*wholeBody)
	return ok && decodeInto(body.whole.Bytes(), out, taker)
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

// decodeBatchGet decodes an answer of BatchGetItem that leaves nothing over.
func decodeBatchGet(body []byte, out *dynamodb.BatchGetItemOutput) bool {
	var got dynamodb.BatchGetItemOutput
	ok := decodeWhole(body, func(d *decoder, field []byte) (ok bool) {
		switch string(field) {
		case "Responses":
			got.Responses = map[string][]Attributes{}
			return d.object(func(table []byte) (ok bool) {
				got.Responses[string(table)], ok = d.items(nil)
				return ok
			})
		case "UnprocessedKeys":
			got.UnprocessedKeys = map[string]types.KeysAndAttributes{}
			return d.take('{') && d.take('}')
		case "ConsumedCapacity":
			got.ConsumedCapacity, ok = d.capacities()
		}
		return ok
	})
	if ok {
		*out = got
	}
	return ok
}

// decodeBatch decodes an answer of BatchExecuteStatement whose statements have all succeeded and return nothing.
func decodeBatch(body []byte, out *dynamodb.BatchExecuteStatementOutput) bool {
	var got dynamodb.BatchExecuteStatementOutput
	ok := decodeWhole(body, func(d *decoder, field []byte) (ok bool) {
		switch string(field) {
		case "Responses":
			got.Responses = []types.BatchStatementResponse{}
			return d.list(func() bool {
				var r types.BatchStatementResponse
				ok := d.object(func(field []byte) (ok bool) {
					if string(field) == "TableName" {
						r.TableName, ok = d.name()
					}
					return ok
				})
				got.Responses = append(got.Responses, r)
				return ok
			})
		case "ConsumedCapacity":
			got.ConsumedCapacity, ok = d.capacities()
		}
		return ok
	})
	if ok {
		*out = got
	}
	return ok
}

// decodePut decodes an answer of PutItem that returns no item.
func decodePut(body []byte, out *dynamodb.PutItemOutput) bool {
	var got dynamodb.PutItemOutput
	ok := decodeWhole(body, func(d *decoder, field []byte) (ok bool) {
		if string(field) == "ConsumedCapacity" {
			got.ConsumedCapacity, ok = d.capacity()
		}
		return ok
	})
	if ok {
		*out = got
	}
	return ok
}

// decodeWhole decodes an answer: an object, of which member takes the values.
func decodeWhole(body []byte, member func(d *decoder, field []byte) bool) bool {
	d := decoder{answer: body}
	ok := d.object(func(field []byte) bool { return member(&d, field) })
	d.space()
	return ok && d.at == len(body)
}

// Taker takes the items of a page as they are decoded.
type Taker interface {
	// Start begins the page, also anew: what was taken before does not count.
	Start()
	// Take takes the next item. It is valid, with what Get returns, until Take returns; the bytes and texts in it stay.
	Take(item Item)
}

// Item is where the attributes of an item are found by their names.
type Item interface {
	Get(name string) (types.AttributeValue, bool)
}

// takesItems is the key of a context's value that takes the items of a Query: a Taker.
type takesItems struct{}

// mapped is an item that the SDK has decoded.
type mapped Attributes

// Get is the value of an attribute; false if there is none.
func (m mapped) Get(name string) (types.AttributeValue, bool) {
	v, ok := m[name]
	return v, ok
}

// listed is an item as it came: a list of its attributes.
type listed struct{ attributes []*attribute }

// attribute is an attribute of an item, with room for a value of every type that is plain.
type attribute struct {
	name string
	kind kind
	s    types.AttributeValueMemberS
	n    types.AttributeValueMemberN
	b    types.AttributeValueMemberB
	// literal is how it stands in the answer, from the quote before its name to the brace behind its value; head is what of
	// that comes before the value.
	literal, head []byte
}

// kind is the type of a value: a letter of DynamoDB's JSON.
type kind byte

const (
	text   kind = 'S'
	number kind = 'N'
	binary kind = 'B'
)

// Get is the value of an attribute; false if there is none.
func (i *listed) Get(name string) (types.AttributeValue, bool) {
	for _, a := range slices.Backward(i.attributes) { // of several by one name the last counts
		if a.name == name {
			return a.value(), true
		}
	}
	return nil, false
}

func (a *attribute) value() types.AttributeValue {
	switch a.kind {
	case text:
		return &a.s
	case number:
		return &a.n
	}
	return &a.b
}

// attributeMap is the item as the SDK has it. It keeps nothing of the item itself.
func (i *listed) attributeMap() Attributes {
	m := make(Attributes, len(i.attributes))
	for _, a := range i.attributes {
		switch a.kind {
		case text:
			m[a.name] = &types.AttributeValueMemberS{Value: a.s.Value}
		case number:
			m[a.name] = &types.AttributeValueMemberN{Value: a.n.Value}
		case binary:
			m[a.name] = &types.AttributeValueMemberB{Value: a.b.Value}
		}
	}
	return m
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
	ok := decodeWhole(b, func(d *decoder, field []byte) (ok bool) {
		switch string(field) {
		case "Items":
			if given {
				return false
			}
			given = true
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

// knownTexts is how many texts of an answer are kept to be used again, knownLength how long they are at most: attribute names,
// and what all events of a persistence id have in common.
const knownTexts, knownLength = 32, 64

// decoder takes an answer apart, from the front. Its methods say false at what is not plain; what they have taken is lost then.
type decoder struct {
	answer []byte
	at     int // what is before it has been taken
	known  map[string]string
	// numbers has the texts of all numbers.
	numbers strings.Builder
	// last is the item that was taken last. It has the first of the places, of which all have been some item's attribute: the
	// next one mostly has the same ones, and many to the letter.
	last   listed
	places []*attribute
}

func (d *decoder) space() {
	for d.at < len(d.answer) && (d.answer[d.at] == ' ' || d.answer[d.at] == '\n' || d.answer[d.at] == '\r' || d.answer[d.at] == '\t') {
		d.at++
	}
}

// take takes c, which may stand after white space.
func (d *decoder) take(c byte) bool {
	d.space()
	if d.at == len(d.answer) || d.answer[d.at] != c {
		return false
	}
	d.at++
	return true
}

// object takes an object, and gives each field's name to member, which takes its value.
func (d *decoder) object(member func(field []byte) bool) bool {
	if !d.take('{') {
		return false
	}
	if d.take('}') {
		return true
	}
	for {
		field, ok := d.text()
		if !ok || !d.take(':') || !member(field) {
			return false
		}
		if !d.take(',') {
			return d.take('}')
		}
	}
}

// quoted takes a string as it stands between its quotes, whatever it is.
func (d *decoder) quoted() ([]byte, bool) {
	if !d.take('"') {
		return nil, false
	}
	length := bytes.IndexByte(d.answer[d.at:], '"')
	if length < 0 {
		return nil, false
	}
	text := d.answer[d.at : d.at+length]
	d.at += length + 1
	return text, true
}

// text takes a string. One with escapes, as the ids index has in its keys, is made anew.
func (d *decoder) text() ([]byte, bool) {
	d.space()
	begin := d.at
	text, ok := d.quoted()
	ascii, plain := true, true
	for _, c := range text {
		ascii, plain = ascii && c < utf8.RuneSelf, plain && c >= ' ' && c != '\\'
	}
	if !plain {
		d.at = begin
		return d.escaped()
	}
	return text, ok && (ascii || utf8.Valid(text))
}

// escaped takes a string with escapes.
func (d *decoder) escaped() ([]byte, bool) {
	rest := d.answer[d.at:]
	for end := 1; end < len(rest); end++ {
		switch rest[end] {
		case '\\':
			end++
		case '"':
			d.at += end + 1
			var s string
			err := json.Unmarshal(rest[:end+1], &s)
			return []byte(s), err == nil && !strings.ContainsRune(s, utf8.RuneError) // of what is no Unicode, the SDK decides
		}
	}
	return nil, false
}

// str is a text of its own, which does not keep the answer.
func (d *decoder) str(text []byte) string {
	if known, ok := d.known[string(text)]; ok {
		return known
	}
	s := string(text)
	if d.known == nil {
		d.known = make(map[string]string, knownTexts)
	}
	if len(d.known) < knownTexts && len(s) <= knownLength {
		d.known[s] = s
	}
	return s
}

// bytes takes a string in base64.
func (d *decoder) bytes() ([]byte, bool) {
	text, ok := d.quoted()
	if !ok || len(text)%4 != 0 {
		return nil, false
	}
	b := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(b, text)
	padding := len(text) - len(bytes.TrimRight(text, "="))
	if err != nil || n != len(b)-padding { // line breaks are skipped by the decoder, and are no JSON
		return nil, false
	}
	return b[:n], true
}

// count takes a number of items.
func (d *decoder) count() (int32, bool) {
	n, err := strconv.ParseInt(d.number(), 10, 32)
	return int32(n), err == nil
}

// number takes a number that is not negative, and has no exponent. What is none is an empty text.
func (d *decoder) number() string {
	d.space()
	rest := d.answer[d.at:]
	end := bytes.IndexAny(rest, ",} ")
	if end < 0 || !json.Valid(rest[:end]) || bytes.ContainsAny(rest[:end], "-+eE") {
		return ""
	}
	d.at += end
	return string(rest[:end])
}

// name takes a string of its own.
func (d *decoder) name() (*string, bool) {
	text, ok := d.text()
	name := string(text)
	return &name, ok
}

// capacity takes what an answer without indexes says of its capacity.
func (d *decoder) capacity() (*types.ConsumedCapacity, bool) {
	c := &types.ConsumedCapacity{}
	ok := d.object(func(field []byte) (ok bool) {
		switch string(field) {
		case "TableName":
			c.TableName, ok = d.name()
		case "CapacityUnits":
			units, err := strconv.ParseFloat(d.number(), 64)
			c.CapacityUnits, ok = &units, err == nil
		}
		return ok
	})
	return c, ok
}

func (d *decoder) capacities() ([]types.ConsumedCapacity, bool) {
	all := []types.ConsumedCapacity{}
	ok := d.list(func() bool {
		c, ok := d.capacity()
		all = append(all, *c)
		return ok
	})
	return all, ok
}

// list takes a list, whose elements element takes.
func (d *decoder) list(element func() bool) bool {
	if !d.take('[') {
		return false
	}
	if d.take(']') {
		return true
	}
	for {
		if !element() {
			return false
		}
		if !d.take(',') {
			return d.take(']')
		}
	}
}

// items takes a list of items. Where they are given to a taker there is nothing to return.
func (d *decoder) items(taker Taker) ([]Attributes, bool) {
	var items []Attributes
	if taker == nil {
		items = []Attributes{}
	}
	ok := d.list(func() bool {
		if !d.item() {
			return false
		}
		if taker == nil {
			items = append(items, d.last.attributeMap())
		} else {
			taker.Take(&d.last)
		}
		return true
	})
	return items, ok
}

// item takes an item: last.
func (d *decoder) item() bool {
	if !d.take('{') {
		return false
	}
	if d.take('}') {
		d.last.attributes = nil
		return true
	}
	for n := range attributesMost {
		if !d.attribute(d.place(n)) {
			return false
		}
		if !d.take(',') {
			d.last.attributes = d.places[:n+1]
			return d.take('}')
		}
	}
	return false
}

// attributesMost is more attributes than any item of ours has: each takes a place, until the answer has been decoded. An item
// with more of them is left to the SDK.
const attributesMost = 64

// placesLooked bounds how many places are looked at for an attribute's.
const placesLooked = 16

// place makes place n that of the next attribute: one of the places from n on which had it before, or a new one.
func (d *decoder) place(n int) *attribute {
	d.space()
	rest := d.answer[d.at:]
	for k := n; k < min(n+placesLooked, len(d.places)); k++ {
		if bytes.HasPrefix(rest, d.places[k].head) {
			d.places[n], d.places[k] = d.places[k], d.places[n]
			return d.places[n]
		}
	}
	if len(d.places) == attributesMost {
		d.places[n].head = nil
		return d.places[n]
	}
	d.places = append(d.places, &attribute{})
	last := len(d.places) - 1
	d.places[n], d.places[last] = d.places[last], d.places[n]
	return d.places[n]
}

// attribute takes an attribute into its place. What stands there to the letter as before has been read already.
func (d *decoder) attribute(a *attribute) bool {
	begin := d.at
	rest := d.answer[begin:]
	switch {
	case a.head == nil:
		if !d.head(a) {
			return false
		}
	case a.kind != binary && bytes.HasPrefix(rest, a.literal):
		d.at += len(a.literal)
		return true
	default:
		d.at += len(a.head)
	}
	if !d.value(a) || !d.take('}') {
		return false
	}
	a.literal = d.answer[begin:d.at]
	return true
}

// head takes an attribute's name and the type of its value.
func (d *decoder) head(a *attribute) bool {
	begin := d.at
	name, ok := d.text()
	if !ok || !d.take(':') || !d.take('{') {
		return false
	}
	a.name = d.str(name)
	letter, ok := d.text()
	if !ok || len(letter) != 1 || !d.take(':') {
		return false
	}
	a.kind, a.head = kind(letter[0]), d.answer[begin:d.at]
	return true
}

// value takes the value of an attribute.
func (d *decoder) value(a *attribute) bool {
	ok := false
	switch a.kind {
	case text:
		var s []byte
		s, ok = d.text()
		a.s.Value = d.str(s)
	case number:
		var n []byte
		n, ok = d.text()
		begin := d.numbers.Len()
		d.numbers.Write(n)
		a.n.Value = d.numbers.String()[begin:]
	case binary:
		a.b.Value, ok = d.bytes()
	}
	return ok
}
