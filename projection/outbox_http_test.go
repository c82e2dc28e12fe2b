package projection_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/outbox"
)

// transport answers the requests of a client in memory.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answering returns a client that always gets the same response.
func answering(status int, header http.Header, body io.Reader) *http.Client {
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(body), Request: r}, nil
	})}
}

func httpTarget(t testing.TB, to string, opts outbox.HTTPOptions) *outbox.HTTPTarget {
	t.Helper()
	target, err := outbox.NewHTTPTarget(to, opts)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func TestHTTPTarget_Status(t *testing.T) {
	t.Parallel()
	const sent, refused, again = "sent", "refused", "again"
	for status := 200; status < 600; status++ {
		target := httpTarget(t, "http://x", outbox.HTTPOptions{Client: answering(status, nil, strings.NewReader("why"))})
		want := again
		switch status {
		case 401, 407, 408, 421, 425, 429:
		default:
			if status < 300 {
				want = sent
			} else if status >= 400 && status < 500 {
				want = refused
			}
		}
		err, got := target.Send(t.Context(), outbox.Message{}), again
		switch {
		case err == nil:
			got = sent
		case errors.Is(err, outbox.ErrRefused):
			got = refused
		}
		if got != want || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("status %d: \"why\"", status)) {
			t.Errorf("status %d: %v, want %s", status, err, want)
		}
	}
}

// Only a bounded part of a response is read.
func TestHTTPTarget_EndlessResponse(t *testing.T) {
	t.Parallel()
	var read atomic.Int64
	body := readFunc(func(p []byte) (int, error) {
		read.Add(int64(len(p)))
		return len(p), nil
	})
	for _, status := range []int{200, 400, 500} {
		target := httpTarget(t, "http://x", outbox.HTTPOptions{Client: answering(status, nil, body)})
		if err := target.Send(t.Context(), outbox.Message{}); err != nil && len(err.Error()) > 2000 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
	}
	if n := read.Load(); n > 3*128<<10 {
		t.Errorf("%d bytes were read", n)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var followed atomic.Int64
	client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host != "here" {
			followed.Add(1)
		}
		header := http.Header{"Location": {"http://elsewhere/"}}
		return &http.Response{StatusCode: http.StatusTemporaryRedirect, Header: header, Body: http.NoBody, Request: r}, nil
	})}
	target := httpTarget(t, "http://here", outbox.HTTPOptions{Client: client})
	err := target.Send(t.Context(), outbox.Message{Body: []byte("secret")})
	if err == nil || errors.Is(err, outbox.ErrRefused) || followed.Load() > 0 {
		t.Errorf("%v, and %d requests to the other host", err, followed.Load())
	}
}

// A target that asks to wait gets no request for that time, at most a minute.
func TestHTTPTarget_RetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		answer := http.Header{"Retry-After": {"20"}}
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			requests++
			return &http.Response{StatusCode: http.StatusTooManyRequests, Header: answer, Body: http.NoBody, Request: r}, nil
		})}
		target := httpTarget(t, "http://x", outbox.HTTPOptions{Client: client})
		send := func(what string, sent int) {
			t.Helper()
			err := target.Send(t.Context(), outbox.Message{})
			if err == nil || errors.Is(err, outbox.ErrRefused) || requests != sent {
				t.Errorf("%s: %v, after %d requests, not %d", what, err, requests, sent)
			}
		}
		send("the first", 1)
		send("the second", 1)
		time.Sleep(19 * time.Second)
		send("after 19 s", 1)
		answer.Set("Retry-After", "99999999999999999999999999")
		time.Sleep(time.Second)
		send("after 20 s", 2)
		time.Sleep(59 * time.Second)
		send("before a minute", 2)
		answer.Set("Retry-After", time.Now().Add(12*time.Second).UTC().Format(http.TimeFormat))
		time.Sleep(time.Second)
		send("after a minute", 3)
		time.Sleep(9 * time.Second)
		send("before the date", 3)
		answer.Set("Retry-After", "soon")
		time.Sleep(2 * time.Second)
		send("after the date", 4)
		send("after none that can be read", 5)
	})
}

