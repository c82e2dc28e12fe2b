package dynamo

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

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

// takesItems is the key of a context's value that takes the items of a Query: a *taking.
type takesItems struct{}

// taking is a Taker, and reports whether it was given a list of items.
type taking struct {
	Taker

	given bool
}

// Start begins the page anew.
func (t *taking) Start() {
	t.given = false
	t.Taker.Start()
}

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
