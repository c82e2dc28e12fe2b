package attribute

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The binary form of an item: the number of attributes, then the name and the value of each. A
// value begins with one byte for its kind. Then S, N and B have a length and the text, a BOOL has
// one byte, and a NULL has nothing more. Sets, lists and maps have the number of members and the
// members. Lengths and counts are uvarints.

var errItemEncoding = errors.New("not an encoded item")

// AppendBinaryItem appends the binary form of an item. The order of its attributes is not defined.
func AppendBinaryItem(dst []byte, item Item) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(item)))
	for name, value := range item {
		dst = appendBinaryText(dst, name)
		dst = appendBinaryValue(dst, value)
	}
	return dst
}

func appendBinaryText(dst []byte, text string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...)
}

func appendBinaryValue(dst []byte, v Value) []byte {
	dst = append(dst, byte(v.Kind))
	switch v.Kind {
	case S, N, B:
		return appendBinaryText(dst, v.Text)
	case BOOL:
		if v.Bool {
			return append(dst, 1)
		}
		return append(dst, 0)
	case SS, NS, BS:
		dst = binary.AppendUvarint(dst, uint64(len(v.Set)))
		for _, member := range v.Set {
			dst = appendBinaryText(dst, member)
		}
	case L:
		dst = binary.AppendUvarint(dst, uint64(len(v.List)))
		for _, member := range v.List {
			dst = appendBinaryValue(dst, member)
		}
	case M:
		return AppendBinaryItem(dst, v.Map)
	case NULL:
	}
	return dst
}

// DecodeBinaryItem decodes the output of AppendBinaryItem. Further bytes in src are an error. The
// item does not refer to src. Numbers are not checked, because they were checked before they were
// stored.
func DecodeBinaryItem(src []byte) (Item, error) {
	// All texts of the item share one copy.
	r := binaryReader{src: string(src)}
	item, err := r.item(0)
	if err != nil {
		return nil, err
	}
	if r.src != "" {
		return nil, fmt.Errorf("%w: %d bytes follow it", errItemEncoding, len(r.src))
	}
	return item, nil
}

type binaryReader struct{ src string }

// uvarint reads a number. It accepts only the shortest form, so that an item has one encoding
// length.
func (r *binaryReader) uvarint() (uint64, error) {
	var n uint64
	for i := range min(len(r.src), binary.MaxVarintLen64) {
		c := r.src[i]
		if c < 0x80 {
			if i == binary.MaxVarintLen64-1 && c > 1 || i > 0 && c == 0 {
				break
			}
			r.src = r.src[i+1:]
			return n | uint64(c)<<(7*i), nil
		}
		n |= uint64(c&0x7F) << (7 * i)
	}
	return 0, fmt.Errorf("%w: number", errItemEncoding)
}

// count reads the number of members. Each takes at least one byte, so that a count can't make the
// reader allocate more memory than the input justifies.
func (r *binaryReader) count() (int, error) {
	n, err := r.uvarint()
	if err != nil {
		return 0, err
	}
	if n > uint64(len(r.src)) {
		return 0, fmt.Errorf("%w: count", errItemEncoding)
	}
	return int(n), nil
}

func (r *binaryReader) byte() (byte, error) {
	if r.src == "" {
		return 0, fmt.Errorf("%w: cut off", errItemEncoding)
	}
	b := r.src[0]
	r.src = r.src[1:]
	return b, nil
}

func (r *binaryReader) text() (string, error) {
	n, err := r.count()
	if err != nil {
		return "", err
	}
	text := r.src[:n]
	r.src = r.src[n:]
	return text, nil
}

func (r *binaryReader) item(depth int) (Item, error) {
	n, err := r.count()
	if err != nil {
		return nil, err
	}
	// A name and a value take at least three bytes.
	item := make(Item, min(n, len(r.src)/3))
	for range n {
		name, err := r.text()
		if err != nil {
			return nil, err
		}
		if item[name], err = r.value(depth); err != nil {
			return nil, err
		}
	}
	return item, nil
}

func (r *binaryReader) value(depth int) (Value, error) {
	kind, err := r.byte()
	if err != nil {
		return Value{}, err
	}
	v := Value{Kind: Kind(kind)}
	switch v.Kind {
	case S, N, B:
		v.Text, err = r.text()
	case BOOL:
		var b byte
		b, err = r.byte()
		v.Bool = b != 0
	case NULL:
		v.Bool = true
	case SS, NS, BS:
		v.Set, err = r.set()
	case L:
		if depth >= MaxDepth {
			return Value{}, fmt.Errorf("%w: nesting", errItemEncoding)
		}
		v.List, err = r.list(depth + 1)
	case M:
		if depth >= MaxDepth {
			return Value{}, fmt.Errorf("%w: nesting", errItemEncoding)
		}
		v.Map, err = r.item(depth + 1)
	default:
		return Value{}, fmt.Errorf("%w: kind %d", errItemEncoding, kind)
	}
	return v, err
}

func (r *binaryReader) set() ([]string, error) {
	n, err := r.count()
	if err != nil {
		return nil, err
	}
	set := make([]string, n)
	for i := range set {
		if set[i], err = r.text(); err != nil {
			return nil, err
		}
	}
	return set, nil
}

func (r *binaryReader) list(depth int) ([]Value, error) {
	n, err := r.count()
	if err != nil {
		return nil, err
	}
	var list []Value
	for range n {
		v, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}
