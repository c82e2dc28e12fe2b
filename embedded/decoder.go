package embedded

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

// decoder reads the JSON body of a request in one pass. After the first error, all reads return
// zero values. A JSON null means that a parameter is not given.
type decoder struct {
	src []byte
	pos int
	err error

	// repeated is the JSON of the last text with escapes. meaning is its decoded form. They are
	// cached because the statements of a batch are often equal.
	repeated []byte
	meaning  string
}

// itemParameter is an item of a request. A violation of the data model is stored with it, since
// other checks come first.
type itemParameter struct {
	// item is nil if the parameter is not given or invalid.
	item    attribute.Item
	invalid *attribute.ValidationError
}

func (p itemParameter) given() bool { return p.item != nil || p.invalid != nil }

// valueParameter is a value of a request, or its violation of the data model.
type valueParameter struct {
	value   attribute.Value
	invalid *attribute.ValidationError
}

// valuesParameter is a list of values of a request.
type valuesParameter struct {
	// values is nil if the parameter is not given.
	values []attribute.Value
	// invalid is the first violation of the data model by a value.
	invalid *attribute.ValidationError
}

// decode reads the members of the body. It calls field with each name, which must read or skip the
// value.
func decode(body []byte, field func(name string, r *decoder)) error {
	r := &decoder{src: body}
	if r.peek() != '{' {
		return serviceError("SerializationException", "")
	}
	r.members(func(name string) { field(name, r) })
	if r.err == nil && r.peek() != 0 {
		r.syntax()
	}
	return r.err
}

func (r *decoder) fail(err error) {
	if r.err == nil {
		r.err = err
		r.pos = len(r.src)
	}
}

func (r *decoder) syntax() { r.fail(serviceError("SerializationException", "")) }

func (r *decoder) mistyped(message string) { r.fail(serviceError("SerializationException", message)) }

// peek skips white space and returns the byte that follows it, or 0 at the end.
func (r *decoder) peek() byte {
	for r.pos < len(r.src) {
		switch c := r.src[r.pos]; c {
		case ' ', '\t', '\r', '\n':
			r.pos++
		default:
			return c
		}
	}
	return 0
}

// members reads the object that starts here.
func (r *decoder) members(field func(name string)) {
	r.pos++
	for first := true; r.err == nil; first = false {
		c := r.peek()
		if c == '}' {
			r.pos++
			return
		}
		if !first {
			if c != ',' {
				r.syntax()
				return
			}
			r.pos++
			c = r.peek()
		}
		if c != '"' {
			r.syntax()
			return
		}
		name := r.quoted()
		if r.peek() != ':' {
			r.syntax()
			return
		}
		r.pos++
		field(name)
	}
}

// quoted reads the string that starts here.
func (r *decoder) quoted() string {
	start := r.pos + 1
	for i := start; i < len(r.src); i++ {
		switch c := r.src[i]; {
		case c == '"':
			r.pos = i + 1
			text := r.src[start:i]
			if !utf8.Valid(text) {
				r.syntax()
				return ""
			}
			return string(text)
		case c == '\\':
			return r.escaped()
		case c < ' ':
			r.syntax()
			return ""
		}
	}
	r.syntax()
	return ""
}

func (r *decoder) escaped() string {
	raw := r.skipString()
	if raw != nil && bytes.Equal(raw, r.repeated) {
		return r.meaning
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		r.syntax()
		return ""
	}
	r.repeated, r.meaning = raw, text
	return text
}

func (r *decoder) skipString() []byte {
	start := r.pos
	quote := start
	for at := start + 1; ; {
		if quote < at { // no quote was found yet, or the last one was escaped
			next := -1
			if at < len(r.src) {
				next = bytes.IndexByte(r.src[at:], '"')
			}
			if next < 0 {
				r.syntax()
				return nil
			}
			quote = at + next
		}
		escape := bytes.IndexByte(r.src[at:quote], '\\')
		if escape < 0 {
			r.pos = quote + 1
			return r.src[start:r.pos]
		}
		at += escape + len(`\"`)
	}
}

