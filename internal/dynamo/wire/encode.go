package wire

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// encoder appends JSON. As the SDK does, it omits fields that are nil and enums that are empty.
type encoder struct {
	json []byte
	// plain becomes false at the first field or value that only the SDK encodes.
	plain bool
}

// require leaves the request to the SDK unless plain.
func (e *encoder) require(plain bool) { e.plain = e.plain && plain }

func (e *encoder) object(fields func()) {
	e.json = append(e.json, '{')
	fields()
	e.json = append(e.json, '}')
}

func (e *encoder) list(n int, element func(i int)) {
	e.json = append(e.json, '[')
	for i := range n {
		if i > 0 {
			e.json = append(e.json, ',')
		}
		element(i)
	}
	e.json = append(e.json, ']')
}

// key appends the name of an object's next field. The caller appends the value.
func (e *encoder) key(name string) {
	if e.json[len(e.json)-1] != '{' {
		e.json = append(e.json, ',')
	}
	e.json = append(appendString(e.json, name), ':')
}

func (e *encoder) stringField(name string, value *string) {
	if value != nil {
		e.key(name)
		e.json = appendString(e.json, *value)
	}
}

func (e *encoder) enumField(name, value string) {
	if value != "" {
		e.stringField(name, &value)
	}
}

func (e *encoder) boolField(name string, value *bool) {
	if value != nil {
		e.key(name)
		e.json = strconv.AppendBool(e.json, *value)
	}
}

func (e *encoder) itemField(name string, item Attributes) {
	if item != nil {
		e.key(name)
		e.item(item)
	}
}

func (e *encoder) attributeNames(names map[string]string) {
	if names == nil {
		return
	}
	e.key("ExpressionAttributeNames")
	e.object(func() {
		for placeholder, name := range names {
			e.stringField(placeholder, &name)
		}
	})
}

func (e *encoder) item(item Attributes) {
	e.require(item != nil)
	e.object(func() {
		for name, value := range item {
			e.key(name)
			e.value(value)
		}
	})
}

func (e *encoder) value(value types.AttributeValue) {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		e.json = appendString(append(e.json, `{"S":`...), v.Value)
	case *types.AttributeValueMemberN:
		e.json = appendString(append(e.json, `{"N":`...), v.Value)
	case *types.AttributeValueMemberB:
		e.require(v.Value != nil) // the SDK encodes nil as null
		e.json = base64.StdEncoding.AppendEncode(append(e.json, `{"B":"`...), v.Value)
		e.json = append(e.json, '"')
	case *types.AttributeValueMemberSS:
		e.require(v.Value != nil)
		e.json = append(e.json, `{"SS":`...)
		e.list(len(v.Value), func(i int) { e.json = appendString(e.json, v.Value[i]) })
	case *types.AttributeValueMemberM:
		e.textMap(v.Value)
	default:
		e.require(false)
		return
	}
	e.json = append(e.json, '}')
}

// textMap appends a map of strings, without its final brace. Maps with other values, including
// nested maps, are left to the SDK.
func (e *encoder) textMap(m Attributes) {
	e.require(m != nil)
	e.json = append(e.json, `{"M":`...)
	e.object(func() {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			text, ok := m[name].(*types.AttributeValueMemberS)
			if e.require(ok); !ok {
				return
			}
			e.key(name)
			e.value(text)
		}
	})
}

// appendString appends a JSON string. Invalid UTF-8 becomes U+FFFD, as in the SDK.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0 // of the part of s that is appended unchanged
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
		dst = append(dst, s[start:i]...)
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		default:
			dst = append(dst, "\uFFFD"...)
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
