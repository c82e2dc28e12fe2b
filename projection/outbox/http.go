package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal/projection/internal/engine"
)

// The headers of a request of HTTPTarget, in addition to headers of the message.
const (
	headerIdempotencyKey = "Idempotency-Key"
	headerPersistenceID  = "Outbox-Persistence-Id"
	headerSequenceNumber = "Outbox-Sequence-Number"
	headerTopic          = "Outbox-Topic"
)

const (
	defaultHTTPTimeout = 10 * time.Second
	// maxResponseBytes is the maximum number of response bytes that are read, so that the
	// connection can be reused.
	maxResponseBytes = 64 << 10
	// shownResponseBytes is the maximum number of response bytes in an error.
	shownResponseBytes = 200
)

// HTTPOptions are the options of [NewHTTPTarget]. The zero value has the defaults.
type HTTPOptions struct {
	// Client sends the requests. Its CheckRedirect and Timeout are not used: redirects are not
	// followed.
	//
	// Defaults to a client with http.DefaultTransport.
	Client *http.Client

	// Header is sent with each request, for example Authorization. It replaces message headers of
	// the same name. For credentials that change, give Client a transport that sets them.
	Header http.Header

	// Timeout limits the time of a request, including its response.
	//
	// Must not be negative. Defaults to 10 seconds.
	Timeout time.Duration
}

// HTTPTarget is a [Target] that posts messages to a URL. It is safe for concurrent use.
//
// A request has the headers and the body of the message, its ID as Idempotency-Key, and its
// persistence id, sequence number and topic as Outbox-Persistence-Id, Outbox-Sequence-Number and
// Outbox-Topic. Header values, except values of HTTPOptions.Header, are percent-encoded: percent
// signs, leading and trailing spaces, and all bytes but printable ASCII.
//
// A status of 2xx means that the message was received. A status of 4xx means that it was refused
// ([ErrRefused]), except 401, 407, 408, 421, 425 and 429. After these, any other status and any
// other failure the message is sent again. If such a response has Retry-After, nothing is sent to
// the URL for that time, at most 1 minute.
type HTTPTarget struct {
	url    string
	client http.Client
	header http.Header

	mu sync.Mutex
	// until is the time before which nothing is sent.
	until time.Time
}

// NewHTTPTarget returns a target that posts to a URL.
//
// Errors: a *dynajournal.ArgumentError for a wrong argument.
func NewHTTPTarget(to string, opts HTTPOptions) (*HTTPTarget, error) {
	parsed, err := url.Parse(to)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		// The URL may have a secret.
		return nil, engine.Argument("to", "", "it must be a URL of http or https with a host")
	}
	if opts.Timeout < 0 {
		return nil, engine.Argument("HTTPOptions.Timeout", opts.Timeout, "it must not be negative")
	}
	t := &HTTPTarget{url: to, header: opts.Header.Clone()}
	if opts.Client != nil {
		t.client = *opts.Client
	}
	t.client.Timeout = opts.Timeout
	if t.client.Timeout == 0 {
		t.client.Timeout = defaultHTTPTimeout
	}
	t.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return t, nil
}

// Send posts a message.
func (t *HTTPTarget) Send(ctx context.Context, m Message) error {
	if left := t.pause(); left > 0 {
		return fmt.Errorf("the target asks to wait for %v", left.Round(time.Millisecond))
	}
	request, err := t.request(ctx, m)
	if err != nil {
		return err
	}
	response, err := t.client.Do(request)
	if err != nil {
		if failed := new(url.Error); errors.As(err, &failed) {
			err = failed.Err // without the URL, which may have a secret
		}
		return fmt.Errorf("post: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // what matters is read
	return t.judge(response)
}

// request returns the request for a message.
func (t *HTTPTarget) request(ctx context.Context, m Message) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(m.Body))
	if err != nil {
		return nil, fmt.Errorf("post: %w", err)
	}
	for name, value := range m.Headers {
		request.Header.Set(name, headerValue(value))
	}
	for name, values := range t.header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	request.Header.Set(headerIdempotencyKey, m.ID)
	request.Header.Set(headerPersistenceID, headerValue(m.PersistenceID))
	request.Header.Set(headerSequenceNumber, strconv.FormatInt(m.SequenceNumber, 10))
	request.Header.Del(headerTopic)
	if m.Topic != "" {
		request.Header.Set(headerTopic, headerValue(m.Topic))
	}
	return request, nil
}

// judge converts a response to an error. It reads a bounded part of the body.
func (t *HTTPTarget) judge(response *http.Response) error {
	var body bytes.Buffer
	// Only the status counts, even if the body can't be read.
	_, _ = io.Copy(&body, io.LimitReader(response.Body, maxResponseBytes))
	status := response.StatusCode
	if status >= 200 && status < 300 {
		return nil
	}
	start := body.Bytes()[:min(body.Len(), shownResponseBytes)]
	switch status {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusMisdirectedRequest, http.StatusTooEarly, http.StatusTooManyRequests:
	default:
		if status >= 400 && status < 500 {
			return fmt.Errorf("%w: status %d: %q", ErrRefused, status, start)
		}
	}
	t.wait(retryAfter(response.Header.Get("Retry-After"), time.Now()))
	return fmt.Errorf("the target answers with status %d: %q", status, start)
}

// pause returns how long the target must not send.
func (t *HTTPTarget) pause() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Until(t.until)
}

// wait makes the target send nothing for a time.
func (t *HTTPTarget) wait(pause time.Duration) {
	if pause <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if until := time.Now().Add(pause); until.After(t.until) {
		t.until = until
	}
}

// maxRetryAfter bounds the pause that a target may ask for.
const maxRetryAfter = time.Minute

// retryAfter returns the pause that a Retry-After header asks for: a number of seconds, or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(min(date.Sub(now), maxRetryAfter), 0)
}

// headerValue encodes a text as the value of a header, so that url.PathUnescape decodes it. No text
// can end the header and start another one.
func headerValue(s string) string {
	var encoded strings.Builder
	for i := range len(s) {
		c := s[i]
		atEnd := c == ' ' && (i == 0 || i == len(s)-1)
		if c < ' ' || c > '~' || c == '%' || atEnd {
			_, _ = fmt.Fprintf(&encoded, "%%%02X", c) // it has no error
			continue
		}
		_ = encoded.WriteByte(c) // it has no error
	}
	return encoded.String()
}
