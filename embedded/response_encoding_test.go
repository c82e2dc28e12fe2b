package embedded_test

import (
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/embedded"
)

// acceptedAnswer gets the item with a key, with an Accept-Encoding header, and returns the response
// as it was sent.
func acceptedAnswer(t *testing.T, transport http.RoundTripper, url, pk, accepted string) rawAnswer {
	t.Helper()
	body := `{"TableName":"tab","Key":{"pk":{"S":"` + pk + `"}}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Amz-Target", prefix+"GetItem")
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request")
	// With the header, net/http decompresses nothing itself.
	request.Header.Set("Accept-Encoding", accepted)
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return rawAnswer{status: response.StatusCode, header: response.Header, body: string(sent)}
}

// unpack returns the decompressed body of a response. It checks that the checksum is the checksum
// of the bytes sent.
func unpack(t *testing.T, answer rawAnswer) string {
	t.Helper()
	if sum := strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(answer.body))), 10); answer.header.Get("X-Amz-Crc32") != sum {
		t.Errorf("checksum %s, want %s", answer.header.Get("X-Amz-Crc32"), sum)
	}
	if length := strconv.Itoa(len(answer.body)); answer.header.Get("Content-Length") != length {
		t.Errorf("length %s, want %s", answer.header.Get("Content-Length"), length)
	}
	var reader io.Reader = strings.NewReader(answer.body)
	var err error
	switch answer.header.Get("Content-Encoding") {
	case "gzip":
		reader, err = gzip.NewReader(reader)
	case "deflate":
		reader, err = zlib.NewReader(reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// engineWithLarge returns an engine with an item "large", whose response has more than 4 KB, and an
// item "small", whose response has less.
func engineWithLarge(t *testing.T) (engine *embedded.Engine, large, small string) {
	t.Helper()
	engine = openWith(t, simpleTable)
	put := func(pk string, size int) string {
		data := strings.Repeat("x", size)
		ask(t, engine, "PutItem", `{"TableName":"tab","Item":{"d":{"S":"`+data+`"},"pk":{"S":"`+pk+`"}}}`)
		response := ask(t, engine, "GetItem", `{"TableName":"tab","Key":{"pk":{"S":"`+pk+`"}}}`)
		if !strings.Contains(response, data) {
			t.Fatalf("GetItem returns %.100s", response)
		}
		return response
	}
	return engine, put("large", 4096), put("small", 4000)
}

// sameJSON reports whether two texts are the same JSON. The attributes of an item have no order.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Fatalf("%v in %.100s", err, a)
	}
	return reflect.DeepEqual(x, y)
}

func TestLargeResponsesAreCompressedAsTheClientAccepts(t *testing.T) {
	engine, large, small := engineWithLarge(t)
	server := httptest.NewServer(engine)
	defer server.Close()
	for name, to := range map[string]struct {
		transport http.RoundTripper
		url       string
	}{"HTTP": {server.Client().Transport, server.URL}, "in process": {engine.Transport(), "http://engine"}} {
		for _, accepted := range []string{"gzip", "deflate", "identity"} {
			answer := acceptedAnswer(t, to.transport, to.url, "large", accepted)
			if text := unpack(t, answer); !sameJSON(t, text, large) {
				t.Errorf("%s, %s: got %.100s", name, accepted, text)
			}
			want := accepted
			if accepted == "identity" {
				want = ""
			}
			if got := answer.header.Get("Content-Encoding"); got != want || want != "" && 30*len(answer.body) > len(large) {
				t.Errorf("%s, %s: %d bytes with the encoding %q", name, accepted, len(answer.body), got)
			}
			answer = acceptedAnswer(t, to.transport, to.url, "small", accepted)
			if text, got := unpack(t, answer), answer.header.Get("Content-Encoding"); !sameJSON(t, text, small) || got != "" {
				t.Errorf("%s, %s: the small item with the encoding %q: %.100s", name, accepted, got, text)
			}
		}
	}
}

// The cases are from ScyllaDB's test suite for Alternator, which found them with DynamoDB.
func TestCompression_PreferredEncoding(t *testing.T) {
	engine, _, _ := engineWithLarge(t)
	for accepted, want := range map[string]string{
		"": "", "identity": "", "br": "", "zstd": "", "compress": "", "x-gzip": "",
		"gzip, deflate": "gzip", "br, identity, deflate, gzip": "deflate", "GZIP, identity": "gzip", "dog, gzip ,, cat": "gzip",
		"gzip;q=0.8, deflate;q=0.5": "gzip", "br, gzip;q=0, deflate; q = 0.5 , identity;q=0": "deflate",
		"*": "gzip", "*, deflate;q=0.5": "gzip", "*, deflate": "deflate", "*, identity": "gzip", "*, gzip;q=0.5": "deflate",
		"gzip ;q=0": "", "identity;q=0": "", "*;q=0": "", "*;q=0.5,identity": "gzip", "gzip;q=0.5,identity;q=0.8": "gzip",
		"br;q=0.8,identity;q=0.5,*;q=0": "",
		`"gzip"`:                        "", "gzip br": "", "gzip:q=1": "", "deflate;q=0.5, gzip;q=31": "gzip", "gzip;q=31,deflate;q=51": "gzip",
		"deflate;q=0.5, gzip;q=0.2": "deflate", "deflate;q=0.5, gzip;q=1;q=0.2": "gzip", "deflate;q=0.5,gzip;q=0.": "deflate",
		"deflate;q=0.5,gzip;q=0.x": "gzip", "deflate;q=0.5,gzip;q=0. x": "gzip", "deflate;q=-0.5,gzip;q=0.2": "gzip",
		"gzip;q= 0;q=1": "", "gzip;q =0;q=1": "gzip", "gzip; q=0;q=1": "", "gzip;nq=0;q=1": "", "gzip;q=0, gzip;q=1, gzip;q=0": "gzip",
		"br,identity;q=0.5,gzip;q=0.0001": "gzip", "gzip;q=nan, deflate": "gzip", "gzip;q=-inf": "",
	} {
		answer := acceptedAnswer(t, engine.Transport(), "http://engine", "large", accepted)
		if got := answer.header.Get("Content-Encoding"); got != want {
			t.Errorf("%q: got %q, want %q", accepted, got, want)
		}
	}
}

func TestCompression_ResponseThatDoesNotShrink(t *testing.T) {
	engine, large, _ := engineWithLarge(t)
	must(engine.Inject(embedded.Fault{Effect: embedded.EffectGarbage}))(t) // random bytes
	answer := acceptedAnswer(t, engine.Transport(), "http://engine", "large", "gzip")
	if got := answer.header.Get("Content-Encoding"); got != "" || len(answer.body) != len(large) {
		t.Errorf("a response of %d bytes has %d with the encoding %q", len(large), len(answer.body), got)
	}
}

func TestCompression_SDKReadsResponses(t *testing.T) {
	engine, _, _ := engineWithLarge(t)
	server := httptest.NewServer(engine)
	defer server.Close()
	overHTTP := engine.AWSConfig()
	overHTTP.HTTPClient, overHTTP.BaseEndpoint = nil, aws.String(server.URL)
	var running sync.WaitGroup
	for name, config := range map[string]aws.Config{"in process": engine.AWSConfig(), "HTTP": overHTTP} {
		client := dynamodb.NewFromConfig(config, func(o *dynamodb.Options) { o.EnableAcceptEncodingGzip = true })
		for range 8 {
			running.Go(func() {
				for range 10 {
					got, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{
						TableName: aws.String("tab"), Key: map[string]types.AttributeValue{"pk": text("large")},
					})
					if err != nil || len(got.Item["d"].(*types.AttributeValueMemberS).Value) != 4096 {
						t.Errorf("%s: %v, %v", name, got, err)
					}
				}
			})
		}
	}
	running.Wait()
}