// No text of a journal or of a message ends a header and starts another one.
func TestHTTPTarget_EncodesHeaders(t *testing.T) {
	t.Parallel()
	const hostile = "a\r\nAuthorization: b\x00\x7f 100% ü "
	var got http.Header
	client := &http.Client{Transport: &http.Transport{}}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer server.Close()
	defer client.CloseIdleConnections()
	target := httpTarget(t, server.URL, outbox.HTTPOptions{Client: client, Header: http.Header{"X-Key": {"k"}}})
	m := outbox.Message{
		ID: "id", PersistenceID: hostile, SequenceNumber: 7, Topic: hostile,
		Headers: map[string]string{
			"One": hostile, "X-Key": "forged", "Idempotency-Key": "forged", "Outbox-Persistence-Id": "forged",
			"Content-Type": "text/plain; charset=utf-8", "Content-Length": "3", "Host": "elsewhere",
		},
	}
	if err := target.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"One": hostile, "Outbox-Persistence-Id": hostile, "Outbox-Topic": hostile, "Outbox-Sequence-Number": "7",
		"Idempotency-Key": "id", "X-Key": "k", "Content-Type": "text/plain; charset=utf-8", "Authorization": "",
	} {
		if value, err := url.PathUnescape(got.Get(name)); value != want || err != nil || len(got.Values(name)) > 1 {
			t.Errorf("%s: %q, %v, want %q", name, got.Values(name), err, want)
		}
	}
}

// Neither an error nor the reason of a dead letter has the URL, which may have a secret.
func TestHTTPTarget_ErrorsWithoutURL(t *testing.T) {
	t.Parallel()
	client := &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) { return nil, errDown })}
	target := httpTarget(t, "http://user:secret@x/?key=secret", outbox.HTTPOptions{Client: client})
	err := target.Send(t.Context(), outbox.Message{})
	if !errors.Is(err, errDown) || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v", err)
	}
	_, err = outbox.NewHTTPTarget("http://%secret", outbox.HTTPOptions{})
	if !errors.Is(err, dynajournal.ErrInvalidArgument) || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v", err)
	}
}

func TestHTTPTarget_Timeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		started := time.Now()
		err := httpTarget(t, "http://x", outbox.HTTPOptions{Client: client}).Send(t.Context(), outbox.Message{})
		if took := time.Since(started); !errors.Is(err, context.DeadlineExceeded) || took != 10*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestHTTPTarget_InvalidURL(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"", "x", "/x", "ftp://x", "http://", "://", "http:x"} {
		_, err := outbox.NewHTTPTarget(to, outbox.HTTPOptions{})
		wantError(t, to, err, dynajournal.ErrInvalidArgument)
	}
	_, err := outbox.NewHTTPTarget("http://x", outbox.HTTPOptions{Timeout: -1})
	wantError(t, "a negative time-out", err, dynajournal.ErrInvalidArgument)
}

// receiver is a service that carries out a request with an idempotency key once, and loses
// responses.
type receiver struct {
	mu       sync.Mutex
	requests int
	done     map[string]bool
	bodies   []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if key := request.Header.Get("Idempotency-Key"); !r.done[key] {
		r.done[key] = true
		r.bodies = append(r.bodies, string(body))
	}
	if r.requests++; r.requests%3 != 0 {
		w.WriteHeader(http.StatusBadGateway)
	}
}

// A service that knows the idempotency keys carries out each message once, in order, although most
// responses are lost and two processes send.
func TestServiceDoesEachMessageOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a", "1", "2", "3", "4", "5", "6")
	r := &receiver{done: map[string]bool{}}
	server := httptest.NewServer(r)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for range 2 {
		target := httpTarget(t, server.URL, outbox.HTTPOptions{Client: client})
		defer start(t, group(t, b.Journal(), fast(), outbox.New("out", target, oneEach)))()
	}
	b.await("group/out", "a", 6)
	r.mu.Lock()
	defer r.mu.Unlock()
	want(t, "the service", r.bodies, "1", "2", "3", "4", "5", "6")
}
