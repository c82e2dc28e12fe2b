package embedded

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

const plainRequest = "POST / HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nX-Amz-Target: DynamoDB_20120810.GetItem\r\n" +
	"Authorization: AWS4-HMAC-SHA256 Credential=a\r\nContent-Type: application/x-amz-json-1.0\r\n" +
	"Accept-Encoding: gzip\r\nUser-Agent: aws-sdk-go-v2/1.47 ua/2.1 os/linux\r\nContent-Length: 2\r\n\r\n"

// notPlain are changes of a plain request that net/http has to decide about.
var notPlain = map[string][2]string{
	"another method":             {"POST", "PUT"},
	"another path":               {"POST /", "POST /?X-Amz-Algorithm=a"},
	"another version":            {"HTTP/1.1", "HTTP/1.0"},
	"no host":                    {"Host: 127.0.0.1:8000\r\n", ""},
	"an empty host":              {"127.0.0.1:8000", ""},
	"a host with a space":        {"127.0.0.1:8000", "a b"},
	"two hosts":                  {"Host:", "Host: a\r\nHost:"},
	"no target":                  {"X-Amz-Target", "X-Amz-Aim"},
	"no signature":               {"Authorization", "Authorisation"},
	"another kind of signature":  {"AWS4-", "Bearer "},
	"two signatures":             {"Authorization:", "Authorization: AWS4-\r\nAuthorization:"},
	"no length":                  {"Content-Length: 2\r\n", ""},
	"two lengths":                {"Content-Length: 2", "Content-Length: 2\r\nContent-Length: 2"},
	"a length with a sign":       {"Content-Length: 2", "Content-Length: +2"},
	"a large body":               {"Content-Length: 2", "Content-Length: 32769"},
	"chunks":                     {"Accept-Encoding: gzip", "Transfer-Encoding: chunked"},
	"an encoded body":            {"Accept-Encoding", "Content-Encoding"},
	"a wait for 100 Continue":    {"Accept-Encoding: gzip", "Expect: 100-continue"},
	"another protocol":           {"Accept-Encoding: gzip", "Upgrade: h2c"},
	"a connection that ends":     {"Accept-Encoding: gzip", "Connection: close"},
	"a page in a browser":        {"Accept-Encoding: gzip", "Origin: http://a.example"},
	"another site":               {"Accept-Encoding: gzip", "Sec-Fetch-Site: cross-site"},
	"a line without a colon":     {"Accept-Encoding: gzip", "gzip"},
	"a name with a space":        {"Accept-Encoding:", "Accept-Encoding :"},
	"a line that goes on":        {"Accept-Encoding: gzip", "Accept-Encoding: gzip\r\n , deflate"},
	"an invalid byte in a value": {"gzip", "gzip\x00"},
	"a line end without return":  {"gzip\r\n", "gzip\n"},
	"a head that is cut":         {"\r\n\r\n", "\r\n"},
}

func TestOnlyTheHeadsOfPlainRequestsArePlain(t *testing.T) {
	var h plainHead
	if size, plain := h.parse([]byte(plainRequest + "{}")); !plain || size != len(plainRequest) {
		t.Fatalf("the head has %d bytes and is plain: %v, want %d bytes", size, plain, len(plainRequest))
	}
	for name, change := range notPlain {
		changed := strings.Replace(plainRequest, change[0], change[1], 1)
		if changed == plainRequest {
			t.Errorf("%s: nothing has changed", name)
		}
		if _, plain := h.parse([]byte(changed)); plain {
			t.Errorf("%s: it is taken for plain", name)
		}
	}
	for name, change := range map[string][2]string{
		"names in lower case":       {"Content-Length", "content-length"},
		"a connection that goes on": {"Accept-Encoding: gzip", "Connection: keep-alive"},
		"a long name":               {"Accept-Encoding", strings.Repeat("accept-encoding", 20)},
	} {
		if _, plain := h.parse([]byte(strings.Replace(plainRequest, change[0], change[1], 1))); !plain {
			t.Errorf("%s: it is not taken for plain", name)
		}
	}
}

func TestTheValuesOfAHeadAreNotThoseOfTheOneBefore(t *testing.T) {
	var h plainHead
	h.parse([]byte(plainRequest))
	without := strings.NewReplacer("Accept-Encoding: gzip\r\n", "", "Content-Type", "Content-Kind").Replace(plainRequest)
	if _, plain := h.parse([]byte(without)); !plain {
		t.Fatal("it is not plain")
	}
	if got := h.request(); got.accepted != "" || got.kind != "" || got.target != targetPrefix+"GetItem" {
		t.Errorf("the head is %+v", got)
	}
}

// FuzzPlainHead holds what is taken for plain to what net/http reads.
func FuzzPlainHead(f *testing.F) {
	f.Add([]byte(plainRequest))
	for _, change := range notPlain {
		f.Add([]byte(strings.Replace(plainRequest, change[0], change[1], 1)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var h plainHead
		size, plain := h.parse(data)
		if !plain {
			return
		}
		if size > len(data) || h.length > smallBody {
			t.Fatalf("the head has %d of %d bytes, the body %d", size, len(data), h.length)
		}
		reader := bufio.NewReader(io.MultiReader(bytes.NewReader(data[:size]), strings.NewReader(strings.Repeat(" ", h.length))))
		request, err := http.ReadRequest(reader)
		if err != nil {
			t.Fatalf("net/http returns %v", err)
		}
		body, err := io.ReadAll(request.Body)
		if err != nil || len(body) != h.length || reader.Buffered() > 0 {
			t.Fatalf("net/http reads a body of %d bytes, want %d: %v", len(body), h.length, err)
		}
		if got, want := h.request(), headOf(request); got != want {
			t.Fatalf("the head is %+v, net/http's %+v", got, want)
		}
		for _, name := range []string{"Content-Encoding", "Expect", "Origin", "Upgrade"} {
			if request.Header.Get(name) != "" {
				t.Fatalf("it has %s", name)
			}
		}
		if request.Close || request.Method != http.MethodPost || request.RequestURI != "/" {
			t.Fatalf("it is %s %s", request.Method, request.RequestURI)
		}
	})
}
