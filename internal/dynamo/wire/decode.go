package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A response repeats attribute names, and values that all events of a persistence id share. The
// decoder remembers maxKnown strings of at most maxKnownLength bytes, to allocate each once.
const maxKnown, maxKnownLength = 32, 64

// decoder parses a response from front to back. Its methods return false for JSON that is invalid
// or not plain; the position is undefined then.
type decoder struct {
	json  []byte
	at    int // the offset of the next byte
	known map[string]string
	// numbers holds the text of the last numbers, so that they share few allocations.
	numbers strings.Builder
	// last is the last decoded item. Its attributes are the first elements of attributes; the other
	// elements come from earlier items. The next item usually has the same names and types, and
	// many of the same values.
	last       list
	attributes []*attribute
}

func (d *decoder) space() {
	for d.at < len(d.json) && isSpace(d.json[d.at]) {
		d.at++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// take skips white space and reads the byte c.
func (d *decoder) take(c byte) bool {
	d.space()
	if d.at == len(d.json) || d.json[d.at] != c {
		return false
	}
	d.at++
	return true
}

// object reads an object. It calls field with the name of each field, to read the value.
func (d *decoder) object(field func(name []byte) bool) bool {
	if !d.take('{') {
		return false
	}
	if d.take('}') {
		return true
	}
	for {
		name, ok := d.text()
		if !ok || !d.take(':') || !field(name) {
			return false
		}
		if !d.take(',') {
			return d.take('}')
		}
	}
}

// list reads a list. It calls element to read each element.
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

// quoted reads a string up to the next quote. It returns the bytes between the quotes, unchecked.
func (d *decoder) quoted() ([]byte, bool) {
	if !d.take('"') {
		return nil, false
	}
	length := bytes.IndexByte(d.json[d.at:], '"')
	if length < 0 {
		return nil, false
	}
	text := d.json[d.at : d.at+length]
	d.at += length + 1
	return text, true
}

// text reads a string. The result is a part of the response, unless the string has escapes, as keys
// of the ids index do.
func (d *decoder) text() ([]byte, bool) {
	d.space()
	start := d.at
	text, ok := d.quoted()
	ascii, plain := true, true
	for _, c := range text {
		ascii, plain = ascii && c < utf8.RuneSelf, plain && c >= ' ' && c != '\\'
	}
	if !plain {
		d.at = start
		return d.escaped()
	}
	return text, ok && (ascii || utf8.Valid(text))
}

// escaped reads a string with escapes.
func (d *decoder) escaped() ([]byte, bool) {
	rest := d.json[d.at:]
	for end := 1; end < len(rest); end++ {
		switch rest[end] {
		case '\\':
			end++
		case '"':
			d.at += end + 1
			var s string
			err := json.Unmarshal(rest[:end+1], &s)
			// The SDK decides how to replace an invalid character.
			return []byte(s), err == nil && !strings.ContainsRune(s, utf8.RuneError)
		}
	}
	return nil, false
}

// str returns a string that does not retain the response.
func (d *decoder) str(text []byte) string {
	if known, ok := d.known[string(text)]; ok {
		return known
	}
	s := string(text)
	if d.known == nil {
		d.known = make(map[string]string, maxKnown)
	}
	if len(d.known) < maxKnown && len(s) <= maxKnownLength {
		d.known[s] = s
	}
	return s
}

// numbersSize is the size of the memory that numbers share.
const numbersSize = 1 << 10

// numberText returns a number as a string, in memory that it shares with other numbers.
func (d *decoder) numberText(text []byte) string {
	if d.numbers.Cap()-d.numbers.Len() < len(text) {
		d.numbers.Reset() // the strings in it stay valid
		d.numbers.Grow(max(len(text), min(numbersSize, len(d.json)/8)))
	}
	start := d.numbers.Len()
	d.numbers.Write(text)
	return d.numbers.String()[start:]
}

// stringPointer reads a string. It returns like if that is the same string, otherwise a new one.
func (d *decoder) stringPointer(like *string) (*string, bool) {
	text, ok := d.text()
	if like != nil && *like == string(text) {
		return like, ok
	}
	return new(string(text)), ok
}

// bytes reads a string in base64.
func (d *decoder) bytes() ([]byte, bool) {
	text, ok := d.quoted()
	padding := len(text) - len(bytes.TrimRight(text, "="))
	if !ok || len(text)%4 != 0 || padding > 2 {
		return nil, false
	}
	b := make([]byte, base64.StdEncoding.DecodedLen(len(text))-padding)
	n, err := base64.StdEncoding.Decode(b, text)
	if err != nil || n != len(b) { // Decode skips line breaks, which are invalid in JSON strings
		return nil, false
	}
	return b, true
}

// count reads a number of items.
func (d *decoder) count() (int32, bool) {
	n, err := strconv.ParseInt(string(d.number()), 10, 32)
	return int32(n), err == nil
}

// number reads a number without sign and exponent. It returns the number's bytes in the response,
// or nil if there is no number.
func (d *decoder) number() []byte {
	d.space()
	start := d.at
	digits := func() int {
		from := d.at
		for d.at < len(d.json) && d.json[d.at] >= '0' && d.json[d.at] <= '9' {
			d.at++
		}
		return d.at - from
	}
	whole := digits()
	right := whole > 0 && (whole == 1 || d.json[start] != '0')
	if right && d.at < len(d.json) && d.json[d.at] == '.' {
		d.at++
		right = digits() > 0
	}
	if !right {
		return nil
	}
	return d.json[start:d.at]
}

// capacity reads the consumed capacity of a table. It refuses a capacity that lists indexes. The
// result shares equal values with like: the statements of a request usually belong to one table,
// and consume the same capacity.
func (d *decoder) capacity(like types.ConsumedCapacity) (types.ConsumedCapacity, bool) {
	var c types.ConsumedCapacity
	ok := d.object(func(name []byte) (ok bool) {
		switch string(name) {
		case "TableName":
			c.TableName, ok = d.stringPointer(like.TableName)
		case "CapacityUnits":
			units, err := strconv.ParseFloat(string(d.number()), 64)
			if c.CapacityUnits = like.CapacityUnits; c.CapacityUnits == nil || *c.CapacityUnits != units {
				c.CapacityUnits = new(units)
			}
			ok = err == nil
		}
		return ok
	})
	return c, ok
}

// tableCapacity reads the consumed capacity of a request on one table.
func (d *decoder) tableCapacity() (*types.ConsumedCapacity, bool) {
	c, ok := d.capacity(types.ConsumedCapacity{})
	return &c, ok
}

// capacities reads the consumed capacity of each table of a request. Servers other than DynamoDB
// report each statement.
func (d *decoder) capacities() ([]types.ConsumedCapacity, bool) {
	all := make([]types.ConsumedCapacity, 0, 1)
	var last types.ConsumedCapacity
	ok := d.list(func() (ok bool) {
		last, ok = d.capacity(last)
		all = append(all, last)
		return ok
	})
	return all, ok
}

// items reads a list of items. If taker is not nil, it receives the items, and the method returns
// nil.
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

// item reads an item into last.
func (d *decoder) item() bool {
	if !d.take('{') {
		return false
	}
	if d.take('}') {
		d.last.attributes = nil
		return true
	}
	for n := range maxAttributes {
		if !d.attribute(d.nextAttribute(n)) {
			return false
		}
		if !d.take(',') {
			d.last.attributes = d.attributes[:n+1]
			return d.take('}')
		}
	}
	return false
}

// maxAttributes bounds the memory for a response's attributes. Items of a journal have fewer; an
// item with more is left to the SDK.
const maxAttributes = 64

// maxCompared bounds the earlier attributes with which the next one is compared.
const maxCompared = 16

// nextAttribute returns the attribute into which the n-th attribute of an item is decoded, and
// moves it to position n. This is an attribute from position n on that had the same name and type
// in an earlier item, or otherwise a new one.
func (d *decoder) nextAttribute(n int) *attribute {
	d.space()
	rest := d.json[d.at:]
	for k := n; k < min(n+maxCompared, len(d.attributes)); k++ {
		if bytes.HasPrefix(rest, d.attributes[k].prefix) {
			d.attributes[n], d.attributes[k] = d.attributes[k], d.attributes[n]
			return d.attributes[n]
		}
	}
	if len(d.attributes) == maxAttributes {
		d.attributes[n].prefix = nil
		return d.attributes[n]
	}
	d.attributes = append(d.attributes, &attribute{})
	last := len(d.attributes) - 1
	d.attributes[n], d.attributes[last] = d.attributes[last], d.attributes[n]
	return d.attributes[n]
}

// attribute reads an attribute into a. If the JSON is the same as in the last item with a, a stays
// unchanged.
func (d *decoder) attribute(a *attribute) bool {
	start := d.at
	rest := d.json[start:]
	switch {
	case a.prefix == nil:
		if !d.prefix(a) {
			return false
		}
	case a.kind != kindBinary && bytes.HasPrefix(rest, a.literal): // callers may change bytes
		d.at += len(a.literal)
		return true
	default:
		d.at += len(a.prefix)
	}
	if !d.value(a) || !d.take('}') {
		return false
	}
	a.literal = d.json[start:d.at]
	return true
}

// prefix reads the name of an attribute and the type of its value.
func (d *decoder) prefix(a *attribute) bool {
	start := d.at
	name, ok := d.text()
	if !ok || !d.take(':') || !d.take('{') {
		return false
	}
	a.name = d.str(name)
	typeName, ok := d.text()
	if !ok || !d.take(':') {
		return false
	}
	a.kind, ok = kindOf(typeName)
	a.prefix = d.json[start:d.at]
	return ok
}

// value reads the value of an attribute whose type is known.
func (d *decoder) value(a *attribute) bool {
	ok := false
	switch a.kind {
	case kindString:
		var s []byte
		s, ok = d.text()
		a.s.Value = d.str(s)
	case kindNumber:
		var n []byte
		n, ok = d.text()
		a.n.Value = d.numberText(n)
	case kindBinary:
		a.b.Value, ok = d.bytes()
	case kindStringSet:
		var set []string
		set, ok = d.stringSet()
		a.other = &types.AttributeValueMemberSS{Value: set}
	case kindMap:
		var m Attributes
		m, ok = d.textMap()
		a.other = &types.AttributeValueMemberM{Value: m}
	}
	return ok
}

// stringSet reads a list of strings.
func (d *decoder) stringSet() ([]string, bool) {
	set := []string{}
	ok := d.list(func() bool {
		s, ok := d.text()
		set = append(set, d.str(s))
		return ok
	})
	return set, ok
}

// textMap reads a map whose values are all strings.
func (d *decoder) textMap() (Attributes, bool) {
	m := Attributes{}
	ok := d.object(func(name []byte) bool {
		key := d.str(name) // before the next text, which may use the same memory
		if !d.take('{') {
			return false
		}
		typeName, ok := d.text()
		if !ok || string(typeName) != "S" || !d.take(':') {
			return false
		}
		s, ok := d.text()
		m[key] = &types.AttributeValueMemberS{Value: d.str(s)}
		return ok && d.take('}')
	})
	return m, ok
}
