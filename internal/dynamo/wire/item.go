package wire

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Attributes is an item, or a key.
type Attributes = map[string]types.AttributeValue

// Item is an item whose attributes can be read by name.
type Item interface {
	// Get returns the value of an attribute, or false if the item does not have the attribute.
	Get(name string) (types.AttributeValue, bool)
}

// Map is an [Item] that the SDK has decoded.
type Map Attributes

// Get returns the value of an attribute, or false if the item does not have the attribute.
func (m Map) Get(name string) (types.AttributeValue, bool) {
	v, ok := m[name]
	return v, ok
}

// Taker receives the items of a page one by one, as they are decoded, without a map for each item.
type Taker interface {
	// Start starts the page. It is called again for another attempt: the Taker must then discard
	// the items taken before.
	Start()
	// Take takes the next item. The item and the values that its Get returns are valid until Take
	// returns; the bytes and strings in them stay valid, sets and maps do not.
	Take(item Item)
}

// Items passes the items of a Query's pages to a [Taker].
type Items struct {
	taker Taker
	// listed is true if the last page was decoded completely and had a list of items.
	listed bool
}

// NewItems returns Items for a Taker.
func NewItems(t Taker) *Items { return &Items{taker: t} }

// destination returns the taker, or nil if i is nil.
func (i *Items) destination() Taker {
	if i == nil {
		return nil
	}
	return i.taker
}

// Start starts a page. It does nothing if i is nil.
func (i *Items) Start() {
	if i != nil {
		i.listed = false
		i.taker.Start()
	}
}

// Listed reports whether the last page was decoded completely and had a list of items.
func (i *Items) Listed() bool { return i != nil && i.listed }

// list is an item as it was decoded: its attributes in the order of the response.
type list struct{ attributes []*attribute }

// attribute is an attribute of an item. It has a field for each frequent type of value, and one
// field for all other types. kind says which field is used.
type attribute struct {
	name string
	s    types.AttributeValueMemberS
	n    types.AttributeValueMemberN
	b    types.AttributeValueMemberB
	// other is a *types.AttributeValueMemberSS or a *types.AttributeValueMemberM.
	other types.AttributeValue
	kind  kind
	// literal is the attribute's JSON, from the quote before its name to the brace after its value.
	// prefix is the part of literal before the value.
	literal, prefix []byte
}

// kind is the type of a value.
type kind byte

const (
	kindString kind = iota + 1
	kindNumber
	kindBinary
	kindStringSet
	kindMap // of strings
)

// kindOf returns the kind for the name of a type in DynamoDB's JSON, or false if values of that
// type are left to the SDK.
func kindOf(name []byte) (kind, bool) {
	switch string(name) {
	case "S":
		return kindString, true
	case "N":
		return kindNumber, true
	case "B":
		return kindBinary, true
	case "SS":
		return kindStringSet, true
	case "M":
		return kindMap, true
	}
	return 0, false
}

// Get returns the value of an attribute, or false if the item does not have the attribute.
func (l *list) Get(name string) (types.AttributeValue, bool) {
	// If several attributes have the same name, the last one counts. A replay calls this method
	// more often than any other: so the last bytes are compared first, because most names of the
	// same length differ there, and the loop does not use an iterator of package slices, which is
	// slower.
	for i := len(l.attributes) - 1; i >= 0; i-- { //nolint:modernize // as above
		a := l.attributes[i]
		if last := len(name) - 1; len(a.name) == len(name) && (last < 0 || a.name[last] == name[last]) && a.name == name {
			return a.value(), true
		}
	}
	return nil, false
}

func (a *attribute) value() types.AttributeValue {
	switch a.kind {
	case kindString:
		return &a.s
	case kindNumber:
		return &a.n
	case kindBinary:
		return &a.b
	}
	return a.other
}

// attributeMap returns the item as the SDK would return it. It stays valid when the list changes.
func (l *list) attributeMap() Attributes {
	m := make(Attributes, len(l.attributes))
	for _, a := range l.attributes {
		switch a.kind {
		case kindString:
			m[a.name] = &types.AttributeValueMemberS{Value: a.s.Value}
		case kindNumber:
			m[a.name] = &types.AttributeValueMemberN{Value: a.n.Value}
		case kindBinary:
			m[a.name] = &types.AttributeValueMemberB{Value: a.b.Value}
		default:
			m[a.name] = clone(a.other)
		}
	}
	return m
}

// clone returns a copy of a set or a map of strings.
func clone(value types.AttributeValue) types.AttributeValue {
	switch value := value.(type) {
	case *types.AttributeValueMemberSS:
		return &types.AttributeValueMemberSS{Value: slices.Clone(value.Value)}
	case *types.AttributeValueMemberM:
		return &types.AttributeValueMemberM{Value: maps.Clone(value.Value)}
	}
	return nil
}
