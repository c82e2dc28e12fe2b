package attribute_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

func number(t *testing.T, s string) attribute.Value {
	t.Helper()
	v, err := attribute.Number(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// everyKind returns an item with each type, nested.
func everyKind(t *testing.T) attribute.Item {
	t.Helper()
	return attribute.Item{
		"s":     attribute.String("a\"\\\n\x01é😀"),
		"empty": attribute.String(""),
		"n":     number(t, "-12.50"),
		"b":     attribute.Binary([]byte{0, 1, 255}),
		"yes":   attribute.Boolean(true),
		"no":    attribute.Boolean(false),
		"null":  attribute.Null(),
		"m":     attribute.Map(attribute.Item{"in": attribute.List(attribute.String("x"), attribute.Map(attribute.Item{}))}),
		"l":     attribute.List(),
		"ss":    {Kind: attribute.SS, Set: []string{"b", "a"}},
		"ns":    {Kind: attribute.NS, Set: []string{"1", "0.5"}},
		"bs":    {Kind: attribute.BS, Set: []string{"\x00", ""}},
	}
}

func TestItemsHaveTheSameValuesAfterJSON(t *testing.T) {
	item := everyKind(t)
	data := attribute.AppendItem(nil, item)
	if !json.Valid(data) {
		t.Fatalf("not JSON: %s", data)
	}
	got, err := attribute.DecodeItem(data)
	if err != nil || !attribute.EqualItems(got, item) {
		t.Fatalf("%s → %v, %v", data, got, err)
	}
	var part struct{ Item attribute.Item }
	if err := json.Unmarshal([]byte(`{"Item":`+string(data)+`}`), &part); err != nil || !attribute.EqualItems(part.Item, item) {
		t.Fatalf("as a part of a request: %v", err)
	}
	if again, err := json.Marshal(part.Item); err != nil || len(again) != len(data) {
		t.Fatalf("%s, %v", again, err)
	}
}

func TestBinariesOfAnyLengthAreDecoded(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 767, 768, 769, 1535, 1536, 1537, 5000} {
		v := attribute.Binary([]byte(strings.Repeat("\xff\x00a", n)[:n]))
		got, err := attribute.DecodeValue(attribute.AppendValue(nil, v))
		if err != nil || !attribute.Equal(got, v) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}

func TestValuesAreDecodedFromAnyValidJSON(t *testing.T) {
	for in, want := range map[string]attribute.Value{
		" { \"S\" :\t\"a\" }\r\n ":                attribute.String("a"),
		`{"S":"\u0041\ud83d\ude00\/\b\f\n\r\t"}`:  attribute.String("A😀/\b\f\n\r\t"),
		`{"S":"\ud83d"}`:                          attribute.String("\uFFFD"),
		`{"S":"\ud83dx\ude00"}`:                   attribute.String("\uFFFDx\uFFFD"),
		`{"S":"a","N":null}`:                      attribute.String("a"),
		`{"S":"a","X":[{"a":[1,-2e5,{}]},[],""]}`: attribute.String("a"),
		`{"N":"1e2"}`:                             {Kind: attribute.N, Text: "100"},
		`{"NS":["1e2","1"]}`:                      {Kind: attribute.NS, Set: []string{"1", "100"}},
	} {
		got, err := attribute.DecodeValue([]byte(in))
		if err != nil || !attribute.Equal(got, want) {
			t.Errorf("%s → %v, %v", in, got, err)
		}
	}
}

func nested(kind string, depth int) string {
	open, end := `{"L":[`, `]}`
	if kind == "M" {
		open, end = `{"M":{"a":`, `}}`
	}
	return strings.Repeat(open, depth) + `{"S":""}` + strings.Repeat(end, depth)
}

func TestInvalidValuesAreRefusedWithDynamoDBsMessages(t *testing.T) {
	const (
		empty = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
		mixed = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
		deep  = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
		wrong = "One or more parameter values were invalid: "
	)
	many := `"` + strings.Join(strings.Split(strings.Repeat("a", 17), ""), `","`) + `"`
	for in, want := range map[string]string{
		`{}`: empty, `null`: empty, `{"S":null}`: empty, `{"x":"a"}`: empty, `{"L":[null]}`: empty, `{"M":{"a":{}}}`: empty,
		`{"S":"a","N":"1"}`:             mixed,
		`{"NULL":false}`:                wrong + "Null attribute value types must have the value of true",
		`{"SS":[]}`:                     wrong + "An string set  may not be empty",
		`{"NS":[]}`:                     wrong + "An number set  may not be empty",
		`{"BS":[]}`:                     wrong + "Binary sets should not be empty",
		`{"NULL":"no"}`:                 wrong + "Null attribute value types must have the value of true",
		`{"SS":["b","a","b","c"]}`:      wrong + `Input collection ["a", "b", "b", "c"] contains duplicates.`,
		`{"NS":["1","1.0"]}`:            wrong + "Input collection contains duplicates.",
		`{"BS":["/w==","AA==","AA=="]}`: wrong + `Input collection ["AA==","/w==","AA=="]of type BS contains duplicates.`,
		`{"SS":[` + many + `]}`:         wrong + "Input collection [" + strings.ReplaceAll(many, ",", ", ") + "] contains duplicates.",
		`{"N":"x"}`:                     "The parameter cannot be converted to a numeric value: x",
		`{"N":""}`:                      "The parameter cannot be converted to a numeric value: ",
		nested("L", 32):                 deep,
		nested("M", 32):                 deep,
		nested("L", 500):                deep,
	} {
		_, err := attribute.DecodeValue([]byte(in))
		var invalid *attribute.ValidationError
		if !errors.As(err, &invalid) || invalid.Message != want {
			t.Errorf("%.60s: %v; want %q", in, err, want)
		}
	}
	for _, kind := range []string{"L", "M"} {
		if _, err := attribute.DecodeValue([]byte(nested(kind, 31))); err != nil {
			t.Errorf("32 levels of %s: %v", kind, err)
		}
	}
}

func TestOlderWording(t *testing.T) {
	const wrong = "One or more parameter values were invalid: "
	for in, want := range map[string]string{
		`{"SS":["b","a","b"]}`:          wrong + "Input collection [b, a, b] contains duplicates.",
		`{"BS":["/w==","AA==","AA=="]}`: wrong + "Input collection [/w==, AA==, AA==]of type BS contains duplicates.",
		`{"NS":["2","1","2"]}`:          "Input collection contains duplicates",
		`{"SS":[]}`:                     wrong + "An string set  may not be empty",
		`{"N":""}`:                      "The parameter cannot be converted to a numeric value",
	} {
		_, err := attribute.DecodeValue([]byte(in))
		var invalid *attribute.ValidationError
		if !errors.As(err, &invalid) || invalid.OlderWording().Message != want {
			t.Errorf("%s: %v; want %q", in, err, want)
		}
	}
}

func TestSetsHaveDynamoDBsOrder(t *testing.T) {
	for in, want := range map[string]string{
		`{"SS":["b","","a"]}`:         `{"SS":["","a","b"]}`,
		`{"NS":["10","9","-1"]}`:      `{"NS":["-1","9","10"]}`,
		`{"BS":["/w==","","AA=="]}`:   `{"BS":["","AA==","/w=="]}`,
		`{"L":[{"S":"b"},{"S":"a"}]}`: `{"L":[{"S":"b"},{"S":"a"}]}`,
	} {
		v, err := attribute.DecodeValue([]byte(in))
		if got := string(attribute.AppendValue(nil, v)); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestDecodeItem_NameLength(t *testing.T) {
	deep := strings.Repeat(`{"M":{"n":`, 40) + `{"S":"a"}` + strings.Repeat(`}}`, 40)
	long := strings.Repeat("a", 65536)
	const tooDeep = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
	for in, want := range map[string]string{
		`{"":{"S":"a"}}`:                              "Empty attribute name",
		`{"d":` + deep + `,"":{"S":"a"}}`:             "Empty attribute name",
		`{"m":{"M":{"":{"S":"a"}}}}`:                  "Empty attribute name",
		`{"m":{"M":{"":{"S":"a"}}},"d":` + deep + `}`: tooDeep,
		`{"` + long + `":{"S":"a"}}`:                  "One or more parameter values were invalid: Attribute name is too large, must be less than 65536 bytes",
	} {
		_, err := attribute.DecodeItem([]byte(in))
		var invalid *attribute.ValidationError
		if !errors.As(err, &invalid) || invalid.Message != want {
			t.Errorf("%.60s: %v; want %q", in, err, want)
		}
	}
	if _, err := attribute.DecodeItem([]byte(`{"` + long[1:] + `":{"S":"a"}}`)); err != nil {
		t.Errorf("65535 bytes: %v", err)
	}
	if _, err := attribute.DecodeNamed([]byte(`{"":{"S":"a"}}`)); err != nil {
		t.Errorf("a name that is no attribute's: %v", err)
	}
}

func TestJSONOfTheWrongTypesIsASerializationError(t *testing.T) {
	const (
		syntax    = "Unexpected token received from parser"
		structure = "Start of structure or map found where not expected"
	)
	for in, want := range map[string]string{
		``: syntax, `{`: syntax, `{"S"`: syntax, `{"S":`: syntax, `{"S":"a`: syntax, `{"S":"a"`: syntax, `{"S":"a"}x`: syntax,
		`{"S":"a",}`: syntax, `{,}`: syntax, `{"S":"\x"}`: syntax, `{"S":"\u12"}`: syntax, "{\"S\":\"\n\"}": syntax,
		"{\"S\":\"\xff\"}": syntax, "{\"S\":\"\\n\xff\"}": syntax, "{\"M\":{\"\xff\":{\"S\":\"\"}}}": syntax, "{\"SS\":[\"\xed\xa0\x80\"]}": syntax,
		`{"S":"\`: syntax, `{"S":nul}`: syntax, `{"x":[1,]}`: syntax, `{"x":{"a":1,}}`: syntax, `{"x":{1:2}}`: syntax, `{"x":[}`: syntax,
		`{"x":1e}`: syntax, `{"BOOL":tru}`: syntax, "{\"S\":\"\\\n\"}": syntax, `{"SS":["a"`: syntax, `{"SS":["a",]}`: syntax,
		`{"x":` + strings.Repeat("[", 100000): syntax,
		`{"S":1}`:                             "NUMBER_VALUE cannot be converted to String",
		`{"N":1}`:                             "NUMBER_VALUE cannot be converted to String",
		`{"N":1.5}`:                           "DECIMAL_VALUE cannot be converted to String",
		`{"B":1}`:                             "only base-64-encoded strings are convertible to bytes",
		`{"S":true}`:                          "TRUE_VALUE cannot be converted to String",
		`{"S":false}`:                         "FALSE_VALUE cannot be converted to String",
		`{"BOOL":"a"}`:                        "STRING_VALUE cannot be converted to Boolean",
		`{"S":{}}`:                            structure,
		`{"L":{}}`:                            structure,
		`{"S":[]}`:                            "Unrecognized collection type class java.lang.String",
		`{"L":"a"}`:                           "Unexpected field type",
		`{"M":1}`:                             "Unexpected field type",
		`{"SS":"a"}`:                          "Unexpected field type",
		`"a"`:                                 "Unexpected value type in payload",
		`[]`:                                  "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue",
		`{"M":[]}`:                            "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
		`{"B":"abc"}`:                         "'abc' can not be converted to a Blob: Base64 encoded length is expected a multiple of 4 bytes but found: 3",
		`{"B":"ab$="}`:                        "'ab$=' can not be converted to a Blob: Invalid Base64 character: '$'",
		`{"B":"YR=="}`:                        "'YR==' can not be converted to a Blob: Invalid last non-pad Base64 character dectected",
		`{"B":"Y=Q="}`:                        "'Y=Q=' can not be converted to a Blob: Invalid last non-pad Base64 character dectected",
		`{"B":"YQ=\n"}`:                       "'YQ=\n' can not be converted to a Blob: Invalid Base64 character: '\n'",
		// Invalid JSON takes precedence over a violation before it.
		`{"N":"x","S":1}`: "NUMBER_VALUE cannot be converted to String",
	} {
		_, err := attribute.DecodeValue([]byte(in))
		var broken *attribute.SerializationError
		if !errors.As(err, &broken) || broken.Message != want {
			t.Errorf("%.60s: %v; want %q", in, err, want)
		}
	}
}

func FuzzDecodeItem(f *testing.F) {
	f.Add([]byte(`{"a":{"S":"a"},"b":{"L":[{"N":"1"},{"M":{"x":{"BOOL":true}}}]}}`))
	f.Add([]byte(`{"a":{"B":"YQ=="},"s":{"NS":["1","2"]},"n":{"NULL":true},"x":{"y":[{}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		item, err := attribute.DecodeItem(data)
		if err != nil {
			return
		}
		if !json.Valid(data) && !strings.ContainsAny(string(data), "0123456789") {
			t.Fatalf("took what is not JSON: %q", data)
		}
		again, err := attribute.DecodeItem(attribute.AppendItem(nil, item))
		if err != nil || !attribute.EqualItems(again, item) {
			t.Fatalf("%q → %v → %v, %v", data, item, again, err)
		}
		stored, err := attribute.DecodeBinaryItem(attribute.AppendBinaryItem(nil, item))
		if err != nil || !attribute.EqualItems(stored, item) || stored.Size() != item.Size() {
			t.Fatalf("%v → %v, %v", item, stored, err)
		}
	})
}
