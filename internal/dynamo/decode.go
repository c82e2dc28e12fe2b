package dynamo

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

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
	padding := len(text) - len(bytes.TrimRight(text, "="))
	if !ok || len(text)%4 != 0 || padding > 2 {
		return nil, false
	}
	b := make([]byte, base64.StdEncoding.DecodedLen(len(text))-padding)
	n, err := base64.StdEncoding.Decode(b, text)
	if err != nil || n != len(b) { // line breaks are skipped by the decoder, and are no JSON
		return nil, false
	}
	return b, true
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
