// Package attribute implements DynamoDB's data model: attribute values and items, their JSON form
// on the wire, their size for DynamoDB's limits and capacity units, their order, and an encoding of
// keys that sorts bytewise in that order.
package attribute

// Kind is the type of an attribute value.
type Kind uint8

// The attribute types, in the order of DynamoDB's documentation: scalars, documents, sets.
const (
	S Kind = iota + 1
	N
	B
	BOOL
	NULL
	M
	L
	SS
	NS
	BS
)

// Value is one attribute value. Values are immutable: requests, storage and responses share them
// without copying, so Set, List and Map must not be modified. The zero Value, of Kind 0, is not a
// valid value.
type Value struct {
	Kind Kind
	// Bool is the value of a BOOL. It is true for a NULL.
	Bool bool
	// Text is the text of an S, the bytes of a B, or the normal form of an N (see NormalizeNumber).
	// Two of these scalars of one kind are equal if their texts are equal.
	Text string
	// Set has the members of SS, NS and BS in the form of Text, without duplicates. Sets that are
	// decoded or computed are sorted: see SortMembers.
	Set []string
	// List has the members of an L.
	List []Value
	// Map has the members of an M.
	Map Item
}

// Item is an item, or the members of a map, by attribute name.
type Item map[string]Value

// String returns an S.
func String(s string) Value { return Value{Kind: S, Text: s} }

// Binary returns a B.
func Binary(b []byte) Value { return Value{Kind: B, Text: string(b)} }

// Boolean returns a BOOL.
func Boolean(b bool) Value { return Value{Kind: BOOL, Bool: b} }

// Null returns a NULL.
func Null() Value { return Value{Kind: NULL, Bool: true} }

// Map returns an M.
func Map(members Item) Value { return Value{Kind: M, Map: members} }

// List returns an L.
func List(members ...Value) Value { return Value{Kind: L, List: members} }

// String returns the name of the type in JSON and in expressions.
func (k Kind) String() string {
	names := [...]string{"", "S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"}
	if int(k) >= len(names) {
		return ""
	}
	return names[k]
}
