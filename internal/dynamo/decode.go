package dynamo

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// protocol is the SDK's, but for the answers of Query and Scan, of which a replay has many and large ones: what is plain in
// them it decodes itself, in one pass over the bytes. Whatever is not plain (another type than S, N and B, an escape, a field
// it does not know) it leaves, with the whole answer, to the SDK, whose decoder says what an answer means.
type protocol struct{ smithyhttp.ClientProtocol }

// DeserializeResponse decodes an answer.
func (p protocol) DeserializeResponse(
	ctx context.Context, schema *smithy.OperationSchema, registry *smithy.TypeRegistry, answer *smithyhttp.Response, out smithy.Deserializable,
) error {
	if body, ok := answer.Body.(*wholeBody); ok && answer.StatusCode == http.StatusOK {
		switch out := out.(type) {
		case *dynamodb.QueryOutput:
			if page, ok := decodePage(body.whole); ok {
				out.Items, out.Count, out.ScannedCount = page.items, page.count, page.scanned
				out.LastEvaluatedKey, out.ConsumedCapacity = page.next, page.capacity
				return nil
			}
		case *dynamodb.ScanOutput:
			if page, ok := decodePage(body.whole); ok {
				out.Items, out.Count, out.ScannedCount = page.items, page.count, page.scanned
				out.LastEvaluatedKey, out.ConsumedCapacity = page.next, page.capacity
				return nil
			}
		}
	}
	return p.ClientProtocol.DeserializeResponse(ctx, schema, registry, answer, out) //nolint:wrapcheck // it stands for the SDK's own
}

// wholeBody is a body that has been read, and can be had at once.
type wholeBody struct {
	*bytes.Reader

	whole []byte
}

func newWholeBody(b []byte) *wholeBody { return &wholeBody{bytes.NewReader(b), b} }

// Close does nothing: nothing is left to be read.
func (*wholeBody) Close() error { return nil }

// page is what the answers of Query and Scan say.
type page struct {
	items          []Attributes
	count, scanned int32
	next           Attributes
	capacity       *types.ConsumedCapacity
}

// decodePage decodes an answer of Query or Scan. False says that it is not plain, or no such answer at all.
func decodePage(b []byte) (page, bool) {
	d := decoder{rest: b, known: make(map[string]string, knownTexts)}
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
			p.next, ok = d.item(keyAttributes)
		case "ConsumedCapacity":
			p.capacity, ok = d.capacity()
		}
		return ok
	})
	d.space()
	return p, ok && len(d.rest) == 0
}

const (
	// knownTexts is how many texts of an answer are kept to be used again, knownLength how long they are at most: attribute
	// names, and what all events of a persistence id have in common.
	knownTexts, knownLength = 32, 64
	// keyAttributes and eventAttributes are how many attributes a key and an event have, more or less.
	keyAttributes, eventAttributes = 4, 8
)

// decoder takes an answer apart, from the front. Its methods say false at what is not plain; what they have taken is lost then.
type decoder struct {
	rest  []byte
	known map[string]string
	s     slab[types.AttributeValueMemberS]
	n     slab[types.AttributeValueMemberN]
	b     slab[types.AttributeValueMemberB]
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
	for len(d.rest) > 0 && (d.rest[0] == ' ' || d.rest[0] == '\n' || d.rest[0] == '\r' || d.rest[0] == '\t') {
		d.rest = d.rest[1:]
	}
}

// take takes c, which may stand after white space.
func (d *decoder) take(c byte) bool {
	d.space()
	if len(d.rest) == 0 || d.rest[0] != c {
		return false
	}
	d.rest = d.rest[1:]
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
	end := bytes.IndexByte(d.rest, '"')
	if end < 0 {
		return nil, false
	}
	text := d.rest[:end]
	d.rest = d.rest[end+1:]
	return text, true
}

// text takes a string that says what it means: without escapes.
func (d *decoder) text() ([]byte, bool) {
	text, ok := d.quoted()
	ascii := true
	for _, c := range text {
		if c < ' ' || c == '\\' {
			return nil, false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return text, ok && (ascii || utf8.Valid(text))
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
	end := bytes.IndexAny(d.rest, ",} ")
	if end < 0 || !json.Valid(d.rest[:end]) || bytes.ContainsAny(d.rest[:end], "-+eE") {
		return ""
	}
	number := string(d.rest[:end])
	d.rest = d.rest[end:]
	return number
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

func (d *decoder) items() ([]Attributes, bool) {
	if !d.take('[') {
		return nil, false
	}
	items := []Attributes{}
	if d.take(']') {
		return items, true
	}
	attributes := eventAttributes
	for {
		item, ok := d.item(attributes)
		if !ok {
			return nil, false
		}
		items = append(items, item)
		attributes = len(item) // the next one is most likely the same
		if !d.take(',') {
			return items, d.take(']')
		}
	}
}

func (d *decoder) item(attributes int) (Attributes, bool) {
	item := make(Attributes, attributes)
	ok := d.object(func(name []byte) bool {
		v, ok := d.value()
		if ok {
			item[d.str(name)] = v
		}
		return ok
	})
	return item, ok
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
		v.Value, value = string(text), v
	case "B":
		v := d.b.next()
		v.Value, ok = d.bytes()
		value = v
	default:
		return nil, false
	}
	return value, ok && d.take('}')
}
