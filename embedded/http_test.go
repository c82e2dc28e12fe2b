package embedded_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// rawRequest is a request that an SDK would not send. An empty content type means the one of the
// SDK, and "-" means none.
type rawRequest struct {
	method, path, target, body, contentType, encoding string
	unsigned                                          bool
}

type rawAnswer struct {
	status int
	header http.Header
	body   string
}

func send(t *testing.T, server *httptest.Server, raw rawRequest) rawAnswer {
	t.Helper()
	method := raw.method
	if method == "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL+raw.path, strings.NewReader(raw.body))
	if err != nil {
		t.Fatal(err)
	}
	if raw.target != "" {
		request.Header.Set("X-Amz-Target", raw.target)
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	switch raw.contentType {
	case "":
	case "-":
		request.Header.Del("Content-Type")
	default:
		request.Header.Set("Content-Type", raw.contentType)
	}
	if raw.encoding != "" {
		request.Header.Set("Content-Encoding", raw.encoding)
	}
	if !raw.unsigned {
		request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request")
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return rawAnswer{status: response.StatusCode, header: response.Header, body: string(body)}
}

const prefix = "DynamoDB_20120810."

func TestHTTP_MalformedRequests(t *testing.T) {
	server := httptest.NewServer(openMemory(t))
	defer server.Close()
	const unpacked = `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError",`
	const serialization = `{"__type":"com.amazon.coral.service#SerializationException"}`
	nested := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	deepList := `{"TableName":"abc","Item":{"a":` + strings.Repeat(`{"L":[`, 50_000) + strings.Repeat("]}", 50_000) + `}}`
	for _, c := range []struct {
		name   string
		raw    rawRequest
		status int
		// want is a part of the body.
		want string
	}{
		{"a GET tells that the engine is healthy", rawRequest{method: http.MethodGet}, 200, "healthy: dynamodb."},
		{"a GET of anything else tells nothing", rawRequest{method: http.MethodGet, path: "/health"}, 404, "<UnknownOperationException/>"},
		{"no JSON for an unknown operation", rawRequest{target: prefix + "Nothing", body: "hello"}, 400, serialization},
		{"other methods are unknown", rawRequest{method: http.MethodPut, body: "{}"}, 404, "<UnknownOperationException/>"},
		{"other content types are unknown", rawRequest{target: prefix + "ListTables", body: "{}", contentType: "text/plain"}, 404, "<UnknownOperationException/>"},
		{"no target", rawRequest{body: "{}"}, 400, "com.amazon.coral.service#UnknownOperationException"},
		{"an unknown operation", rawRequest{target: prefix + "Nothing", body: "{}"}, 400, "com.amazon.coral.service#UnknownOperationException"},
		{"an unknown version", rawRequest{target: "DynamoDB_20990101.ListTables", body: "{}"}, 400, "com.amazon.coral.service#UnknownOperationException"},
		{"no signature", rawRequest{target: prefix + "ListTables", body: "{}", unsigned: true}, 400, "MissingAuthenticationTokenException"},
		{"no body", rawRequest{target: prefix + "ListTables"}, 400, serialization},
		{"no JSON", rawRequest{target: prefix + "ListTables", body: "hello"}, 400, serialization},
		{"a JSON array", rawRequest{target: prefix + "ListTables", body: "[]"}, 400, serialization},
		{"cut off JSON", rawRequest{target: prefix + "ListTables", body: `{"Limit":1`}, 400, serialization},
		{"JSON with more behind it", rawRequest{target: prefix + "ListTables", body: `{} x`}, 400, serialization},
		{"a missing comma", rawRequest{target: prefix + "ListTables", body: `{"a":1 "b":2}`}, 400, serialization},
		{"a trailing comma", rawRequest{target: prefix + "ListTables", body: `{"a":1,}`}, 400, serialization},
		{"a control character in a string", rawRequest{target: prefix + "DescribeTable", body: "{\"TableName\":\"a\nb\"}"}, 400, serialization},
		{"bytes that are not UTF-8", rawRequest{target: prefix + "DescribeTable", body: "{\"TableName\":\"a\xffb\"}"}, 400, serialization},
		{"bytes that are not UTF-8 in an item", rawRequest{target: prefix + "PutItem", body: "{\"TableName\":\"abc\",\"Item\":{\"a\":{\"S\":\"\xff\"}}}"}, 400, serialization},
		{"bytes that are not UTF-8 in an attribute's name", rawRequest{target: prefix + "PutItem", body: "{\"TableName\":\"abc\",\"Item\":{\"\xff\":{\"S\":\"a\"}}}"}, 400, serialization},
		{"bytes that are not UTF-8 behind an escape", rawRequest{target: prefix + "PutItem", body: "{\"TableName\":\"abc\",\"Item\":{\"a\":{\"S\":\"\\n\xfe\"}}}"}, 400, serialization},
		{"bytes that are not UTF-8 in a statement", rawRequest{target: prefix + "ExecuteStatement", body: "{\"Statement\":\"SELECT * FROM \xff\"}"}, 400, serialization},
		{"bytes that are not UTF-8 in a member that has no meaning", rawRequest{target: prefix + "ListTables", body: "{\"a\":\"\xff\"}"}, 400, serialization},
		{"bytes that are not UTF-8 for an unknown operation", rawRequest{target: prefix + "Nothing", body: "{\"a\":\"\xff\"}"}, 400, serialization},
		{"broken JSON in a member that has no meaning", rawRequest{target: prefix + "ListTables", body: `{"a":{]}}`}, 400, serialization},
		{"nesting without end in a member that has no meaning", rawRequest{target: prefix + "ListTables", body: `{"a":` + nested + `}`}, 400, serialization},
		{"nesting without end in an item", rawRequest{target: prefix + "PutItem", body: deepList}, 400, "SerializationException"},
		{"a number for a string", rawRequest{target: prefix + "DescribeTable", body: `{"TableName":1}`}, 400, `"Message":"NUMBER_VALUE cannot be converted to String"`},
		{"a fraction for a string", rawRequest{target: prefix + "DescribeTable", body: `{"TableName":1.5}`}, 400, `"Message":"DECIMAL_VALUE cannot be converted to String"`},
		{"a boolean for a string", rawRequest{target: prefix + "DescribeTable", body: `{"TableName":true}`}, 400, `"Message":"TRUE_VALUE cannot be converted to String"`},
		{"a list for a string", rawRequest{target: prefix + "DescribeTable", body: `{"TableName":[]}`}, 400, `"Message":"Unrecognized collection type class java.lang.String"`},
		{"an object for a string", rawRequest{target: prefix + "DescribeTable", body: `{"TableName":{}}`}, 400, `"Message":"Start of structure or map found ` +
			`where not expected"`},
		{"a string for a number", rawRequest{target: prefix + "ListTables", body: `{"Limit":"1"}`}, 400, `"Message":"STRING_VALUE cannot be converted to Integer"`},
		{"a string for a list", rawRequest{target: prefix + "CreateTable", body: `{"KeySchema":"a"}`}, 400, `"Message":"Unexpected field type"`},
		{"a list for a map", rawRequest{target: prefix + "BatchGetItem", body: `{"RequestItems":[]}`}, 400, "Unrecognized collection type " +
			"java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.KeysAndAttributes>"},
		{"an item that is a list", rawRequest{target: prefix + "PutItem", body: `{"TableName":"abc","Item":[]}`}, 400, "SerializationException"},
		{"a null parameter is not given", rawRequest{target: prefix + "ListTables", body: `{"Limit":null}`}, 200, `{"TableNames":[]}`},
		{"members without a meaning are ignored", rawRequest{target: prefix + "ListTables", body: `{"Nothing":[1,{"a":"b"}],"Other":null}`}, 200, `{"TableNames":[]}`},
		{"escapes in names and values are read", rawRequest{target: prefix + "DescribeTable", body: `{"Table\u004eame":"\u0061bc"}`}, 400, "Table: abc not found"},
		{"two broken parameters are named together", rawRequest{target: prefix + "PutItem", body: `{}`}, 400,
			"2 validation errors detected: Value null at 'tableName' failed to satisfy constraint: Member must not be null; " +
				"Value null at 'item' failed to satisfy constraint: Member must not be null"},
		{"an unknown table", rawRequest{target: prefix + "GetItem", body: `{"TableName":"abc","Key":{"a":{"S":"b"}}}`}, 400,
			`{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"Requested resource not found"}`},
		{"a body that only claims to be packed", rawRequest{target: prefix + "ListTables", body: "{}", encoding: "gzip"}, 500, unpacked},
		{"a body that only claims to be deflated", rawRequest{target: prefix + "ListTables", body: "{}", encoding: "deflate"}, 500, unpacked},
		{"no body that claims to be packed", rawRequest{target: prefix + "ListTables", encoding: "gzip"}, 500, unpacked},
		{"an unknown encoding", rawRequest{target: prefix + "ListTables", body: "{}", encoding: "garbage"}, 500, unpacked},
		{"two encodings", rawRequest{target: prefix + "ListTables", body: "{}", encoding: "gzip, gzip"}, 500, unpacked},
		{"the encoding identity", rawRequest{target: prefix + "ListTables", body: "{}", encoding: "identity"}, 200, `{"TableNames":[]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			response := send(t, server, c.raw)
			if response.status != c.status || !strings.Contains(response.body, c.want) {
				t.Errorf("got %d %.300s\nwant %d %s", response.status, response.body, c.status, c.want)
			}
		})
	}
	if response := send(t, server, rawRequest{target: prefix + "ListTables", body: "{}"}); response.body != `{"TableNames":[]}` {
		t.Errorf("afterwards: %v", response)
	}
}

func TestHTTP_ResponseHasContentTypeOfRequest(t *testing.T) {
	server := httptest.NewServer(openMemory(t))
	defer server.Close()
	for asked, want := range map[string]string{
		"application/x-amz-json-1.0": "application/x-amz-json-1.0", "application/json": "application/json", "application/json; charset=x": "application/json",
		"application/x-amz-json-1.0; charset=x": "application/x-amz-json-1.0",
	} {
		response := send(t, server, rawRequest{target: "DynamoDB_20120810.ListTables", body: "{}", contentType: asked})
		if got := response.header.Get("Content-Type"); response.status != http.StatusOK || got != want {
			t.Errorf("%s: got %d, %s; want %s", asked, response.status, got, want)
		}
	}
}

func TestBodiesOverTheLimitAreRefused(t *testing.T) {
	server := httptest.NewServer(openMemory(t))
	defer server.Close()
	large := `{"a":"` + strings.Repeat("x", 16<<20) + `"}`
	for name, raw := range map[string]rawRequest{
		"plain":    {target: prefix + "ListTables", body: large},
		"packed":   {target: prefix + "ListTables", body: gzipped(t, large), encoding: "gzip"},
		"deflated": {target: prefix + "ListTables", body: deflated(t, large), encoding: "deflate"},
	} {
		if response := send(t, server, raw); response.status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: got %d %s", name, response.status, response.body)
		}
	}
}

func TestResponsesHaveARequestIDAndAChecksum(t *testing.T) {
	server := httptest.NewServer(openMemory(t))
	defer server.Close()
	seen := map[string]bool{}
	for _, raw := range []rawRequest{
		{target: prefix + "ListTables", body: "{}"},
		{target: prefix + "DescribeTable", body: `{"TableName":"none"}`},
		{target: prefix + "Nothing", body: "{}"},
		{method: http.MethodGet},
	} {
		response := send(t, server, raw)
		id := response.header.Get("X-Amzn-Requestid")
		if len(id) != 52 || seen[id] {
			t.Errorf("%s: request ID %q", raw.target, id)
		}
		seen[id] = true
		if sum := strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(response.body))), 10); response.header.Get("X-Amz-Crc32") != sum {
			t.Errorf("%s: checksum %q, want %s", raw.target, response.header.Get("X-Amz-Crc32"), sum)
		}
		if raw.target != "" && response.header.Get("Content-Type") != "application/x-amz-json-1.0" {
			t.Errorf("%s: content type %q", raw.target, response.header.Get("Content-Type"))
		}
	}
}

func TestCompressedBodiesAreRead(t *testing.T) {
	server := httptest.NewServer(openMemory(t))
	defer server.Close()
	const head, tail = `{"TableName":`, `"none"}`
	for name, raw := range map[string]rawRequest{
		"gzip":          {body: gzipped(t, head+tail), encoding: "gzip"},
		"two parts":     {body: gzipped(t, head) + gzipped(t, tail), encoding: "gzip"},
		"another case":  {body: gzipped(t, head+tail), encoding: " GZip "},
		"deflate":       {body: deflated(t, head+tail), encoding: "deflate"},
		"an empty part": {body: gzipped(t, "") + gzipped(t, head+tail), encoding: "gzip"},
	} {
		raw.target = prefix + "DescribeTable"
		if response := send(t, server, raw); !strings.Contains(response.body, "Table: none not found") {
			t.Errorf("%s: got %d %s", name, response.status, response.body)
		}
	}
	for name, raw := range map[string]rawRequest{
		"gzip without its end":    {body: cutLast(gzipped(t, head+tail)), encoding: "gzip"},
		"deflate without its end": {body: cutLast(deflated(t, head+tail)), encoding: "deflate"},
		"gzip with more behind":   {body: gzipped(t, head+tail) + "junk", encoding: "gzip"},
	} {
		raw.target = prefix + "DescribeTable"
		if response := send(t, server, raw); response.status != http.StatusInternalServerError {
			t.Errorf("%s: got %d %s", name, response.status, response.body)
		}
	}
}

func cutLast(text string) string { return text[:len(text)-1] }

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	return compressed(t, &packed, writer, text)
}

func deflated(t *testing.T, text string) string {
	t.Helper()
	var packed bytes.Buffer
	writer := zlib.NewWriter(&packed)
	return compressed(t, &packed, writer, text)
}

func compressed(t *testing.T, packed *bytes.Buffer, writer io.WriteCloser, text string) string {
	t.Helper()
	if _, err := io.WriteString(writer, text); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

// FuzzRequests checks that no body causes an internal error or a response that is not JSON.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		`{"TableName":"t","Key":{"pk":{"S":"a"}}}`,
		`{"TableName":"fuzz","Item":{"pk":{"S":"a"},"n":{"N":"1e5"},"l":{"L":[{"M":{"x":{"NULL":true}}}]}}}`,
		`{"TableName":"fuzz","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}},"Limit":1}`,
		`{"TransactItems":[{"Put":{"TableName":"fuzz","Item":{"pk":{"S":"a"}}}}],"ClientRequestToken":"x"}`,
		`{"RequestItems":{"fuzz":{"Keys":[{"pk":{"S":"a"}}]}}}`,
		`{"RequestItems":{"fuzz":[{"PutRequest":{"Item":{"pk":{"S":"b"}}}}]}}`,
		`{"TableName":"fuzz","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET a = :v","ExpressionAttributeValues":{":v":{"BS":["YQ=="]}}}`,
		`{"Statement":"SELECT * FROM fuzz WHERE pk = ?","Parameters":[{"S":"a"}],"Limit":1}`,
		`{"Statements":[{"Statement":"INSERT INTO fuzz VALUE {'pk':'b','s':<<1,2>>}"}]}`,
	} {
		f.Add(seed)
	}
	operations := []string{
		"BatchGetItem", "BatchWriteItem", "CreateTable", "DeleteItem", "DescribeTable", "GetItem", "ListTables", "PutItem",
		"Query", "Scan", "BatchExecuteStatement", "ExecuteStatement", "ExecuteTransaction", "TransactGetItems", "TransactWriteItems", "UpdateItem", "UpdateTable", "UpdateTimeToLive",
	}
	f.Fuzz(func(t *testing.T, body string) {
		engine := openWith(t, strings.Replace(simpleTable, `"tab"`, `"fuzz"`, 1))
		for _, operation := range operations {
			if got := ask(t, engine, operation, body); strings.HasPrefix(got, "InternalServerError") {
				t.Errorf("%s: got %s", operation, got)
			}
		}
	})
}

// The checksums are from Dynalite's test suite, which has them from DynamoDB.
func TestHTTP_UnknownOperations(t *testing.T) {
	server := httptest.NewServer(openMemory(t))
	defer server.Close()
	for name, c := range map[string]struct {
		raw                           rawRequest
		status                        int
		contentType, checksum, answer string
	}{
		"an unknown operation": {
			rawRequest{target: prefix + "ListTable", body: "{}"}, 400,
			"application/x-amz-json-1.0", "1368724161", `{"__type":"com.amazon.coral.service#UnknownOperationException"}`,
		},
		"no operation": {
			rawRequest{body: "{}", contentType: "application/json", unsigned: true}, 400,
			"application/json", "1368724161", `{"__type":"com.amazon.coral.service#UnknownOperationException"}`,
		},
		"nothing at all": {
			rawRequest{contentType: "-", unsigned: true}, 400,
			"application/json", "1368724161", `{"__type":"com.amazon.coral.service#UnknownOperationException"}`,
		},
		"another content type": {
			rawRequest{target: prefix + "ListTables", body: "{}", contentType: "application/x-amz-json-1.1"}, 404,
			"", "3552371480", "<UnknownOperationException/>\n",
		},
		"another method": {rawRequest{method: http.MethodDelete}, 404, "", "3552371480", "<UnknownOperationException/>\n"},
	} {
		got := send(t, server, c.raw)
		if got.status != c.status || got.body != c.answer || got.header.Get("X-Amz-Crc32") != c.checksum ||
			got.header.Get("Content-Type") != c.contentType {
			t.Errorf("%s: got %d %q %v", name, got.status, got.body, got.header)
		}
	}
}
