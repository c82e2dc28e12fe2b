package wire

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
)

// responseOf returns a successful response with a body.
func responseOf(body []byte) *smithyhttp.Response {
	return &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusOK, Body: readerCloser{bytes.NewReader(body)}}}
}

// readerCloser is a body in memory.
type readerCloser struct{ *bytes.Reader }

func (readerCloser) Close() error { return nil }

// bySDK decodes a response of Query as the SDK does.
func bySDK(tb testing.TB, body []byte) (*dynamodb.QueryOutput, error) {
	tb.Helper()
	out := &dynamodb.QueryOutput{}
	response := responseOf(body)
	operation := smithy.NewOperationSchema(schemas.Query, schemas.QueryInput, schemas.QueryOutput)
	err := awsjson.New10(schemas.DynamoDB_20120810).DeserializeResponse(tb.Context(), operation, dynamodb.TypeRegistry, response, out)
	return out, err
}

// compare decodes a page with decodePage and with the SDK. It fails if the two differ, and reports
// whether the page was plain.
func compare(tb testing.TB, body []byte) bool {
	tb.Helper()
	before := bytes.Clone(body)
	got, plain := decodePage(body, nil)
	if !bytes.Equal(body, before) {
		tb.Fatalf("decodePage changed %q to %q", before, body)
	}
	if !plain {
		return false
	}
	want, err := bySDK(tb, body)
	if err != nil {
		tb.Fatalf("decodePage decoded %q, and the SDK returns %v", body, err)
	}
	out := &dynamodb.QueryOutput{
		Items: got.items, Count: got.count, ScannedCount: got.scanned, LastEvaluatedKey: got.next, ConsumedCapacity: got.capacity,
	}
	if !reflect.DeepEqual(out, want) {
		tb.Fatalf("decodePage returned\n%#v for %q, the SDK\n%#v", out, body, want)
	}
	var taken copies
	if _, ok := decodePage(body, NewItems(&taken)); !ok || len(taken.items) != len(want.Items) {
		tb.Fatalf("the taker got %d items of %q, the SDK has %d", len(taken.items), body, len(want.Items))
	}
	for i, item := range taken.items {
		if !reflect.DeepEqual(item, want.Items[i]) {
			tb.Fatalf("the taker got\n%#v of %q, the SDK has\n%#v", item, body, want.Items[i])
		}
	}
	return true
}

// copies is a Taker that copies the items.
type copies struct{ items []Attributes }

func (c *copies) Start() { c.items = nil }

func (c *copies) Take(item Item) {
	copied := Attributes{}
	for _, a := range item.(*list).attributes {
		switch v, _ := item.Get(a.name); v := v.(type) {
		case *types.AttributeValueMemberS:
			copied[a.name] = new(*v)
		case *types.AttributeValueMemberN:
			copied[a.name] = new(*v)
		case *types.AttributeValueMemberB:
			copied[a.name] = new(*v)
		case *types.AttributeValueMemberSS:
			copied[a.name] = &types.AttributeValueMemberSS{Value: slices.Clone(v.Value)}
		case *types.AttributeValueMemberM:
			copied[a.name] = &types.AttributeValueMemberM{Value: maps.Clone(v.Value)}
		}
	}
	c.items = append(c.items, copied)
}

// A caller may change the bytes of one item.
func TestItemsWithTheSameBytesDoNotShareThem(t *testing.T) {
	t.Parallel()
	body := []byte(`{"Items":[{"b":{"B":"AA=="}},{"b":{"B":"AA=="}},{"b":{"B":"AA=="}}]}`)
	page, plain := decodePage(body, nil)
	var taken copies
	if _, ok := decodePage(body, NewItems(&taken)); !ok || !plain {
		t.Fatal("the page was not plain")
	}
	for _, items := range [][]Attributes{page.items, taken.items} {
		for i, item := range items {
			b, ok := item["b"].(*types.AttributeValueMemberB)
			if !ok || b.Value[0] != 0 {
				t.Fatalf("item %d: %+v", i, item)
			}
			b.Value[0] = 1
		}
	}
}

// discard is a Taker that ignores the items.
type discard struct{}

