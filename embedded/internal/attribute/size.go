package attribute

import "strings"

// documentOverhead is the size of an M or L without its members. Each member adds one byte to its
// own size.
const documentOverhead = 3

// Size returns the size of an item in bytes, for the limits of items, pages and capacity units: the
// UTF-8 lengths of its names and the sizes of its values.
func (i Item) Size() int {
	size := 0
	for name, value := range i {
		size += len(name) + value.Size()
	}
	return size
}

// Size returns the size of a value without its name, in bytes.
func (v Value) Size() int {
	switch v.Kind {
	case S, B:
		return len(v.Text)
	case N:
		return numberSize(v.Text)
	case BOOL, NULL:
		return 1
	case SS, BS:
		size := 0
		for _, member := range v.Set {
			size += len(member)
		}
		return size
	case NS:
		size := 0
		for _, member := range v.Set {
			size += numberSize(member)
		}
		return size
	case L:
		size := documentOverhead + len(v.List)
		for _, member := range v.List {
			size += member.Size()
		}
		return size
	case M:
		return documentOverhead + len(v.Map) + v.Map.Size()
	}
	return 0
}

// numberSize returns the size of a number: one byte, one for each two significant digits on either
// side of the point, and one for a minus sign.
func numberSize(s string) int {
	size := 1
	digits := s
	if strings.HasPrefix(s, "-") {
		size++
		digits = s[1:]
	}
	if whole, fraction, found := strings.Cut(digits, "."); found {
		if whole == "0" {
			return size + (len(strings.TrimLeft(fraction, "0"))+1)/2
		}
		return size + (len(whole)+1)/2 + (len(fraction)+1)/2
	}
	return size + (len(strings.TrimRight(digits, "0"))+1)/2
}
