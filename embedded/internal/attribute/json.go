package attribute

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is the maximum number of levels of an attribute. Its value is on the first level. If
// that is a list or a map, its members are on the second level.
const MaxDepth = 32

// nameLimit is an exclusive limit: the name of an attribute must be shorter, in bytes.
const nameLimit = 1 << 16

const (
	emptyValue  = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
	mixedValue  = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
	tooDeep     = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
	emptyName   = "Empty attribute name"
	longName    = "One or more parameter values were invalid: Attribute name is too large, must be less than 65536 bytes"
	badNull     = "One or more parameter values were invalid: Null attribute value types must have the value of true"
	emptySS     = "One or more parameter values were invalid: An string set  may not be empty"
	emptyNS     = "One or more parameter values were invalid: An number set  may not be empty"
	emptyBS     = "One or more parameter values were invalid: Binary sets should not be empty"
	notString   = "class java.lang.String"
	notValue    = "class com.amazonaws.dynamodb.v20120810.AttributeValue"
	noStructure = "Start of structure or map found where not expected"
)

// DecodeItem decodes an item in DynamoDB's JSON: an object that maps attribute names to values. The
// JSON null is the nil item. Invalid JSON and JSON of the wrong types are a *SerializationError,
// even if the data model is also violated. Otherwise the first violation of the data model is a
// *ValidationError. The item does not refer to data.
func DecodeItem(data []byte) (Item, error) { return DecodeItemInto(nil, data) }

// DecodeItemInto is like DecodeItem, but decodes into an empty map, or into a new one if that is
// nil. After an error the map has a part of the item.
func DecodeItemInto(empty Item, data []byte) (Item, error) {
	// All texts of the item share one copy.
	r := jsonReader{src: string(data), empty: empty}
	item, err := r.whole()
	if err != nil {
		return nil, err
	}
	return item, nil
}

// DecodeNamed is like DecodeItem, for values whose names are not attribute names. It does not check
// the names. With a *ValidationError it also returns the decoded values.
func DecodeNamed(data []byte) (Item, error) {
	r := jsonReader{src: string(data), anyName: true}
	return r.whole()
}

func (r *jsonReader) whole() (Item, error) {
	item, err := r.item(0)
	if err != nil {
		return nil, err
	}
	return item, r.end()
}

// DecodeValue decodes one value in DynamoDB's JSON: an object whose only member is named after the
// type. It returns the same errors as DecodeItem.
func DecodeValue(data []byte) (Value, error) {
	if v, plain := plainValue(data); plain {
		return v, nil
	}
	r := jsonReader{src: string(data)}
	v, err := r.value(0)
	if err != nil {
		return Value{}, err
	}
	if err := r.end(); err != nil {
		return Value{}, err
	}
	return v, nil
}

// plainValue decodes an S, N or B in the form that nearly all programs send: without white space,
// escapes and non-ASCII characters, and with integers in normal form. It returns false for any
// other form.
func plainValue(data []byte) (Value, bool) {
	const prefix, suffix = `{"S":"`, `"}`
	if len(data) < len(prefix)+len(suffix) || data[0] != '{' || data[1] != '"' || data[3] != '"' || data[4] != ':' || data[5] != '"' ||
		string(data[len(data)-len(suffix):]) != suffix {
		return Value{}, false
	}
	text := data[len(prefix) : len(data)-len(suffix)]
	switch data[2] {
	case 'S':
		return Value{Kind: S, Text: string(text)}, plainText(text)
	case 'N':
		v := Value{Kind: N, Text: string(text)}
		return v, plainInteger(v.Text)
	case 'B':
		binary, ok := binaryText(text)
		return Value{Kind: B, Text: binary}, ok
	}
	return Value{}, false
}

