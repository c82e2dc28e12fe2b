package attribute

import "unicode/utf8"

// AppendItem appends an item in DynamoDB's JSON. The order of its attributes is not defined.
func AppendItem(dst []byte, item Item) []byte {
	dst = append(dst, '{')
	first := true
	for name, value := range item {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = AppendText(dst, name)
		dst = append(dst, ':')
		dst = AppendValue(dst, value)
	}
	return append(dst, '}')
}

// AppendValue appends a value in DynamoDB's JSON.
func AppendValue(dst []byte, v Value) []byte {
	dst = append(dst, '{', '"')
	dst = append(dst, v.Kind.String()...)
	dst = append(dst, '"', ':')
	switch v.Kind {
	case S:
		dst = AppendText(dst, v.Text)
	case N:
		dst = append(dst, '"')
		dst = append(dst, v.Text...)
		dst = append(dst, '"')
	case B:
		dst = append(dst, '"')
		dst = appendBase64(dst, v.Text)
		dst = append(dst, '"')
	case BOOL, NULL:
		if v.Bool {
			dst = append(dst, "true"...)
		} else {
			dst = append(dst, "false"...)
		}
	case SS, NS, BS:
		dst = appendSet(dst, v)
	case L:
		dst = append(dst, '[')
		for i, member := range v.List {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendValue(dst, member)
		}
		dst = append(dst, ']')
	case M:
		dst = AppendItem(dst, v.Map)
	}
	return append(dst, '}')
}

func appendSet(dst []byte, v Value) []byte {
	dst = append(dst, '[')
	for i, member := range v.Set {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.Kind == BS {
			dst = append(dst, '"')
			dst = appendBase64(dst, member)
			dst = append(dst, '"')
		} else {
			dst = AppendText(dst, member)
		}
	}
	return append(dst, ']')
}

// AppendText appends a JSON string. Bytes that are not UTF-8 become the replacement character.
func AppendText(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	written := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, text[written:i]...)
				dst = append(dst, "\uFFFD"...)
				written = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, text[written:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
		}
		i++
		written = i
	}
	dst = append(dst, text[written:]...)
	return append(dst, '"')
}
