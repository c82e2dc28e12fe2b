package conformance_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// ask sends a request over HTTP and returns the digest of the response.
func ask(t *testing.T, server, operation, body string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Date", "20260101T000000Z")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, "+
		"SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=b")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%s %.200s: %v", operation, body, err)
	}
	defer func() { _ = response.Body.Close() }() // all of it was read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %.200s: %v", operation, body, err)
	}
	return digest(t, response.StatusCode, text)
}

// digest returns a response in one line: the status and the body with its members sorted, without
// the parts that differ each time. For an error these are the type and the message, followed by the
// other members.
func digest(t *testing.T, status int, body []byte) string {
	t.Helper()
	var response any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&response) != nil {
		return strconv.Itoa(status) + " " + strconv.Quote(string(body))
	}
	response = masked(response)
	members, _ := response.(map[string]any)
	kind, failed := members["__type"].(string)
	if !failed {
		return strconv.Itoa(status) + " " + encode(t, response)
	}
	_, name, _ := strings.Cut(kind, "#")
	message, _ := members["message"].(string)
	if capital, is := members["Message"].(string); is {
		message = capital
	}
	text := strconv.Itoa(status) + " " + name + ": " + message
	delete(members, "__type")
	delete(members, "message")
	delete(members, "Message")
	if len(members) > 0 {
		text += " " + encode(t, members)
	}
	return text
}

// masked replaces the parts that differ each time by a star.
func masked(value any) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = masked(value[i])
		}
	case map[string]any:
		for name := range value {
			switch name {
			case "TableId", "CreationDateTime", "LastUpdateToPayPerRequestDateTime", "NextToken", "Address",
				"LatestStreamArn", "LatestStreamLabel", "LastIncreaseDateTime", "LastDecreaseDateTime":
				value[name] = "*"
			default:
				value[name] = masked(value[name])
			}
		}
	}
	return value
}

func encode(t *testing.T, value any) string {
	t.Helper()
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(text.String())
}
