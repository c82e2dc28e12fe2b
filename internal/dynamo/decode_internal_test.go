package dynamo

import (
	"bytes"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
)

// bySDK decodes an answer of Query as the SDK does.
func bySDK(tb testing.TB, body []byte) (*dynamodb.QueryOutput, error) {
	tb.Helper()
	out := &dynamodb.QueryOutput{}
	answer := &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusOK, Body: newWholeBody(bytes.NewBuffer(body))}}
	operation := smithy.NewOperationSchema(schemas.Query, schemas.QueryInput, schemas.QueryOutput)
	err := awsjson.New10(schemas.DynamoDB_20120810).DeserializeResponse(tb.Context(), operation, dynamodb.TypeRegistry, answer, out)
	return out, err
}

// compare decodes a body in both ways, and says whether it was plain.
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
		tb.Fatalf("decodePage took %q, of which the SDK says: %v", body, err)
	}
	out := &dynamodb.QueryOutput{
		Items: got.items, Count: got.count, ScannedCount: got.scanned, LastEvaluatedKey: got.next, ConsumedCapacity: got.capacity,
	}
	if !reflect.DeepEqual(out, want) {
		tb.Fatalf("decodePage made\n%#v of %q, the SDK\n%#v", out, body, want)
	}
	var taken kept
	if _, ok := decodePage(body, &taken); !ok || len(taken.items) != len(want.Items) {
		tb.Fatalf("decodePage gave %d items of %q to its taker, the SDK has %d", len(taken.items), body, len(want.Items))
	}
	for i, item := range taken.items {
		if !reflect.DeepEqual(item, want.Items[i]) {
			tb.Fatalf("decodePage gave\n%#v of %q to its taker, the SDK has\n%#v", item, body, want.Items[i])
		}
	}
	return true
}

// kept takes items, and copies them.
type kept struct{ items []Attributes }

func (k *kept) Start() { k.items = nil }

func (k *kept) Take(item Item) {
	copied := Attributes{}
	for _, a := range item.(*listed).attributes {
		switch v, _ := item.Get(a.name); v := v.(type) {
		case *types.AttributeValueMemberS:
			copied[a.name] = new(*v)
		case *types.AttributeValueMemberN:
			copied[a.name] = new(*v)
		case *types.AttributeValueMemberB:
			copied[a.name] = new(*v)
		}
	}
	k.items = append(k.items, copied)
}

