// Package attribute is DynamoDB's data model: attribute values and items, their JSON form on the
// wire, their size as DynamoDB accounts it, their order, and the encoding of keys whose byte order
// is DynamoDB's.
package attribute

// Kind is the type of an attribute value.
type Kind uint8

// The attribute types, in the order of the documentation: scalars, documents, sets.
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

// Value is one attribute value. Values are immutable once made: they are shared between requests,
// storage and answers without copying, so nothing may write through Set, List or Map. The zero
// Value is no value at all (Kind 0).
type Value struct {
	Kind Kind
	// Bool is the value of a BOOL; a NULL has it true.
	Bool bool
	// Text is the text of an S, the bytes of a B, or the normal form of an N (see NormalizeNumber),
	// so that two scalars of one kind are equal exactly when their texts are.
	Text string
	// Set holds the members of SS, NS, BS, each as Text would hold it, in the order given, without
	// duplicates.
	Set []string
	// List holds the members of an L.
	List []Value
	// Map holds the members of an M.
	Map Item
}

// Item is an item, or the members of a map: attribute names to values.
type Item map[string]Value

// String makes an S.
func String(s string) Value { return Value{Kind: S, Text: s} }

// Binary makes a B.
func Binary(b []byte) Value { return Value{Kind: B, Text: string(b)} }

// Boolean makes a BOOL.
func Boolean(b bool) Value { return Value{Kind: BOOL, Bool: b} }

// Null makes a NULL.
func Null() Value { return Value{Kind: NULL, Bool: true} }

// Map makes an M.
func Map(members Item) Value { return Value{Kind: M, Map: members} }

// List makes an L.
func List(members ...Value) Value { return Value{Kind: L, List: members} }

// String returns the type's name as the wire and the expressions spell it.
func (k Kind) String() string {
	names := [...]string{"", "S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"}
	if int(k) >= len(names) {
		return ""
	}
	return names[k]
}
