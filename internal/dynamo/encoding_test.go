package dynamo_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// seen is an HTTP client that records the last request, and responds as to two statements.
type seen struct {
	header http.Header
	body   string
}

// Do records a request.
func (s *seen) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.header, s.body = r.Header.Clone(), string(body)
	return ok(`{"Responses":[{},{}]}`)(r)
}

// insertTwo inserts two items with a group, in one request.
func insertTwo(t testing.TB, at aws.HTTPClient, texts [2]string, bytes []byte) error {
	t.Helper()
	c, err := dynamo.New(options(at, func(o *dynamo.Options) { o.Retries = 0 }))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	group := c.NewGroup(dynamo.GroupOptions{Table: table, Context: context.Background(), Refused: func(error) {}})
	defer group.Close()
	items := make([]dynamo.Attributes, len(texts))
	for i, text := range texts {
		items[i] = key(i)
		items[i]["text"] = &types.AttributeValueMemberS{Value: text}
		items[i]["event"] = &types.AttributeValueMemberB{Value: bytes}
	}
	insertion := group.Insert(t.Context(), &dynamo.Meter{}, dynamo.Insert{ID: "a", Items: items, Sizes: []int{1, 1}, Condition: "c"})
	<-insertion.Done()
	for _, err := range insertion.Outcomes() {
		if err != nil {
			return err
		}
	}
	return nil
}

const insertText = `INSERT INTO "events" VALUE {'event':?,'num':?,'par':?,'text':?}`

// bareTwo inserts the same items with the bare SDK.
func bareTwo(t testing.TB, at aws.HTTPClient, texts [2]string, bytes []byte) error {
	t.Helper()
	in := &dynamodb.BatchExecuteStatementInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	for i, text := range texts {
		in.Statements = append(in.Statements, types.BatchStatementRequest{Statement: aws.String(insertText), Parameters: []types.AttributeValue{
			&types.AttributeValueMemberB{Value: bytes}, key(i)["num"], key(i)["par"], &types.AttributeValueMemberS{Value: text},
		}})
	}
	_, err := dynamodb.NewFromConfig(options(at).AWS).BatchExecuteStatement(t.Context(), in)
	return err
}

// same checks that the group's request has the same content as the SDK's.
func same(t *testing.T, texts [2]string, bytes []byte) {
	t.Helper()
	ours, bare := &seen{}, &seen{}
	if err := insertTwo(t, ours, texts, bytes); err != nil {
		t.Fatal(err)
	}
	if err := bareTwo(t, bare, texts, bytes); err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal([]byte(ours.body), &got); err != nil {
		t.Fatalf("%v in %s", err, ours.body)
	}
	if err := json.Unmarshal([]byte(bare.body), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", ours.body, bare.body)
	}
	for _, name := range []string{"X-Amz-Target", "Content-Type", "Accept-Encoding"} {
		if g, w := ours.header.Get(name), bare.header.Get(name); g != w {
			t.Errorf("%s: got %q, want %q", name, g, w)
		}
	}
	if authorization := ours.header.Get("Authorization"); !strings.HasPrefix(authorization, "AWS4-HMAC-SHA256 Credential=id/") {
		t.Errorf("authorization %q", authorization)
	}
}

func TestSharedRequestIsEncodedAsTheSDKDoes(t *testing.T) {
	same(t, [2]string{"plain", `"quoted" \ and` + "\x00\x1f\n\t\r\b\f\u007f\u2028é漢\U0001F600</script>&"}, []byte{0, 1, 255})
	same(t, [2]string{"", "broken \xff\xc3 UTF-8 \xed\xa0\x80"}, []byte{})
	same(t, [2]string{"nil bytes", ""}, nil)
}

func FuzzSharedRequest(f *testing.F) {
	f.Add("a", "b", []byte("c"))
	f.Add("\\\"", "\xff", []byte{})
	f.Fuzz(func(t *testing.T, a, b string, bytes []byte) { same(t, [2]string{a, b}, bytes) })
}