func plainText(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// UnmarshalJSON implements json.Unmarshaler with DecodeItem.
func (i *Item) UnmarshalJSON(data []byte) error {
	item, err := DecodeItem(data)
	*i = item
	return err
}

// MarshalJSON implements json.Marshaler with AppendItem.
func (i Item) MarshalJSON() ([]byte, error) { return AppendItem(nil, i), nil }

// UnmarshalJSON implements json.Unmarshaler with DecodeValue.
func (v *Value) UnmarshalJSON(data []byte) error {
	value, err := DecodeValue(data)
	*v = value
	return err
}

// MarshalJSON implements json.Marshaler with AppendValue.
func (v Value) MarshalJSON() ([]byte, error) { return AppendValue(nil, v), nil }

// jsonReader decodes values. Its methods return errors about the JSON, which stop the decoding.
// Violations of the data model are recorded, because invalid JSON after them takes precedence.
type jsonReader struct {
	src     string
	pos     int
	invalid *ValidationError
	// ownName is the first invalid attribute name.
	// memberName is the first invalid name of a map member.
	ownName, memberName *ValidationError
	// anyName turns off the check of top-level names.
	anyName bool
	// empty is the map for the top level, or nil to create one.
	empty Item
}

func (r *jsonReader) reject(err *ValidationError) {
	if r.invalid == nil {
		r.invalid = err
	}
}

// end checks that the input ends here, and returns the violation that takes precedence.
func (r *jsonReader) end() error {
	if r.peek() != 0 || r.pos < len(r.src) {
		return errSyntax()
	}
	for _, rule := range []*ValidationError{r.ownName, r.invalid, r.memberName} {
		if rule != nil {
			return rule
		}
	}
	return nil
}

func (r *jsonReader) item(depth int) (Item, error) {
	switch r.peek() {
	case '{':
	case 'n':
		return nil, r.literal("null")
	case '[':
		return nil, &SerializationError{Message: "Unrecognized collection type java.util.Map<java.lang.String, " +
			strings.TrimPrefix(notValue, "class ") + ">"}
	default:
		return nil, r.mismatch("Unexpected field type")
	}
	item := r.empty
	if item == nil || depth > 0 {
		item = make(Item)
	}
	r.pos++
	for first := true; ; first = false {
		name, more, err := r.name(first)
		if err != nil {
			return nil, err
		}
		if !more {
			return item, nil
		}
		if name == "" || len(name) >= nameLimit {
			r.misnamed(name, depth)
		}
		clean := r.invalid == nil
		if item[name], err = r.value(depth); err != nil {
			return nil, err
		}
		if clean && r.invalid != nil && depth == 0 {
			r.invalid.Attribute = name
		}
	}
}

// CheckName refuses a name that is too long for an attribute.
func CheckName(name string) error {
	if len(name) >= nameLimit {
		return Invalid(longName)
	}
	return nil
}

// misnamed records an invalid name. An invalid top-level name takes precedence over all invalid
// values, and those take precedence over an invalid name of a map member.
func (r *jsonReader) misnamed(name string, depth int) {
	rule := Invalid(emptyName)
	if name != "" {
		rule = Invalid(longName)
	}
	switch {
	case depth > 0 && r.memberName == nil:
		r.memberName = rule
	case depth == 0 && r.ownName == nil && !r.anyName:
		r.ownName = rule
	}
}

// name reads the next name of an object and its colon. It returns false at the end of the object.
func (r *jsonReader) name(first bool) (string, bool, error) {
	c := r.peek()
	if c == '}' {
		r.pos++
		return "", false, nil
	}
	if !first {
		if c != ',' {
			return "", false, errSyntax()
		}
		r.pos++
		c = r.peek()
	}
	if c != '"' {
		return "", false, errSyntax()
	}
	name, err := r.quoted()
	if err != nil {
		return "", false, err
	}
	if r.peek() != ':' {
		return "", false, errSyntax()
	}
	r.pos++
	return name, true, nil
}

// element reports whether one more element of an array follows.
func (r *jsonReader) element(first bool) (bool, error) {
	c := r.peek()
	switch {
	case c == ']':
		r.pos++
		return false, nil
	case first:
		return true, nil
	case c == ',':
		r.pos++
		return true, nil
	default:
		return false, errSyntax()
	}
}

// value reads a value inside of depth lists and maps.
func (r *jsonReader) value(depth int) (Value, error) {
	switch r.peek() {
	case '{':
	case 'n':
		r.reject(Invalid(emptyValue))
		return Value{}, r.literal("null")
	case '[':
		return Value{}, &SerializationError{Message: "Unrecognized collection type " + notValue}
	default:
		return Value{}, r.mismatch("Unexpected value type in payload")
	}
	r.pos++
	var v Value
	types := 0
	for first := true; ; first = false {
		name, more, err := r.name(first)
		if err != nil {
			return Value{}, err
		}
		if !more {
			break
		}
		found, err := r.typed(&v, name, depth)
		if err != nil {
			return Value{}, err
		}
		if found {
			types++
		}
	}
	switch {
	case types == 0:
		r.reject(Invalid(emptyValue))
	case types > 1:
		r.reject(Invalid(mixedValue))
	}
	return v, nil
}

// typed reads the value after the name of a type. It returns false if the value is null or the type
// is unknown: in both cases the value counts as absent.
func (r *jsonReader) typed(v *Value, name string, depth int) (bool, error) {
	kind := kindNamed(name)
	if kind == 0 {
		return false, r.skip()
	}
	if r.peek() == 'n' {
		return false, r.literal("null")
	}
	if depth >= MaxDepth {
		r.reject(Invalid(tooDeep))
		return true, r.skip()
	}
	v.Kind = kind
	var err error
	switch kind {
	case S:
		v.Text, err = r.text()
	case N:
		v.Text, err = r.number()
	case B:
		v.Text, err = r.binary()
	case BOOL:
		v.Bool, err = r.boolean()
	case NULL:
		v.Bool, err = r.truth()
		if !v.Bool {
			r.reject(Invalid(badNull))
		}
	case SS:
		v.Set, err = r.set(r.text, emptySS)
	case NS:
		v.Set, err = r.set(r.number, emptyNS)
	case BS:
		v.Set, err = r.set(r.binary, emptyBS)
	case L:
		v.List, err = r.list(depth + 1)
	case M:
		v.Map, err = r.item(depth + 1)
	}
	if err == nil && isSet(kind) {
		if hasDuplicates(v.Set) {
			r.reject(duplicateMembers(*v))
		}
		v.SortMembers()
	}
	return true, err
}

func kindNamed(name string) Kind {
	switch name {
	case "S":
		return S
	case "N":
		return N
	case "B":
		return B
	case "BOOL":
		return BOOL
	case "NULL":
		return NULL
	case "M":
		return M
	case "L":
		return L
	case "SS":
		return SS
	case "NS":
		return NS
	case "BS":
		return BS
	}
	return 0
}

func isSet(kind Kind) bool { return kind == SS || kind == NS || kind == BS }

func duplicateMembers(v Value) *ValidationError {
	const problem = "One or more parameter values were invalid: Input collection "
	switch v.Kind {
	case SS:
		quoted := make([]string, len(v.Set))
		for i, member := range upToRepeat(v.Set) {
			quoted[i] = `"` + member + `"`
		}
		return &ValidationError{
			Message: problem + "[" + strings.Join(quoted, ", ") + "] contains duplicates.",
			Older:   problem + "[" + strings.Join(v.Set, ", ") + "] contains duplicates.",
		}
	case BS:
		coded, quoted := make([]string, len(v.Set)), make([]string, len(v.Set))
		for i, member := range upToRepeat(v.Set) {
			coded[i] = string(appendBase64(nil, v.Set[i]))
			quoted[i] = `"` + string(appendBase64(nil, member)) + `"`
		}
		return &ValidationError{
			Message: problem + "[" + strings.Join(quoted, ",") + "]of type BS contains duplicates.",
			Older:   problem + "[" + strings.Join(coded, ", ") + "]of type BS contains duplicates.",
		}
	case S, N, B, BOOL, NULL, M, L, NS:
	}
	return &ValidationError{Message: problem + "contains duplicates.", Older: "Input collection contains duplicates"}
}

// upToRepeat returns the members with the ones before the first duplicate sorted. The order of the
// others does not change.
func upToRepeat(members []string) []string {
	shown := slices.Clone(members)
	for i, member := range shown {
		if slices.Contains(members[:i], member) {
			slices.Sort(shown[:i])
			break
		}
	}
	return shown
}

// SortMembers sorts the members of a set in DynamoDB's order: numbers by value, others by bytes.
func (v *Value) SortMembers() {
	order := strings.Compare
	if v.Kind == NS {
		order = CompareNumbers
	}
	if !slices.IsSortedFunc(v.Set, order) {
		slices.SortFunc(v.Set, order)
	}
}

func (r *jsonReader) text() (string, error) {
	if r.peek() != '"' {
		return "", r.notConvertible("String")
	}
	return r.quoted()
}

func (r *jsonReader) number() (string, error) {
	text, err := r.text()
	if err != nil || plainInteger(text) {
		return text, err
	}
	normal, err := NormalizeNumber(text)
	if rule, broken := errors.AsType[*ValidationError](err); broken {
		r.reject(rule)
	}
	return normal, nil
}

func (r *jsonReader) binary() (string, error) {
	if c := r.peek(); c == 't' || c == 'f' || c == '-' || c >= '0' && c <= '9' {
		return "", &SerializationError{Message: "only base-64-encoded strings are convertible to bytes"}
	}
	coded, err := r.text()
	if err != nil {
		return "", err
	}
	return decodeBase64(coded)
}

// truth reads a boolean, which may be a string.
func (r *jsonReader) truth() (bool, error) {
	for _, word := range []string{`"true"`, `"yes"`, `"1"`, `"false"`, `"no"`, `"0"`} {
		if r.peek() == '"' && strings.HasPrefix(r.src[r.pos:], word) {
			return word != `"false"` && word != `"no"` && word != `"0"`, r.literal(word)
		}
	}
	return r.boolean()
}

func (r *jsonReader) boolean() (bool, error) {
	switch r.peek() {
	case 't':
		return true, r.literal("true")
	case 'f':
		return false, r.literal("false")
	}
	return false, r.notConvertible("Boolean")
}

func (r *jsonReader) set(member func() (string, error), empty string) ([]string, error) {
	if r.peek() != '[' {
		return nil, r.mismatch("Unexpected field type")
	}
	r.pos++
	var set []string
	for {
		more, err := r.element(set == nil)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		text, err := member()
		if err != nil {
			return nil, err
		}
		set = append(set, text)
	}
	if len(set) == 0 {
		r.reject(&ValidationError{Message: empty})
	}
	return set, nil
}

func (r *jsonReader) list(depth int) ([]Value, error) {
	if r.peek() != '[' {
		return nil, r.mismatch("Unexpected field type")
	}
	r.pos++
	list := []Value{}
	for {
		more, err := r.element(len(list) == 0)
		if err != nil || !more {
			return list, err
		}
		v, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (r *jsonReader) peek() byte {
	for r.pos < len(r.src) {
		c := r.src[r.pos]
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
		r.pos++
	}
	return 0
}

func (r *jsonReader) literal(word string) error {
	if !strings.HasPrefix(r.src[r.pos:], word) {
		return errSyntax()
	}
	r.pos += len(word)
	return nil
}

func errSyntax() error { return &SerializationError{Message: "Unexpected token received from parser"} }

// mismatch returns the error for a JSON value of the wrong type.
func (r *jsonReader) mismatch(scalar string) error {
	switch c := r.peek(); {
	case c == '{':
		return &SerializationError{Message: noStructure}
	case c == '"' || c == '[' || c == 't' || c == 'f' || c == '-' || c >= '0' && c <= '9':
		return &SerializationError{Message: scalar}
	}
	return errSyntax()
}

// notConvertible returns the error for a JSON value that must be a scalar of the type.
func (r *jsonReader) notConvertible(target string) error {
	var token string
	switch c := r.peek(); {
	case c == '{':
		return &SerializationError{Message: noStructure}
	case c == '[':
		return &SerializationError{Message: "Unrecognized collection type class java.lang." + target}
	case c == '"':
		token = "STRING_VALUE"
	case c == 't':
		token = "TRUE_VALUE"
	case c == 'f':
		token = "FALSE_VALUE"
	case c == '-' || c >= '0' && c <= '9':
		token = "NUMBER_VALUE"
		start := r.pos
		if err := r.skipNumber(); err != nil {
			return err
		}
		if strings.ContainsAny(r.src[start:r.pos], ".eE") {
			token = "DECIMAL_VALUE"
		}
	default:
		return errSyntax()
	}
	return &SerializationError{Message: token + " cannot be converted to " + target}
}

// quoted reads a string that begins at the current position.
func (r *jsonReader) quoted() (string, error) {
	r.pos++
	start := r.pos
	ascii := true
	for r.pos < len(r.src) {
		c := r.src[r.pos]
		switch {
		case c == '"':
			text := r.src[start:r.pos]
			r.pos++
			if !ascii && !utf8.ValidString(text) {
				return "", errSyntax()
			}
			return text, nil
		case c == '\\':
			return r.escaped(start)
		case c < ' ':
			return "", errSyntax()
		case c >= 0x80:
			ascii = false
		}
		r.pos++
	}
	return "", errSyntax()
}

// escaped reads the rest of a string that began at start, from its first backslash.
func (r *jsonReader) escaped(start int) (string, error) {
	end := r.pos
	for end < len(r.src) && r.src[end] != '"' {
		if r.src[end] < ' ' {
			return "", errSyntax()
		}
		if r.src[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(r.src) {
		return "", errSyntax()
	}
	var text bytes.Buffer
	text.Grow(end - start)
	text.WriteString(r.src[start:r.pos])
	for r.pos < end {
		next := strings.IndexByte(r.src[r.pos:end], '\\')
		if next < 0 {
			text.WriteString(r.src[r.pos:end])
			break
		}
		text.WriteString(r.src[r.pos : r.pos+next])
		r.pos += next + 1
		if err := r.escape(&text); err != nil {
			return "", err
		}
	}
	r.pos = end + 1
	if !utf8.Valid(text.Bytes()) {
		return "", errSyntax()
	}
	return text.String(), nil
}

const surrogates, lowSurrogates, endOfSurrogates, supplementary = 0xD800, 0xDC00, 0xE000, 0x10000

// escape reads the characters after a backslash. Half of a surrogate pair becomes the replacement
// character.
func (r *jsonReader) escape(text *bytes.Buffer) error {
	c := r.src[r.pos]
	r.pos++
	switch c {
	case '"', '\\', '/':
		text.WriteByte(c)
	case 'b':
		text.WriteByte('\b')
	case 'f':
		text.WriteByte('\f')
	case 'n':
		text.WriteByte('\n')
	case 'r':
		text.WriteByte('\r')
	case 't':
		text.WriteByte('\t')
	case 'u':
		code, ok := r.hex(r.pos)
		if !ok {
			return errSyntax()
		}
		r.pos += 4
		if code >= surrogates && code < lowSurrogates && strings.HasPrefix(r.src[r.pos:], `\u`) {
			if low, ok := r.hex(r.pos + 2); ok && low >= lowSurrogates && low < endOfSurrogates {
				r.pos += 6
				code = supplementary + (code-surrogates)<<10 + low - lowSurrogates
			}
		}
		text.WriteRune(code)
	default:
		return errSyntax()
	}
	return nil
}

func (r *jsonReader) hex(at int) (rune, bool) {
	if at+4 > len(r.src) {
		return 0, false
	}
	code, err := strconv.ParseUint(r.src[at:at+4], 16, 16)
	return rune(code), err == nil
}

// maxSkipped limits the nesting of skipped JSON.
const maxSkipped = 1000

// skip skips any JSON value, without recursion.
func (r *jsonReader) skip() error {
	var open []byte
	for {
		opened, err := r.skipStart(&open)
		if err != nil {
			return err
		}
		for !opened && len(open) > 0 {
			// A value in an array or object has ended. Another one follows, or the array or object
			// ends.
			c := r.peek()
			r.pos++
			if c == ',' {
				break
			}
			if c != open[len(open)-1] {
				return errSyntax()
			}
			open = open[:len(open)-1]
		}
		if len(open) == 0 {
			return nil
		}
		if err := r.skipName(open); err != nil {
			return err
		}
	}
}

// skipStart skips a scalar, an empty array or object, or the opening bracket of a nonempty one. It
// returns true after an opening bracket.
func (r *jsonReader) skipStart(open *[]byte) (bool, error) {
	switch c := r.peek(); {
	case c == '{' || c == '[':
		r.pos++
		// The code of '}' is the code of '{' plus 2, and the code of ']' is the code of '[' plus 2.
		if r.peek() == c+2 {
			r.pos++
			return false, nil
		}
		if len(*open) == maxSkipped {
			return false, errSyntax()
		}
		*open = append(*open, c+2)
		return true, nil
	case c == '"':
		_, err := r.quoted()
		return false, err
	case c == 't':
		return false, r.literal("true")
	case c == 'f':
		return false, r.literal("false")
	case c == 'n':
		return false, r.literal("null")
	case c == '-' || c >= '0' && c <= '9':
		return false, r.skipNumber()
	}
	return false, errSyntax()
}

// skipName skips a name and its colon, if the innermost of open is an object.
func (r *jsonReader) skipName(open []byte) error {
	if open[len(open)-1] != '}' {
		return nil
	}
	if r.peek() != '"' {
		return errSyntax()
	}
	_, _, err := r.name(true)
	return err
}

func (r *jsonReader) skipNumber() error {
	start := r.pos
	for r.pos < len(r.src) && strings.IndexByte("+-.0123456789eE", r.src[r.pos]) >= 0 {
		r.pos++
	}
	if _, err := strconv.ParseFloat(r.src[start:r.pos], 64); err != nil && !errors.Is(err, strconv.ErrRange) {
		return errSyntax()
	}
	return nil
}
