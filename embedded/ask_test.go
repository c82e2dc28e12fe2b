package embedded_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal/embedded"
)

// ask sends a request in JSON and returns the response with its members sorted. For an error it
// returns the type and the message.
func ask(t *testing.T, engine *embedded.Engine, operation, body string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://engine", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Amz-Target", prefix+operation)
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a")
	response, err := engine.Transport().RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	return digest(t, response, operation)
}

// digest returns the result of ask for a response.
func digest(t *testing.T, response *http.Response, operation string) string {
	t.Helper()
	var decoded map[string]any
	if err := json.NewDecoder(response.Body).Decode(&decoded); err != nil {
		if response.ContentLength == 0 {
			return ""
		}
		t.Fatalf("%s: %v", operation, err)
	}
	if kind, failed := decoded["__type"].(string); failed {
		_, name, _ := strings.Cut(kind, "#")
		message, _ := decoded["message"].(string)
		if capital, is := decoded["Message"].(string); is {
			message = capital
		}
		delete(decoded, "__type")
		delete(decoded, "message")
		delete(decoded, "Message")
		text := name + ": " + message
		if len(decoded) > 0 {
			text += " " + encode(t, decoded)
		}
		return text
	}
	return encode(t, decoded)
}

func encode(t *testing.T, value any) string {
	t.Helper()
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// step is a request and the expected response. If want ends in …, the response must start with the
// text before it.
type step struct{ operation, body, want string }

func run(t *testing.T, engine *embedded.Engine, steps []step) {
	t.Helper()
	for i, s := range steps {
		got := ask(t, engine, s.operation, s.body)
		if prefix, open := strings.CutSuffix(s.want, "…"); open && strings.HasPrefix(got, prefix) {
			continue
		}
		if got != s.want {
			t.Errorf("step %d: %s %s\n got %s\nwant %s", i+1, s.operation, s.body, got, s.want)
		}
	}
}

const wrong = "ValidationException: One or more parameter values were invalid: "

// simpleTable has the hash key pk (S).
const simpleTable = `{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",
	"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
	"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}]}`

// richTable has the key pk (S), sk (N), the local index "local" on when (N) with KEYS_ONLY, the
// global indexes "group" on grp (S), when (N) with INCLUDE of extra, and "all" on grp with ALL.
const richTable = `{"TableName":"rich","BillingMode":"PAY_PER_REQUEST",
	"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
	"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"},
		{"AttributeName":"when","AttributeType":"N"},{"AttributeName":"grp","AttributeType":"S"}],
	"LocalSecondaryIndexes":[{"IndexName":"local","Projection":{"ProjectionType":"KEYS_ONLY"},
		"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"when","KeyType":"RANGE"}]}],
	"GlobalSecondaryIndexes":[
		{"IndexName":"group","Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["extra"]},
		"KeySchema":[{"AttributeName":"grp","KeyType":"HASH"},{"AttributeName":"when","KeyType":"RANGE"}]},
		{"IndexName":"all","Projection":{"ProjectionType":"ALL"},"KeySchema":[{"AttributeName":"grp","KeyType":"HASH"}]}]}`

// openWith returns an engine with the tables.
func openWith(t *testing.T, tables ...string) *embedded.Engine {
	t.Helper()
	engine := openMemory(t)
	for _, table := range tables {
		if got := ask(t, engine, "CreateTable", table); !strings.HasPrefix(got, `{"TableDescription"`) {
			t.Fatal(got)
		}
	}
	return engine
}