func (discard) Start()    {}
func (discard) Take(Item) {}

// pages returns responses of Query that are plain, and others that are left to the SDK.
func pages() (plain, others []string) {
	in := func(value string) string { return `{"Items":[{"par":` + value + `}]}` }
	return []string{
			`{}`, ` { } `, `{"Items":[],"Count":0,"ScannedCount":0}`, `{"Items":[{}]}`,
			eventPage(3), `{"Items":[{"num":{"N":"1"}}],"LastEvaluatedKey":{"par":{"S":"journal-P-a-0"},"num":{"N":"1"}}}`,
			`{"Count" : 12 , "ConsumedCapacity" : {"TableName":"t", "CapacityUnits" : 0.5}}`, `{"ConsumedCapacity":{}}`,
			in(`{"S":""}`), in(`{"S":"é€😀"}`), in(`{"B":""}`), in(`{"B":"AA=="}`), in(`{"B":"AAA="}`), in(`{"B":"AAAA"}`), in(`{"N":"-1e5"}`),
			`{"Items":[{"a":{"S":"1"},"a":{"S":"2"}}]}`, `{"Items":[{"a\"b":{"S":"1"}}]}`,
			`{"Items":[{"a":{"S":"x"},"b":{"N":"1"}},{"a":{"S":"x"},"b":{"N":"1"}},{"a":{"S":"y"},"b":{"N":"2"}},{"b":{"N":"2"},"a":{"S":"y"}}]}`,
			`{"Items":[{"a":{"S":"x"},"b":{"B":"AA=="}},{"a":{"S":"x"}},{"a":{"B":"AA=="},"b":{"S":"x"}},{},{"a":{"B":"AA=="}, "b" :{"S":"x"}}]}`,
			`{"Items":[{"a":{"S":"x"}},{"a":{"S":"x"},"b":{"S":"1"}},{"a":{"S":"x"},"a":{"S":"z"},"b":{"S":"1"}}]}`,
			`{"LastEvaluatedKey":{}}`, `{"LastEvaluatedKey":{"a":{"S":"1"}},"LastEvaluatedKey":{"b":{"S":"1"}}}`, `{"Count":1,"Count":2}`,
			`{"ConsumedCapacity":{"TableName":"t","TableName":"u"},"ConsumedCapacity":{"CapacityUnits":1}}`, in("{\"S\":\"\x7f\"}"),
			`{"\u0049tems":[{"\u0061":{"\u0053":"1"}},{"a":{"S":"1"}},{"\u0061":{"\u0053":"1"}},{"\u0061":{"\u0053":"2"},"a":{"N":"1"}}]}`,
			`{"Items":[{"a":{"S":"x"}},{"a":{"S":"xy"}},{"ab":{"S":"x"}},{"a":{"S" :"x"}},{ "a":{"S":"x" } }]}`,
			wide(maxAttributes, 3), `{"Items":[{"a":{"S":"x"}}],"LastEvaluatedKey":{"a":{"S":"x"}}}`,
			in(`{"S":"a\"b"}`), in(`{"S":"\u0041"}`), in(`{"S":"journal\u0000entity-1"}`), in(`{"S":"\\"}`), in(`{"S":"\ud83d\ude00"}`),
			in(`{"SS":[]}`), in(`{"SS":["a"]}`), in(`{"SS":["b", "a","\u0061"]}`), in(`{"M":{}}`), in(`{"M":{"a":{"S":"x"},"\u0062" : {"S" : ""}}}`),
			`{"Items":[{"a":{"SS":["x"]},"m":{"M":{"a":{"S":"x"}}}},{"a":{"SS":["x"]},"m":{"M":{"a":{"S":"x"}}}},{"a":{"SS":["y"]},"m":{"M":{}}}]}`,
		}, []string{
			``, `[]`, `null`, `{"Items":null}`, `{"Items":[null]}`, `{"Items":[{}],}`, `{"Items":[{}]} x`, `{"Items":[{}]`, `{"Other":1}`,
			`{"Items":[{"a":{"S":"1"}}],"Items":[{"b":{"S":"1"}}]}`, `{"Items":[{"a":{"S":"1"}}],"Items":[]}`, `{"items":[{"a":{"S":"1"}}]}`,
			wide(maxAttributes+1, 1), `{"Items":[{"a":{"S":"x"}},{"a":{"S":"x}}]}`, `{"Items":[{"a":{"S":"x"}},{"a":{"S":"x"}"b":{"S":"x"}}]}`,
			`{"Items":[{"a":{"N":"1"}},{"a":{"N":1}}]}`, `{"Items":[{"a":{"B":"AA=="}},{"a":{"B":"AA="}}]}`,
			in(`{"BOOL":true}`), in(`{"NULL":true}`), in(`{"L":[]}`), in(`{"M":{"a":{"N":"1"}}}`), in(`{"M":{"a":{"M":{}}}}`), in(`{"M":{"a":{"S":"x","N":"1"}}}`), in(`{"M":null}`),
			in(`{"M":{"a":null}}`), in(`{"SS":[1]}`), in(`{"SS":null}`), in(`{"SS":["a",]}`), in(`{"NS":["1"]}`), in(`null`), in(`{}`), in(`{"S":null}`),
			in(`{"S":"\ud83d"}`), in(`{"S":"\x"}`), in(`{"S":"\u00"}`), in(`{"S":"\`), in(`{"S":"\"`), in(`{"S":"a","N":"1"}`), in("{\"S\":\"\xff\"}"), in("{\"S\":\"a\nb\"}"), in(`{"S":1}`),
			`{"Items":[{"a":{"S":"x"}},{"a":{"S":"x"}]}`, `{"Items":[{"a":{"S":"x"}},{"a":{"S":null}}]}`, `{"Items":[{"a":{"S":"x"}},{"a":{"SS":"x"}}]}`,
			in(`{"B":"A"}`), in(`{"B":"AA="}`), in("{\"B\":\"AA\nA\"}"), in("{\"B\":\"AAA\n\"}"), in("{\"B\":\"\n\n\n\n\"}"), in(`{"B":"\/\/\/\/"}`), in(`{"B":"===="}`),
			`{"Count":1.5}`, `{"Count":01}`, `{"Count":-1}`, `{"Count":99999999999}`, `{"Count":"1"}`, `{"Count":1`,
			`{"ConsumedCapacity":{"CapacityUnits":.5}}`, `{"ConsumedCapacity":{"CapacityUnits":1.}}`, `{"ConsumedCapacity":{"CapacityUnits":01}}`,
			`{"ConsumedCapacity":{"CapacityUnits":1e1}}`, `{"ConsumedCapacity":{"CapacityUnits":-1}}`, `{"ConsumedCapacity":{"CapacityUnits":1x}}`, `{"ConsumedCapacity":{"Table":{"CapacityUnits":1}}}`,
		}
}

// wide returns a page whose items have many attributes, each item in a different order.
func wide(attributes, items int) string {
	all := make([]string, items)
	for i := range all {
		parts := make([]string, attributes)
		for j := range parts {
			parts[j] = fmt.Sprintf(`"a%d":{"N":"%d"}`, (j*7+i*5)%attributes, j%3)
		}
		all[i] = "{" + strings.Join(parts, ",") + "}"
	}
	return `{"Items":[` + strings.Join(all, ",") + `]}`
}

func TestPlainPagesAreDecodedAsTheSDKDoes(t *testing.T) {
	t.Parallel()
	plain, others := pages()
	for _, body := range plain {
		if !compare(t, []byte(body)) {
			t.Errorf("decodePage(%q) left it to the SDK", body)
		}
	}
	for _, body := range others {
		if compare(t, []byte(body)) {
			t.Errorf("decodePage(%q) did not leave it to the SDK", body)
		}
	}
}

// compareResponse decodes a body with Decode and with the SDK. It fails if the two differ, and
// reports whether the body was plain.
func compareResponse[T any, O interface {
	*T
	smithy.Deserializable
}](tb testing.TB, body []byte) bool {
	tb.Helper()
	var got, want T
	if !Decode(body, &got, nil) {
		if !reflect.DeepEqual(got, want) {
			tb.Fatalf("Decode left %q to the SDK, and changed out to %#v", body, got)
		}
		return false
	}
	response := responseOf(body)
	// The body does not depend on the operation.
	operation := smithy.NewOperationSchema(schemas.Query, schemas.QueryInput, schemas.QueryOutput)
	err := awsjson.New10(schemas.DynamoDB_20120810).DeserializeResponse(tb.Context(), operation, dynamodb.TypeRegistry, response, O(&want))
	if err != nil {
		tb.Fatalf("Decode decoded %q, and the SDK returns %v", body, err)
	}
	if !reflect.DeepEqual(got, want) {
		tb.Fatalf("Decode returned\n%#v for %q, the SDK\n%#v", got, body, want)
	}
	return true
}

const capacityOfTwo = `"ConsumedCapacity":[{"TableName":"t","CapacityUnits":1.5},{"TableName":"u"}]`

// Responses of the other operations that this package decodes, and others that are left to the SDK.
var (
	plainResponses = map[string]func(testing.TB, []byte) bool{
		`{"Responses":{"t":[{"par":{"S":"a"},"num":{"N":"0"}},{}],"u":[]},"UnprocessedKeys":{},` + capacityOfTwo + `}`: compareResponse[dynamodb.BatchGetItemOutput],
		`{"Responses":{}}`: compareResponse[dynamodb.BatchGetItemOutput],
		`{"Responses":[{"TableName":"t"},{}],` + capacityOfTwo + `}`: compareResponse[dynamodb.BatchExecuteStatementOutput],
		`{"Responses":[]}`: compareResponse[dynamodb.BatchExecuteStatementOutput],
		`{"ConsumedCapacity":[{"TableName":"t","CapacityUnits":2.0},{"TableName":"t","CapacityUnits":2},{"CapacityUnits":10},{"TableName":"t"},{"TableName":"u","CapacityUnits":0}]}`: compareResponse[dynamodb.BatchExecuteStatementOutput],
		`{"ConsumedCapacity":{"TableName":"t","CapacityUnits":2.0}}`: compareResponse[dynamodb.PutItemOutput],
		`{}`: compareResponse[dynamodb.PutItemOutput],
		`{"Attributes":{"par":{"S":"a"},"due":{"N":"7"}},"ConsumedCapacity":{"TableName":"t","CapacityUnits":1}}`: compareResponse[dynamodb.UpdateItemOutput],
		`{"Attributes":{}}`:                                                             compareResponse[dynamodb.UpdateItemOutput],
		`{"Item":{"par":{"S":"a"}}}`:                                                    compareResponse[dynamodb.GetItemOutput],
		`{"Item":{},"Item":{"n":{"N":"1"}}}`:                                            compareResponse[dynamodb.GetItemOutput],
		`{"ConsumedCapacity":{"TableName":"t","CapacityUnits":0.5}}`:                    compareResponse[dynamodb.GetItemOutput],
		`{"Responses":{"t":[{"a":{"S":"1"}}],"t":[]},"Responses":{"u":[]}}`:             compareResponse[dynamodb.BatchGetItemOutput],
		`{"Responses":[{}],"Responses":[{},{}],"ConsumedCapacity":[{}]}`:                compareResponse[dynamodb.BatchExecuteStatementOutput],
		`{"ConsumedCapacity":{"CapacityUnits":1},"ConsumedCapacity":{"TableName":"t"}}`: compareResponse[dynamodb.PutItemOutput],
	}
	otherResponses = map[string]func(testing.TB, []byte) bool{
		`{"Responses":{"t":[{"par":{"S":"a"}}]},"UnprocessedKeys":{"t":{"Keys":[{"par":{"S":"b"}}]}}}`: compareResponse[dynamodb.BatchGetItemOutput],
		`{"Responses":{"t":null}}`: compareResponse[dynamodb.BatchGetItemOutput],
		`{"Responses":[{"TableName":"t"},{"Error":{"Code":"ConditionalCheckFailed","Message":"m"}}]}`: compareResponse[dynamodb.BatchExecuteStatementOutput],
		`{"Responses":[{"Item":{"par":{"S":"a"}}}]}`:                                                  compareResponse[dynamodb.BatchExecuteStatementOutput],
		`{"Responses":[null]}`:                                compareResponse[dynamodb.BatchExecuteStatementOutput],
		`{"Attributes":{"par":{"S":"a"}}}`:                    compareResponse[dynamodb.PutItemOutput],
		`{"ConsumedCapacity":{"Table":{"CapacityUnits":1}}}`:  compareResponse[dynamodb.PutItemOutput],
		`{"ConsumedCapacity":null}`:                           compareResponse[dynamodb.PutItemOutput],
		`{"Attributes":null}`:                                 compareResponse[dynamodb.UpdateItemOutput],
		`{"Attributes":{"flag":{"BOOL":true}}}`:               compareResponse[dynamodb.UpdateItemOutput],
		`{"ItemCollectionMetrics":{}}`:                        compareResponse[dynamodb.UpdateItemOutput],
		`{"Item":null}`:                                       compareResponse[dynamodb.GetItemOutput],
		`{"Item":{"list":{"L":[]}}}`:                          compareResponse[dynamodb.GetItemOutput],
		`{"ConsumedCapacity":{"CapacityUnits":1},"Other":{}}`: compareResponse[dynamodb.PutItemOutput],
	}
)

func TestPlainResponsesAreDecodedAsTheSDKDoes(t *testing.T) {
	t.Parallel()
	for body, decoded := range plainResponses {
		if !decoded(t, []byte(body)) {
			t.Errorf("%q was left to the SDK", body)
		}
		for n := range body {
			if decoded(t, []byte(body[:n])) {
				t.Errorf("%q was not left to the SDK", body[:n])
			}
		}
	}
	for body, decoded := range otherResponses {
		if decoded(t, []byte(body)) {
			t.Errorf("%q was not left to the SDK", body)
		}
	}
}

func FuzzDecodeResponses(f *testing.F) {
	for body := range plainResponses {
		f.Add([]byte(body))
	}
	for body := range otherResponses {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		compareResponse[dynamodb.BatchGetItemOutput](t, body)
		compareResponse[dynamodb.BatchExecuteStatementOutput](t, body)
		compareResponse[dynamodb.PutItemOutput](t, body)
		compareResponse[dynamodb.UpdateItemOutput](t, body)
		compareResponse[dynamodb.GetItemOutput](t, body)
	})
}

func TestDecodePage_Truncated(t *testing.T) {
	t.Parallel()
	whole := []byte(eventPage(2))
	for n := range whole {
		if compare(t, whole[:n:n]) {
			t.Fatalf("decodePage(%q) did not leave it to the SDK", whole[:n])
		}
	}
}

func FuzzDecodePage(f *testing.F) {
	plain, others := pages()
	for _, body := range append(plain, others...) {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { compare(t, body) })
}

// eventPage returns a page of n events of 512 bytes.
func eventPage(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"par":{"S":"journal-P-entity-1-0"},"num":{"N":"%d"},"persistence_id":{"S":"entity-1"},"seq":{"N":"%d"},`+
			`"event":{"B":"%s"},"writer_uuid":{"S":"0f3f9d10-6f0c-4c5c-8a7f-0123456789ab"},"ev_ser_id":{"N":"4"}}`,
			i, i, strings.Repeat("AbCd", 170)+"AA==")
	}
	return fmt.Sprintf(`{"Items":[%s],"Count":%d,"ScannedCount":%d,"ConsumedCapacity":{"TableName":"pekko-persistence","CapacityUnits":8.5}}`,
		strings.Join(items, ","), n, n)
}

// BenchmarkDecodePage decodes a partition of 100 events of 512 bytes, with the SDK and with this
// package.
func BenchmarkDecodePage(b *testing.B) {
	body := []byte(eventPage(100)) //nolint:mnd // a partition
	b.Run("SDK", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := bySDK(b, body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("own", func(b *testing.B) {
		items := NewItems(discard{})
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := decodePage(body, items); !ok {
				b.Fatal("the page was not plain")
			}
		}
	})
}
