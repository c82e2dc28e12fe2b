package wire

import (
	"encoding/json"
	"io"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
)

// encodedBySDK returns the parsed JSON of a request as the SDK encodes it.
func encodedBySDK(tb testing.TB, in smithy.Serializable) any {
	tb.Helper()
	r, ok := smithyhttp.NewStackRequest().(*smithyhttp.Request)
	if !ok {
		tb.Fatal("the SDK has another type for requests")
	}
	// The body does not depend on the operation.
	operation := smithy.NewOperationSchema(schemas.Query, schemas.QueryInput, schemas.QueryOutput)
	if err := awsjson.New10(schemas.DynamoDB_20120810).SerializeRequest(tb.Context(), operation, in, r); err != nil {
		tb.Fatal(err)
	}
	body, err := io.ReadAll(r.GetStream())
	if err != nil {
		tb.Fatal(err)
	}
	return parsed(tb, body)
}

func parsed(tb testing.TB, body []byte) any {
	tb.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		tb.Fatalf("%v in %s", err, body)
	}
	return v
}

// compareEncoded encodes a request with Encode and with the SDK. It fails if the two differ, and
// reports whether the request was plain.
func compareEncoded(tb testing.TB, in smithy.Serializable) bool {
	tb.Helper()
	body, plain := Encode(nil, in)
	if !plain {
		return false
	}
	if got, want := parsed(tb, body), encodedBySDK(tb, in); !reflect.DeepEqual(got, want) {
		tb.Fatalf("for %#v Encode returned\n%s, the SDK\n%v", in, body, want)
	}
	return true
}

// requestsOf returns a request of each operation that Encode supports, with every supported field
// set.
func requestsOf(name, text string, b []byte) []smithy.Serializable {
	item := Attributes{
		name: &types.AttributeValueMemberS{Value: text}, "n": &types.AttributeValueMemberN{Value: "-1.5e3"},
		"b": &types.AttributeValueMemberB{Value: b}, "set": &types.AttributeValueMemberSS{Value: []string{text, name}},
		"map": &types.AttributeValueMemberM{Value: Attributes{name: &types.AttributeValueMemberS{Value: text}, "none": &types.AttributeValueMemberS{}}},
	}
	names := map[string]string{"#n": name}
	return []smithy.Serializable{
		&dynamodb.QueryInput{
			TableName: &name, ConsistentRead: aws.Bool(true), ExclusiveStartKey: item, ExpressionAttributeNames: names,
			ExpressionAttributeValues: item, FilterExpression: &text, IndexName: &name, KeyConditionExpression: &text, Limit: aws.Int32(-3),
			ProjectionExpression: &text, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal, ScanIndexForward: aws.Bool(false),
			Select: types.SelectCount,
		},
		&dynamodb.PutItemInput{
			TableName: &name, Item: item, ConditionExpression: &text, ExpressionAttributeNames: names, ExpressionAttributeValues: item,
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal, ReturnValues: types.ReturnValueAllOld,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		},
		&dynamodb.UpdateItemInput{
			TableName: &name, Key: item, UpdateExpression: &text, ConditionExpression: &text, ExpressionAttributeNames: names,
			ExpressionAttributeValues: item, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal, ReturnValues: types.ReturnValueUpdatedNew,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		},
		&dynamodb.GetItemInput{
			TableName: &name, Key: item, ConsistentRead: aws.Bool(true), ExpressionAttributeNames: names, ProjectionExpression: &text,
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		},
		&dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{
				name: {Keys: []Attributes{item, {}}, ConsistentRead: aws.Bool(true)}, name + "2": {Keys: []Attributes{item}},
			},
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		},
		&dynamodb.BatchExecuteStatementInput{
			Statements: []types.BatchStatementRequest{
				{Statement: &text, Parameters: []types.AttributeValue{item[name], item["b"]}},
				{Statement: &text, Parameters: []types.AttributeValue{item["n"]}}, {Statement: &name, Parameters: []types.AttributeValue{item["n"]}},
			},
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		},
	}
}

func TestPlainRequestsAreEncodedAsTheSDKDoes(t *testing.T) {
	t.Parallel()
	for _, in := range requestsOf("par", `"quoted" \ and`+"\x00\x1f\n\t\r\b\f\u007f\u2028é漢\U0001F600</script>&", []byte{0, 1, 255}) {
		if !compareEncoded(t, in) {
			t.Errorf("%T was left to the SDK", in)
		}
	}
	for _, in := range requestsOf("", "", []byte{}) {
		if !compareEncoded(t, in) {
			t.Errorf("%T with empty strings was left to the SDK", in)
		}
	}
	for _, in := range requestsOf("par", "nil bytes", nil) {
		if compareEncoded(t, in) {
			t.Errorf("%T with nil for bytes was not left to the SDK", in)
		}
	}
}

// One field of a request is set at a time, so this test fails if a later version of the SDK adds a
// field.
func TestEveryFieldOfARequestIsEncodedOrLeftToTheSDK(t *testing.T) {
	t.Parallel()
	for _, whole := range requestsOf("par", "text", []byte("b")) {
		fields := reflect.TypeOf(whole).Elem()
		for i := range fields.NumField() {
			if !fields.Field(i).IsExported() {
				continue
			}
			in := reflect.New(fields)
			fill(t, in.Elem().Field(i))
			request, ok := reflect.TypeAssert[smithy.Serializable](in)
			if !ok {
				t.Fatalf("%s is not a request", fields)
			}
			compareEncoded(t, request)
		}
	}
}

// fill sets a field to a non-zero value.
func fill(t *testing.T, field reflect.Value) {
	t.Helper()
	value := types.AttributeValue(&types.AttributeValueMemberS{Value: "x"})
	switch field.Kind() {
	case reflect.String:
		field.SetString("x")
	case reflect.Bool:
		field.SetBool(true)
	case reflect.Int32:
		field.SetInt(1)
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
		fill(t, field.Elem())
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		fill(t, field.Index(0))
	case reflect.Map:
		element := reflect.New(field.Type().Elem()).Elem()
		fill(t, element)
		field.Set(reflect.MakeMap(field.Type()))
		field.SetMapIndex(reflect.ValueOf("x"), element)
	case reflect.Struct:
		for i := range field.NumField() {
			if field.Type().Field(i).IsExported() {
				fill(t, field.Field(i))
			}
		}
	case reflect.Interface:
		field.Set(reflect.ValueOf(value))
	default:
		t.Fatalf("there is no value for a %s", field.Type())
	}
}

func FuzzRequests(f *testing.F) {
	f.Add("par", "text", []byte("b"))
	f.Add("\\\"", "\xff", []byte{})
	f.Fuzz(func(t *testing.T, name, text string, b []byte) {
		for _, in := range requestsOf(name, text, b) {
			compareEncoded(t, in)
		}
	})
}
