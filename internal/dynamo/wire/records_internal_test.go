package wire

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
)

// recordsBySDK decodes a response with the SDK, into the form of DecodeRecords.
func recordsBySDK(tb testing.TB, body []byte) (Records, error) {
	tb.Helper()
	var out dynamodbstreams.GetRecordsOutput
	operation := smithy.NewOperationSchema(schemas.GetRecords, schemas.GetRecordsInput, schemas.GetRecordsOutput)
	err := awsjson.New10(schemas.DynamoDBStreams_20120810).DeserializeResponse(
		tb.Context(), operation, dynamodbstreams.TypeRegistry, responseOf(body), &out)
	if err != nil {
		return Records{}, err
	}
	all := Records{Next: out.NextShardIterator}
	for i := range out.Records {
		r := Record{Event: string(out.Records[i].EventName)}
		if c := out.Records[i].Dynamodb; c != nil {
			r.Number, r.Created = aws.ToString(c.SequenceNumber), aws.ToTime(c.ApproximateCreationDateTime)
			r.Keys, r.NewImage = plainValues(tb, c.Keys), plainValues(tb, c.NewImage)
		}
		all.Records = append(all.Records, r)
	}
	return all, nil
}

// plainValues converts attributes of a stream into attributes of a table.
func plainValues(tb testing.TB, of map[string]types.AttributeValue) Attributes {
	tb.Helper()
	if of == nil {
		return nil
	}
	all := Attributes{}
	for name, v := range of {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			all[name] = &dynamotypes.AttributeValueMemberS{Value: v.Value}
		case *types.AttributeValueMemberN:
			all[name] = &dynamotypes.AttributeValueMemberN{Value: v.Value}
		case *types.AttributeValueMemberB:
			all[name] = &dynamotypes.AttributeValueMemberB{Value: v.Value}
		case *types.AttributeValueMemberSS:
			all[name] = &dynamotypes.AttributeValueMemberSS{Value: v.Value}
		case *types.AttributeValueMemberM:
			all[name] = &dynamotypes.AttributeValueMemberM{Value: plainValues(tb, v.Value)}
		default:
			tb.Fatalf("%q is decoded, and the SDK has a %T", name, v)
		}
	}
	return all
}

// compareRecords decodes a body with DecodeRecords and with the SDK. It fails if the two differ,
// and reports whether the body was plain.
func compareRecords(tb testing.TB, body []byte) bool {
	tb.Helper()
	got, ok := DecodeRecords(body)
	if !ok {
		return false
	}
	want, err := recordsBySDK(tb, body)
	if err != nil {
		tb.Fatalf("DecodeRecords decoded %q, and the SDK returns %v", body, err)
	}
	if !reflect.DeepEqual(got, want) {
		tb.Fatalf("DecodeRecords returned\n%#v for %q, the SDK\n%#v", got, body, want)
	}
	return true
}

// event is a record in the form that the service sends.
const event = `{"awsRegion":"eu-west-1","dynamodb":{"ApproximateCreationDateTime":1.46480527E9,"Keys":{"num":{"N":"1"},"par":{"S":"journal-P-a-0"}},` +
	`"NewImage":{"par":{"S":"journal-P-a-0"},"num":{"N":"1"},"event":{"B":"AAEC"},"meta":{"M":{"k":{"S":"v"}}},"tags":{"SS":["x","y"]}},` +
	`"SequenceNumber":"4421584500000000017450439091","SizeBytes":57,"StreamViewType":"NEW_IMAGE"},"eventID":"4b25","eventName":"INSERT",` +
	`"eventSource":"aws:dynamodb","eventVersion":"1.1"}`

// Responses of GetRecords that this package decodes, and others that are left to the SDK.
var (
	plainRecords = []string{
		`{}`, `{"Records":[]}`, `{"NextShardIterator":"arn:1","Records":[` + event + `,` + event + `]}`,
		`{"Records":[{}],"NextShardIterator":"x"}`, `{"Records":[{"dynamodb":{}}]}`,
		`{"Records":[{"eventName":"REMOVE","dynamodb":{"Keys":{"par":{"S":"a"}},"OldImage":{"par":{"S":"a"}}},"userIdentity":{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"}}]}`,
		`{"Records":[{"dynamodb":{"ApproximateCreationDateTime":1464805270}}]}`, `{"Records":[{"dynamodb":{"ApproximateCreationDateTime":1464805270.123}}]}`,
		`{"Records":[{"eventName":"INSERT"}],"Records":[{"eventName":"MODIFY"}]}`,
	}
	otherRecords = []string{
		``, `[]`, `null`, `{"Records":null}`, `{"Records":[null]}`, `{"NextShardIterator":null}`, `{"Other":1}`,
		`{"Records":[{"dynamodb":{"NewImage":{"flag":{"BOOL":true}}}}]}`, `{"Records":[{"dynamodb":{"NewImage":null}}]}`,
		`{"Records":[{"dynamodb":{"SizeBytes":"1"}}]}`, `{"Records":[{"dynamodb":{"ApproximateCreationDateTime":-1}}]}`,
		`{"Records":[{"dynamodb":{"ApproximateCreationDateTime":1E400}}]}`, `{"Records":[{"dynamodb":{"ApproximateCreationDateTime":"x"}}]}`,
		`{"Records":[{"other":1}]}`, `{"Records":[{"dynamodb":{"Other":1}}]}`, `{} x`,
	}
)

func TestPlainRecordsAreDecodedAsTheSDKDoes(t *testing.T) {
	t.Parallel()
	for _, body := range plainRecords {
		if !compareRecords(t, []byte(body)) {
			t.Errorf("%q was left to the SDK", body)
		}
		for n := range body {
			if compareRecords(t, []byte(body[:n])) {
				t.Errorf("%q was not left to the SDK", body[:n])
			}
		}
	}
	for _, body := range otherRecords {
		if compareRecords(t, []byte(body)) {
			t.Errorf("%q was not left to the SDK", body)
		}
	}
}

// The memory of the body is reused, so decoded values must not refer to it.
func TestDecodeRecords_DoesNotRetainBody(t *testing.T) {
	t.Parallel()
	body := []byte(plainRecords[2])
	got, ok := DecodeRecords(body)
	want, err := recordsBySDK(t, []byte(plainRecords[2]))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	for i := range body {
		body[i] = 'x'
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("after a change of the body: %#v", got)
	}
	if created := got.Records[0].Created; !created.Equal(time.Unix(1464805270, 0)) {
		t.Errorf("created at %s", created)
	}
}

func FuzzDecodeRecords(f *testing.F) {
	for _, body := range append(plainRecords, otherRecords...) {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { compareRecords(t, body) })
}

// BenchmarkDecodeRecords decodes a page of 1,000 records, with the SDK and with this package.
func BenchmarkDecodeRecords(b *testing.B) {
	body := []byte(`{"Records":[` + strings.Repeat(event+",", 999) + event + `]}`) //nolint:mnd // a full page
	b.Run("SDK", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := recordsBySDK(b, body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := DecodeRecords(body); !ok {
				b.Fatal("the page was not plain")
			}
		}
	})
}
