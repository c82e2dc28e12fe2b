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
	wanted, _ := ctx.Value(wantsItems{}).(*[]Item)
	if wanted != nil {
		*wanted = nil // of an earlier try
	}
	if body, ok := answer.Body.(*wholeBody); ok && answer.StatusCode == http.StatusOK && decodeInto(body.whole.Bytes(), out, wanted) {
		return nil
	}
	return p.ClientProtocol.DeserializeResponse(ctx, schema, registry, answer, out) //nolint:wrapcheck // it stands for the SDK's own
}

// decodeInto decodes an answer into the SDK's form of it, but the items of a Query into wanted, if that is not nil.
func decodeInto(body []byte, out smithy.Deserializable, wanted *[]Item) bool {
	switch out := out.(type) {
	case *dynamodb.QueryOutput:
		page, ok := decodePage(body)
		if !ok {
			return false
		}
		out.Count, out.ScannedCount, out.LastEvaluatedKey, out.ConsumedCapacity = page.count, page.scanned, page.next, page.capacity
		if wanted != nil {
			*wanted = page.items
		} else {
			out.Items = page.maps()
		}
		return true
	case *dynamodb.ScanOutput:
		page, ok := decodePage(body)
		if !ok {
			return false
		}
		out.Count, out.ScannedCount, out.LastEvaluatedKey, out.ConsumedCapacity = page.count, page.scanned, page.next, page.capacity
		out.Items = page.maps()
		return true
	}
	return false
}

// wantsItems is the key of a context's value that takes the items of a Query: a *[]Item.
type wantsItems struct{}

// Item is an item as it came: a list of its attributes. It takes a fraction of what a map of them takes.
type Item struct{ attributes []attribute }

type attribute struct {
	name  string
	value types.AttributeValue
}

// Get is the value of an attribute; false if there is none.
func (i *Item) Get(name string) (types.AttributeValue, bool) {
	for _, a := range slices.Backward(i.attributes) { // of several by one name the last counts
		if a.name == name {
			return a.value, true
		}
	}
	return nil, false
}

func (i *Item) attributeMap() Attributes {
	m := make(Attributes, len(i.attributes))
	for _, a := range i.attributes {
		m[a.name] = a.value
	}
	return m
}

// itemOf is an item that the SDK has decoded.
func itemOf(m Attributes) Item {
	var i Item
	for name, v := range m {
		i.attributes = append(i.attributes, attribute{name, v})
	}
	return i
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
	items          []Item
	count, scanned int32
	next           Attributes
	capacity       *types.ConsumedCapacity
}

// maps are the items as the SDK has them.
func (p *page) maps() []Attributes {
	if p.items == nil {
		return nil
	}
	maps := make([]Attributes, len(p.items))
	for i := range p.items {
		maps[i] = p.items[i].attributeMap()
	}
	return maps
}

// decodePage decodes an answer of Query or Scan. False says that it is not plain, or no such answer at all.
func decodePage(b []byte) (page, bool) {
	d := decoder{answer: b, known: make(map[string]string, knownTexts)}
	var p page
	ok := d.object(func(field []byte) bool {
		var ok bool
		switch string(field) {
		case "Items":
			p.items, ok = d.items()
		case "Count":
			p.count, ok = d.count()
		case "ScannedCount":
			p.scanned, ok = d.count()
		case "LastEvaluatedKey":
			var key Item
			key, ok = d.item()
			p.next = key.attributeMap()
		case "ConsumedCapacity":
			p.capacity, ok = d.capacity()
		}
		return ok
	})
	d.space()
	return p, ok && d.at == len(b)
}

// knownTexts is how many texts of an answer are kept to be used again, knownLength how long they are at most: attribute names,
// and what all events of a persistence id have in common.
const knownTexts, knownLength = 32, 64

// attributesTogether is how many attributes are allocated at once.
const attributesTogether = 256

// decoder takes an answer apart, from the front. Its methods say false at what is not plain; what they have taken is lost then.
type decoder struct {
	answer []byte
	at     int // what is before it has been taken
	known  map[string]string
	// numbers has the texts of all numbers.
	numbers strings.Builder
	// attributes are handed out item by item, of a chunk of so many.
	attributes []attribute
	s          slab[types.AttributeValueMemberS]
	n          slab[types.AttributeValueMemberN]
	b          slab[types.AttributeValueMemberB]
}

// slab hands out values of which many are allocated at once.
type slab[T any] []T

func (s *slab[T]) next() *T {
	const together = 64
	if len(*s) == 0 {
		*s = make([]T, together)
	}
	v := &(*s)[0]
	*s = (*s)[1:]
	return v
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

// capacity takes what an answer without indexes says of its capacity.
func (d *decoder) capacity() (*types.ConsumedCapacity, bool) {
	c := &types.ConsumedCapacity{}
	ok := d.object(func(field []byte) bool {
		switch string(field) {
		case "TableName":
			name, ok := d.text()
			s := string(name)
			c.TableName = &s
			return ok
		case "CapacityUnits":
			units, err := strconv.ParseFloat(d.number(), 64)
			c.CapacityUnits = &units
			return err == nil
		}
		return false
	})
	return c, ok
}

func (d *decoder) items() ([]Item, bool) {
	if !d.take('[') {
		return nil, false
	}
	items := []Item{}
	if d.take(']') {
		return items, true
	}
	for {
		item, ok := d.item()
		if !ok {
			return nil, false
		}
		items = append(items, item)
		if !d.take(',') {
			return items, d.take(']')
		}
	}
}

func (d *decoder) item() (Item, bool) {
	begin := len(d.attributes)
	ok := d.object(func(name []byte) bool {
		if len(d.attributes) == cap(d.attributes) {
			d.attributes = append(make([]attribute, 0, len(d.attributes)-begin+attributesTogether), d.attributes[begin:]...)
			begin = 0
		}
		n := d.str(name)
		v, ok := d.value()
		d.attributes = append(d.attributes, attribute{n, v})
		return ok
	})
	return Item{slices.Clip(d.attributes[begin:])}, ok
}

// value takes the value of an attribute.
func (d *decoder) value() (types.AttributeValue, bool) {
	if !d.take('{') {
		return nil, false
	}
	kind, ok := d.text()
	if !ok || !d.take(':') {
		return nil, false
	}
	var value types.AttributeValue
	switch string(kind) {
	case "S":
		var text []byte
		text, ok = d.text()
		v := d.s.next()
		v.Value, value = d.str(text), v
	case "N":
		var text []byte
		text, ok = d.text()
		v := d.n.next()
		begin := d.numbers.Len()
		d.numbers.Write(text)
		v.Value, value = d.numbers.String()[begin:], v
	case "B":
		v := d.b.next()
		v.Value, ok = d.bytes()
		value = v
	default:
		return nil, false
	}
	return value, ok && d.take('}')
}
