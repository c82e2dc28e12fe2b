package systemtest

import (
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal"
)

// sender forwards a request.
type sender func(*http.Request) (*http.Response, error)

// interceptor is an HTTP client that passes each request to respond.
type interceptor struct {
	inner   aws.HTTPClient
	respond func(*http.Request, sender) (*http.Response, error)
}

// RoundTrip passes the request to respond.
func (i interceptor) RoundTrip(r *http.Request) (*http.Response, error) {
	return i.respond(r, i.inner.Do)
}

func through(inner aws.HTTPClient, respond func(*http.Request, sender) (*http.Response, error)) aws.HTTPClient {
	return &http.Client{Transport: interceptor{inner, respond}}
}

// operation returns the name of a request's operation.
func operation(r *http.Request) string {
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return name
}

// quick configures few retries and short pauses.
func quick(c *dynajournal.Config) { c.Retries, c.BackoffCap = 2, time.Millisecond }

// relay is between a journal and its engine. on sends a request or responds itself.
type relay struct {
	inner aws.HTTPClient
	on    func(operation string, r *http.Request, send func() (*http.Response, error)) (*http.Response, error)
}

// Do passes a request to on.
func (c *relay) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return c.on(operation, r, func() (*http.Response, error) { return c.inner.Do(r) })
}

// relayed returns a configuration whose requests go through on.
func relayed(config dynajournal.Config, on func(operation string, r *http.Request, send func() (*http.Response, error)) (*http.Response, error)) dynajournal.Config {
	config.AWS.HTTPClient = &relay{config.AWS.HTTPClient, on}
	return config
}

// failure returns DynamoDB's response to a request that it refuses.
func failure(r *http.Request, code string) *http.Response {
	body := fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"as the test wants it"}`, code)
	return answerOf(r, http.StatusBadRequest, body)
}

// answerOf returns a response with a checksum, as DynamoDB sends it.
func answerOf(r *http.Request, status int, body string) *http.Response {
	sum := strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(body))), 10)
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Crc32": {sum}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}

// openDying opens a journal that fails like a process that dies after n further requests.
func openDying(t *testing.T, config dynajournal.Config, n int64) *dynajournal.Journal {
	t.Helper()
	var left atomic.Int64
	left.Store(math.MaxInt64)
	config.AWS.HTTPClient = through(config.AWS.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
		if left.Add(-1) < 0 {
			return nil, errDead
		}
		return send(r)
	})
	quick(&config)
	j := openJournal(t, config)
	left.Store(n)
	return j
}
