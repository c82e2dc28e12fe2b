package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// request returns a request with a body, and with an additional header line if there is one.
func request(operation, body, line string) string {
	if line != "" {
		line += "\r\n"
	}
	return strings.Replace(strings.Replace(head(len(body)), "ListTables", operation, 1), "Content-Length", line+"Content-Length", 1) + body
}

// notPlainLine makes a request not plain, and changes nothing else.
const notPlainLine = "X_Not: plain"

// response reads a response: its status, its headers without those that differ from request to
// request, and its body.
func (c *client) response() string {
	c.t.Helper()
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		c.t.Fatal(err)
	}
	if id := response.Header.Get("X-Amzn-Requestid"); len(id) != 52 {
		c.t.Errorf("the request id is %q", id)
	}
	response.Header.Del("X-Amzn-Requestid")
	return fmt.Sprintf("%s %v %v %s", response.Status, response.Header, response.Close, body)
}

func TestAPlainRequestGetsTheSameResponseAsOthers(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *pipes, _ func() error) {
		plain, other := p.connect(t), p.connect(t)
		const table = `{"TableName":"orders","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],` +
			`"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}]}`
		const key = `{"TableName":"orders","Key":{"pk":{"S":"a"}}}`
		large := `{"pk":{"S":"a"},"text":{"S":"` + strings.Repeat("x", 6<<10) + `"}}`
		for _, sent := range []struct{ operation, body, line string }{
			{"CreateTable", table, ""},
			{"ListTables", "{}", ""},
			{"GetItem", key, ""},
			{"GetItem", `{"TableName":"none","Key":{"pk":{"S":"a"}}}`, ""},
			{"GetItem", key, "Accept-Encoding: gzip"},
			{"GetItem", `{`, ""},
			{"GetItem", "", ""},
			{"None", "{}", ""},
			{"PutItem", `{"TableName":"orders","Item":` + large + `}`, ""},
			{"GetItem", key, "Accept-Encoding: gzip"},
			{"GetItem", key, "Accept-Encoding: deflate"},
			{"GetItem", key, ""},
		} {
			plain.write(request(sent.operation, sent.body, sent.line))
			got := plain.response()
			if sent.operation == "CreateTable" {
				continue
			}
			other.write(request(sent.operation, sent.body, strings.TrimPrefix(sent.line+"\r\n"+notPlainLine, "\r\n")))
			if want := other.response(); got != want {
				t.Errorf("%s %.60s %s:\n%.600s\nwant\n%.600s", sent.operation, sent.body, sent.line, got, want)
			}
		}
	})
}

func TestABodyMayArriveInPieces(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *pipes, _ func() error) {
		c := p.connect(t)
		for _, size := range []int{10, 1 << 10, 20 << 10, smallBody} {
			sent := head(size) + text(size)
			for piece := range slices.Chunk([]byte(sent), 5<<10) {
				c.write(string(piece))
				time.Sleep(time.Second)
			}
			c.expect(http.StatusOK)
		}
	})
}

func TestASmallBodyMustArriveInTime(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *pipes, _ func() error) {
		start, c := time.Now(), p.connect(t)
		c.write(head(1<<10) + "{")
		c.expect(http.StatusRequestTimeout)
		c.expectEnd()
		if took := time.Since(start); took < 20*time.Second || took > 21*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAConnectionWithoutARequestIsClosed(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *pipes, _ func() error) {
		start, c, silent := time.Now(), p.connect(t), p.connect(t)
		silent.expectEnd()
		expectTook(t, start, 10*time.Second)
		c.expectEnd()
		used := p.connect(t)
		used.write(head(2) + "{}")
		used.expect(http.StatusOK)
		start = time.Now()
		used.expectEnd()
		if took := time.Since(start); took < 5*time.Minute-deadlineSlack || took > 5*time.Minute {
			t.Errorf("an idle connection was closed after %s", took)
		}
	})
}

// TestRequestsThatAreSentTogetherAreAllServed sends plain requests and others without waiting for
// their responses.
func TestRequestsThatAreSentTogetherAreAllServed(t *testing.T) {
	bubble(t, nil, func(t *testing.T, p *pipes, _ func() error) {
		c := p.connect(t)
		all := strings.Repeat(head(2)+"{}", 3) + request("ListTables", "{}", notPlainLine) + head(2) + "{}"
		go c.write(all)
		for range 5 {
			c.expect(http.StatusOK)
		}
	})
}

func TestAFaultHitsTheNextRequestOfAConnection(t *testing.T) {
	engine, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- engine.Serve(ctx, listener) }()
	for effect, want := range map[Effect]int{EffectUnavailable: http.StatusServiceUnavailable, EffectReset: 0, EffectTruncated: 0} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c := &client{Conn: conn, t: t, reader: bufio.NewReader(conn)}
		c.write(head(2) + "{}")
		c.expect(http.StatusOK)
		remove, err := engine.Inject(Fault{Effect: effect})
		if err != nil {
			t.Fatal(err)
		}
		c.write(head(2) + "{}")
		if got, err := c.status(); got != want && (err == nil || want != 0) {
			t.Errorf("%s: got %d, %v, want %d", effect, got, err, want)
		}
		remove()
		_ = conn.Close() // it is over
	}
	end()
	if err := errors.Join(<-served, engine.Close()); err != nil {
		t.Error(err)
	}
}