// TestItemsShareNoBytes has items with the same bytes, which whoever has one of them may change.
func TestItemsShareNoBytes(t *testing.T) {
	t.Parallel()
	body := []byte(`{"Items":[{"b":{"B":"AA=="}},{"b":{"B":"AA=="}},{"b":{"B":"AA=="}}]}`)
	page, plain := decodePage(body, nil)
	var taken kept
	if _, ok := decodePage(body, &taken); !ok || !plain {
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

// ignored takes items, and does nothing with them.
type ignored struct{}

func (ignored) Start()    {}
func (ignored) Take(Item) {}

// The answers that are plain, and those that are not: only the SDK says what they mean.
func answers() (plain, others []string) {
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
			wide(attributesMost, 3), `{"Items":[{"a":{"S":"x"}}],"LastEvaluatedKey":{"a":{"S":"x"}}}`,
			in(`{"S":"a\"b"}`), in(`{"S":"\u0041"}`), in(`{"S":"journal\u0000entity-1"}`), in(`{"S":"\\"}`), in(`{"S":"\ud83d\ude00"}`),
		}, []string{
			``, `[]`, `null`, `{"Items":null}`, `{"Items":[null]}`, `{"Items":[{}],}`, `{"Items":[{}]} x`, `{"Items":[{}]`, `{"Other":1}`,
			`{"Items":[{"a":{"S":"1"}}],"Items":[{"b":{"S":"1"}}]}`, `{"Items":[{"a":{"S":"1"}}],"Items":[]}`, `{"items":[{"a":{"S":"1"}}]}`,
			wide(attributesMost+1, 1), `{"Items":[{"a":{"S":"x"}},{"a":{"S":"x}}]}`, `{"Items":[{"a":{"S":"x"}},{"a":{"S":"x"}"b":{"S":"x"}}]}`,
			`{"Items":[{"a":{"N":"1"}},{"a":{"N":1}}]}`, `{"Items":[{"a":{"B":"AA=="}},{"a":{"B":"AA="}}]}`,
			in(`{"BOOL":true}`), in(`{"NULL":true}`), in(`{"L":[]}`), in(`{"M":{}}`), in(`{"SS":["a"]}`), in(`null`), in(`{}`), in(`{"S":null}`),
			in(`{"S":"\ud83d"}`), in(`{"S":"\x"}`), in(`{"S":"\u00"}`), in(`{"S":"\`), in(`{"S":"\"`), in(`{"S":"a","N":"1"}`), in("{\"S\":\"\xff\"}"), in("{\"S\":\"a\nb\"}"), in(`{"S":1}`),
			`{"Items":[{"a":{"S":"x"}},{"a":{"S":"x"}]}`, `{"Items":[{"a":{"S":"x"}},{"a":{"S":null}}]}`, `{"Items":[{"a":{"S":"x"}},{"a":{"SS":"x"}}]}`,
			in(`{"B":"A"}`), in(`{"B":"AA="}`), in("{\"B\":\"AA\nA\"}"), in("{\"B\":\"AAA\n\"}"), in("{\"B\":\"\n\n\n\n\"}"), in(`{"B":"\/\/\/\/"}`), in(`{"B":"===="}`),
			`{"Count":1.5}`, `{"Count":01}`, `{"Count":-1}`, `{"Count":99999999999}`, `{"Count":"1"}`, `{"Count":1`,
			`{"ConsumedCapacity":{"CapacityUnits":.5}}`, `{"ConsumedCapacity":{"Table":{"CapacityUnits":1}}}`,
		}
}

// wide is an answer with items of so many attributes, each item in another order.
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

func TestDecodePage(t *testing.T) {
	t.Parallel()
	plain, others := answers()
	for _, body := range plain {
		if !compare(t, []byte(body)) {
			t.Errorf("decodePage(%q) left it to the SDK", body)
		}
	}
	for _, body := range others {
		if compare(t, []byte(body)) {
			t.Errorf("decodePage(%q) took it", body)
		}
	}
}

// compareAnswer decodes a body in both ways, and says whether it was plain.
func compareAnswer[T any, O interface {
	*T
	smithy.Deserializable
}](tb testing.TB, body []byte) bool {
	tb.Helper()
	var got, want T
	if !decodeInto(body, &got, nil) {
		if !reflect.DeepEqual(got, want) {
			tb.Fatalf("decodeInto left %q to the SDK, and made %#v of it", body, got)
		}
		return false
	}
	answer := &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusOK, Body: newWholeBody(bytes.NewBuffer(body))}}
	operation := smithy.NewOperationSchema(schemas.Query, schemas.QueryInput, schemas.QueryOutput) // an answer does not depend on it
	err := awsjson.New10(schemas.DynamoDB_20120810).DeserializeResponse(tb.Context(), operation, dynamodb.TypeRegistry, answer, O(&want))
	if err != nil {
		tb.Fatalf("decodeInto took %q, of which the SDK says: %v", body, err)
	}
	if !reflect.DeepEqual(got, want) {
		tb.Fatalf("decodeInto made\n%#v of %q, the SDK\n%#v", got, body, want)
	}
	return true
}

const capacityOfTwo = `"ConsumedCapacity":[{"TableName":"t","CapacityUnits":1.5},{"TableName":"u"}]`

// The answers of the other operations that are decoded here, and those that only the SDK decodes.
var (
	plainAnswers = map[string]func(testing.TB, []byte) bool{
		`{"Responses":{"t":[{"par":{"S":"a"},"num":{"N":"0"}},{}],"u":[]},"UnprocessedKeys":{},` + capacityOfTwo + `}`: compareAnswer[dynamodb.BatchGetItemOutput],
		`{"Responses":{}}`: compareAnswer[dynamodb.BatchGetItemOutput],
		`{"Responses":[{"TableName":"t"},{}],` + capacityOfTwo + `}`: compareAnswer[dynamodb.BatchExecuteStatementOutput],
		`{"Responses":[]}`: compareAnswer[dynamodb.BatchExecuteStatementOutput],
		`{"ConsumedCapacity":{"TableName":"t","CapacityUnits":2.0}}`: compareAnswer[dynamodb.PutItemOutput],
		`{}`: compareAnswer[dynamodb.PutItemOutput],
		`{"Responses":{"t":[{"a":{"S":"1"}}],"t":[]},"Responses":{"u":[]}}`:             compareAnswer[dynamodb.BatchGetItemOutput],
		`{"Responses":[{}],"Responses":[{},{}],"ConsumedCapacity":[{}]}`:                compareAnswer[dynamodb.BatchExecuteStatementOutput],
		`{"ConsumedCapacity":{"CapacityUnits":1},"ConsumedCapacity":{"TableName":"t"}}`: compareAnswer[dynamodb.PutItemOutput],
	}
	otherAnswers = map[string]func(testing.TB, []byte) bool{
		`{"Responses":{"t":[{"par":{"S":"a"}}]},"UnprocessedKeys":{"t":{"Keys":[{"par":{"S":"b"}}]}}}`: compareAnswer[dynamodb.BatchGetItemOutput],
		`{"Responses":{"t":null}}`: compareAnswer[dynamodb.BatchGetItemOutput],
		`{"Responses":[{"TableName":"t"},{"Error":{"Code":"ConditionalCheckFailed","Message":"m"}}]}`: compareAnswer[dynamodb.BatchExecuteStatementOutput],
		`{"Responses":[{"Item":{"par":{"S":"a"}}}]}`:                                                  compareAnswer[dynamodb.BatchExecuteStatementOutput],
		`{"Responses":[null]}`:                                compareAnswer[dynamodb.BatchExecuteStatementOutput],
		`{"Attributes":{"par":{"S":"a"}}}`:                    compareAnswer[dynamodb.PutItemOutput],
		`{"ConsumedCapacity":{"Table":{"CapacityUnits":1}}}`:  compareAnswer[dynamodb.PutItemOutput],
		`{"ConsumedCapacity":null}`:                           compareAnswer[dynamodb.PutItemOutput],
		`{"ConsumedCapacity":{"CapacityUnits":1},"Other":{}}`: compareAnswer[dynamodb.PutItemOutput],
	}
)

func TestDecodeAnswers(t *testing.T) {
	t.Parallel()
	for body, decoded := range plainAnswers {
		if !decoded(t, []byte(body)) {
			t.Errorf("%q was left to the SDK", body)
		}
		for n := range body {
			if decoded(t, []byte(body[:n])) {
				t.Errorf("%q was taken", body[:n])
			}
		}
	}
	for body, decoded := range otherAnswers {
		if decoded(t, []byte(body)) {
			t.Errorf("%q was taken", body)
		}
	}
}

func FuzzDecodeAnswers(f *testing.F) {
	for body := range plainAnswers {
		f.Add([]byte(body))
	}
	for body := range otherAnswers {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		compareAnswer[dynamodb.BatchGetItemOutput](t, body)
		compareAnswer[dynamodb.BatchExecuteStatementOutput](t, body)
		compareAnswer[dynamodb.PutItemOutput](t, body)
	})
}

// TestDecodePageCutShort cuts an answer everywhere: no part of it is plain.
func TestDecodePageCutShort(t *testing.T) {
	t.Parallel()
	whole := []byte(eventPage(2))
	for n := range whole {
		if compare(t, whole[:n:n]) {
			t.Fatalf("decodePage(%q) took it", whole[:n])
		}
	}
}

func FuzzDecodePage(f *testing.F) {
	plain, others := answers()
	for _, body := range append(plain, others...) {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { compare(t, body) })
}

// eventPage is an answer with n events of 512 bytes.
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

// BenchmarkDecodePage decodes a partition of 100 events of 512 bytes, as the SDK does and as the journal does.
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
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := decodePage(body, ignored{}); !ok {
				b.Fatal("the page was not plain")
			}
		}
	})
}