// raw returns the bytes of the value that starts here. It only finds the end of the value; the
// caller checks it.
func (r *decoder) raw() []byte {
	c := r.peek()
	start := r.pos
	switch c {
	case '"':
		return r.skipString()
	case '{', '[':
	default:
		for r.pos < len(r.src) && strings.IndexByte(",]} \t\r\n", r.src[r.pos]) < 0 {
			r.pos++
		}
		if r.pos == start {
			r.syntax()
		}
		return r.src[start:r.pos]
	}
	for depth := 0; r.pos < len(r.src); {
		switch r.src[r.pos] {
		case '"':
			r.skipString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		r.pos++
		if depth == 0 {
			return r.src[start:r.pos]
		}
	}
	r.syntax()
	return nil
}

// skip skips an unknown member.
func (r *decoder) skip() {
	if raw := r.raw(); r.err == nil && !json.Valid(raw) {
		r.syntax()
	}
}

// null skips a null, and reports whether there is one.
func (r *decoder) null() bool {
	if r.peek() != 'n' {
		return false
	}
	r.literal("null")
	return true
}

func (r *decoder) literal(word string) {
	if !bytes.HasPrefix(r.src[r.pos:], []byte(word)) {
		r.syntax()
		return
	}
	r.pos += len(word)
}

// scalar skips a scalar, and returns its name in error messages.
func (r *decoder) scalar() string {
	raw := r.raw()
	switch {
	case r.err != nil || !json.Valid(raw):
		r.syntax()
		return ""
	case raw[0] == '"':
		return "STRING_VALUE"
	case raw[0] == 't':
		return "TRUE_VALUE"
	case raw[0] == 'f':
		return "FALSE_VALUE"
	case bytes.ContainsAny(raw, ".eE"):
		return "DECIMAL_VALUE"
	}
	return "NUMBER_VALUE"
}

// wrongType fails because the value does not have the wanted scalar type.
func (r *decoder) wrongType(wanted string) {
	switch r.peek() {
	case '{':
		r.mistyped("Start of structure or map found where not expected")
	case '[':
		r.mistyped("Unrecognized collection type class java.lang." + wanted)
	default:
		if found := r.scalar(); r.err == nil {
			r.mistyped(found + " cannot be converted to " + wanted)
		}
	}
}

// text reads a string. It returns nil if the parameter is not given.
func (r *decoder) text() *string {
	switch r.peek() {
	case '"':
		text := r.quoted()
		return &text
	case 'n':
		r.null()
	default:
		r.wrongType("String")
	}
	return nil
}

// integer reads an integer. It returns nil if the parameter is not given. Fractions are truncated.
func (r *decoder) integer(kind string) *int64 {
	c := r.peek()
	switch {
	case c == 'n':
		r.null()
		return nil
	case c != '-' && (c < '0' || c > '9'):
		r.wrongType(kind)
		return nil
	}
	raw := r.raw()
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil && json.Valid(raw) {
		return &n
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if !json.Valid(raw) || err != nil && f == 0 {
		r.syntax()
		return nil
	}
	n := int64(math.MaxInt64)
	if f < math.MaxInt64 {
		n = int64(math.Max(math.Floor(f), math.MinInt64))
	}
	return &n
}

// boolean reads a boolean. It returns nil if the parameter is not given.
func (r *decoder) boolean() *bool {
	yes, no := true, false
	switch r.peek() {
	case 't':
		r.literal("true")
		return &yes
	case 'f':
		r.literal("false")
		return &no
	case 'n':
		r.null()
	case '"':
		switch r.quoted() {
		case "true", "TRUE", "True", "1", "yes", "YES":
			return &yes
		case "false", "FALSE", "False", "0", "no", "NO":
			return &no
		}
		r.mistyped("Unexpected token received from parser")
	default:
		r.wrongType("Boolean")
	}
	return nil
}

// list reads an array, and calls element for each of its elements. It returns false if the
// parameter is not given.
func (r *decoder) list(element func()) bool {
	switch r.peek() {
	case '[':
	case 'n':
		r.null()
		return false
	case '{':
		r.mistyped("Start of structure or map found where not expected")
		return false
	default:
		if r.scalar(); r.err == nil {
			r.mistyped("Unexpected field type")
		}
		return false
	}
	r.pos++
	for first := true; r.err == nil; first = false {
		c := r.peek()
		if c == ']' {
			r.pos++
			break
		}
		if !first {
			if c != ',' {
				r.syntax()
				break
			}
			r.pos++
		}
		element()
	}
	return true
}

// texts reads an array of strings. It returns nil if the parameter is not given.
func (r *decoder) texts() []string {
	texts := []string{}
	given := r.list(func() {
		if text := r.text(); text != nil {
			texts = append(texts, *text)
		}
	})
	if !given {
		return nil
	}
	return texts
}

// mapping reads an object that maps names to values of the type. It returns false if the parameter
// is not given.
func (r *decoder) mapping(valueType string, member func(name string)) bool {
	switch r.peek() {
	case '{':
		r.members(member)
		return true
	case 'n':
		r.null()
	case '[':
		r.mistyped("Unrecognized collection type java.util.Map<java.lang.String, " + valueType + ">")
	default:
		if r.scalar(); r.err == nil {
			r.mistyped("Unexpected field type")
		}
	}
	return false
}

// structure reads an object of the type. It returns false if the parameter is not given.
func (r *decoder) structure(structType string, member func(name string)) bool {
	switch r.peek() {
	case '{':
		r.members(member)
		return true
	case 'n':
		r.null()
	case '[':
		r.mistyped("Unrecognized collection type class com.amazonaws.dynamodb.v20120810." + structType)
	default:
		if r.scalar(); r.err == nil {
			r.mistyped("Unexpected value type in payload")
		}
	}
	return false
}

// names reads an object of strings. It returns nil if the parameter is not given.
func (r *decoder) names() map[string]string {
	names := map[string]string{}
	given := r.mapping("java.lang.String", func(name string) {
		if text := r.text(); text != nil {
			names[name] = *text
		}
	})
	if !given {
		return nil
	}
	return names
}

// item reads an item.
func (r *decoder) item() itemParameter { return r.itemInto(nil) }

// itemInto reads an item into the map empty, or into a new map if empty is nil.
func (r *decoder) itemInto(empty attribute.Item) itemParameter {
	raw := r.raw()
	if r.err != nil {
		return itemParameter{}
	}
	item, err := attribute.DecodeItemInto(empty, raw)
	return itemParameter{item: item, invalid: r.broken(err)}
}

// value reads an attribute value.
func (r *decoder) value() valueParameter {
	raw := r.raw()
	if r.err != nil {
		return valueParameter{}
	}
	value, err := attribute.DecodeValue(raw)
	return valueParameter{value: value, invalid: r.broken(err)}
}

// values reads the values of expression placeholders.
func (r *decoder) values() itemParameter {
	raw := r.raw()
	if r.err != nil {
		return itemParameter{}
	}
	values, err := expression.DecodeValues(raw)
	return itemParameter{item: values, invalid: r.broken(err)}
}

// fewValues is the initial capacity of a list of values. An event has eight.
const fewValues = 8

// valueList reads an array of attribute values.
func (r *decoder) valueList() valuesParameter {
	p := valuesParameter{values: make([]attribute.Value, 0, fewValues)}
	given := r.list(func() {
		v := r.value()
		p.values = append(p.values, v.value)
		if p.invalid == nil {
			p.invalid = v.invalid
		}
	})
	if !given {
		return valuesParameter{}
	}
	return p
}

// broken returns a violation of the data model, which is reported later. For any other error, the
// decoder fails.
func (r *decoder) broken(err error) *attribute.ValidationError {
	if err == nil {
		return nil
	}
	rule, ok := err.(*attribute.ValidationError) //nolint:errorlint // DecodeItem returns it bare
	if !ok {
		r.fail(err)
	}
	return rule
}
