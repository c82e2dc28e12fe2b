package systemtest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
)

// answers are responses of an endpoint that is not DynamoDB, or that is broken. reads is the
// expected error of reads, written the expected error of an append.
var answers = map[string]struct {
	answer         func(http.ResponseWriter, *http.Request)
	reads, written error
}{
	"hangs": {func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server misses a closed connection
		<-r.Context().Done()
	}, dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown},
	"closes the connection": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown},
	"answers garbage": {answer(http.StatusOK, "application/x-amz-json-1.0", "\x00garbage"), dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown},
	"answers half":    {answer(http.StatusOK, "application/x-amz-json-1.0", `{"Items":[{"par":{"S"`), dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown},
	"answers an array": {
		answer(http.StatusOK, "application/x-amz-json-1.0", `[1,2]`), dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown,
	},
	"answers a wrong checksum": {func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Amz-Crc32", "1")
		answer(http.StatusOK, "application/x-amz-json-1.0", `{"Table":{},"Count":0,"Responses":{"pekko-persistence":[]}}`)(w, r)
	}, dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown},
	"answers HTML":            {answer(http.StatusOK, "text/html", "<html>welcome</html>"), dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown},
	"answers an empty object": {answer(http.StatusOK, "application/x-amz-json-1.0", `{}`), dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown},
	"answers nothing":         {answer(http.StatusOK, "application/x-amz-json-1.0", ``), dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown},
	"answers for itself": {
		answer(http.StatusBadRequest, "application/json", `{"error":"bad request"}`), dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown,
	},
	"answers not found without a body": {
		answer(http.StatusNotFound, "text/plain", ""), dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown,
	},
	"answers HTML with an error": {answer(http.StatusBadGateway, "text/html", "<html>bad gateway</html>"), dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown},
	"answers HTML with not found": {
		answer(http.StatusNotFound, "text/html", "<html>not found</html>"), dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown,
	},
	"redirects": {func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://example.invalid/", http.StatusFound)
	},
		dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown},
	"answers an internal error": {dynamoAnswer(http.StatusInternalServerError, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}`),
		dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown},
	"throttles": {dynamoAnswer(http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}`),
		dynajournal.ErrThrottled, dynajournal.ErrThrottled},
	"denies": {dynamoAnswer(http.StatusBadRequest, `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"not you"}`),
		dynajournal.ErrDenied, dynajournal.ErrDenied},
	"answers an unknown error": {dynamoAnswer(http.StatusBadRequest, `{"__type":"StrangeException","message":"?"}`),
		dynajournal.ErrUnavailable, dynajournal.ErrOutcomeUnknown},
}

// dynamoAnswer responds like DynamoDB, with a checksum.
func dynamoAnswer(status int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(body))), 10))
		answer(status, "application/x-amz-json-1.0", body)(w, r)
	}
}

func answer(status int, contentType, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestEndpointFails uses an endpoint that fails, at the start and in the middle. Each operation
// must report it, and nothing may be half done when the endpoint works again.
func TestEndpointFails(t *testing.T) {
	t.Parallel()
	for name, c := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := openEngine(t)
			var fails atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if fails.Load() {
					c.answer(w, r)
					return
				}
				engine.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			config := overHTTP(engine, server.URL)
			quick(&config)
			switch name { // the only cases that need time
			case "hangs":
				config.Retries, config.AttemptTimeout = -1, time.Second
			case "throttles":
				config.OperationTimeout, config.BackoffCap = time.Second, 100*time.Millisecond
			}
			createTables(t, dynajournal.Config{AWS: engine.AWSConfig()}, kinds["native"])
			j := openJournal(t, config)
			w := written(t, j, "a", 2)

			fails.Store(true)
			var asking sync.WaitGroup // concurrently, because some of them wait
			asking.Go(func() { wantError(t, "Open", openAndClose(t, config), c.reads) })
			asking.Go(func() {
				_, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, noHandler)
				wantError(t, "Recover", err, c.reads)
			})
			asking.Go(func() { wantError(t, "Events", readError(t.Context(), j, "a", dynajournal.Range{}), c.reads) })
			asking.Go(func() {
				_, err := j.Bounds(t.Context(), "a")
				wantError(t, "Bounds", err, c.reads)
			})
			asking.Wait()
			_, err := w.DeleteTo(t.Context(), 1)
			wantError(t, "DeleteTo", err, c.reads)
			_, err = w.Append(t.Context(), "event")
			wantError(t, "Append", err, c.written)

			fails.Store(false)
			unknown := errors.Is(c.written, dynajournal.ErrOutcomeUnknown)
			result, err := w.Append(t.Context(), "event")
			switch {
			case unknown:
				wantError(t, "Append after an unknown outcome", err, dynajournal.ErrWriterEnded)
			case err != nil || result.First != 3:
				t.Errorf("a writer of which nothing was written: %+v, %v; want 3", result, err)
			}
			want := map[bool]string{true: "1-2", false: "1-3"}[unknown]
			if got := numbersText(numbersOf(readEvents(t, j, "a", dynajournal.Range{}))); got != want {
				t.Errorf("afterwards the events are %q, want %q", got, want)
			}
			if _, err := recovered(t, j, "a").Append(t.Context(), "event"); err != nil {
				t.Errorf("Append of a new writer: %v", err)
			}
		})
	}
}

// openAndClose returns the error of Open. It converts a panic to an error.
func openAndClose(t *testing.T, config dynajournal.Config) (err error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("Open panics: %v", p)
		}
	}()
	j, err := dynajournal.Open(t.Context(), config)
	if err == nil {
		err = j.Close()
	}
	return err
}

func overHTTP(engine *embedded.Engine, url string) dynajournal.Config {
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	config.AWS.HTTPClient, config.AWS.BaseEndpoint = nil, &url
	return config
}

// TestEndpointAnswersNothing uses an endpoint that responds to each request with an empty object.
// Open must not accept that as a table.
func TestEndpointAnswersNothing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(answer(http.StatusOK, "application/x-amz-json-1.0", "{}")))
	t.Cleanup(server.Close)
	config := overHTTP(openEngine(t), server.URL)
	quick(&config)
	if err := openAndClose(t, config); err == nil || strings.Contains(err.Error(), "panics") {
		t.Errorf("Open: %v, want an error", err)
	}
}

// TestEndpointRefuses uses an endpoint without a listener.
func TestEndpointRefuses(t *testing.T) {
	t.Parallel()
	var listening net.ListenConfig
	listener, err := listening.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	config := overHTTP(openEngine(t), "http://"+address)
	quick(&config)
	_, err = dynajournal.Open(t.Context(), config)
	wantError(t, "Open", err, dynajournal.ErrUnavailable)
	if err != nil && !strings.Contains(err.Error(), address) {
		t.Errorf("the error %v does not name the address", err)
	}
	wantError(t, "CreateTables", dynajournal.CreateTables(t.Context(), config, kinds["native"]), dynajournal.ErrUnavailable)
}

// TestConnectionRefusedInTheMiddle refuses the connections of an append. Nothing was sent, so the
// writer stays usable.
func TestConnectionRefusedInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, events := range [][]any{{"one"}, {"one", "two", "three"}} {
		t.Run(fmt.Sprintf("%d events", len(events)), func(t *testing.T) {
			t.Parallel()
			aside := openEngine(t).AWSConfig()
			config := dynajournal.Config{AWS: aside}
			quick(&config)
			createTables(t, config, kinds["native"])
			var refuses atomic.Bool
			config.AWS.HTTPClient = through(aside.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
				if refuses.Load() {
					return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
				}
				return send(r)
			})
			w := recovered(t, openJournal(t, config), "a")
			refuses.Store(true)
			_, err := w.Append(t.Context(), events...)
			wantError(t, "Append", err, dynajournal.ErrUnavailable)
			if errors.Is(err, dynajournal.ErrOutcomeUnknown) {
				t.Errorf("nothing was sent, but the outcome is said to be unknown: %v", err)
			}
			refuses.Store(false)
			if result, err := w.Append(t.Context(), events...); err != nil || result.First != 1 {
				t.Errorf("the writer afterwards: %+v, %v; want it from 1 on", result, err)
			}
		})
	}
}

// triesOfEach counts the attempts of each request separately. With a common counter, one of several
// concurrent requests could fail again and again.
func triesOfEach(tb testing.TB) func(*http.Request) int {
	tb.Helper()
	var mu sync.Mutex
	tries := map[string]int{}
	return func(r *http.Request) int {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			tb.Errorf("read a request: %v", err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		// the SDK writes attributes in a different order each time
		same := string(slices.Sorted(slices.Values(body)))
		mu.Lock()
		defer mu.Unlock()
		tries[same]++
		return tries[same]
	}
}

// TestAnswerLost loses responses after the request was done. The writer's own event must not count
// as a conflict.
func TestAnswerLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*http.Response) (*http.Response, error){
		"the connection breaks": func(r *http.Response) (*http.Response, error) {
			return nil, errors.Join(io.ErrUnexpectedEOF, r.Body.Close())
		},
		"the answer is HTML": func(r *http.Response) (*http.Response, error) {
			err := r.Body.Close()
			r.Header, r.Body = http.Header{"Content-Type": {"text/html"}}, io.NopCloser(strings.NewReader("<html>"))
			return r, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			aside := openEngine(t).AWSConfig()
			config := dynajournal.Config{AWS: aside}
			createTables(t, config, kinds["native"])
			tries := triesOfEach(t)
			config.AWS.HTTPClient = through(aside.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
				lost := tries(r)%2 == 1 // every second attempt succeeds
				response, err := send(r)
				if err == nil && lost {
					return lose(response)
				}
				return response, err
			})
			j := openJournal(t, config)
			w := written(t, j, "a", 98)
			for range 2 {
				if _, err := w.Append(t.Context(), "one", "two", "three"); err != nil {
					t.Fatalf("Append: %v", err)
				}
			}
			if _, err := w.DeleteTo(t.Context(), 99); err != nil {
				t.Fatalf("DeleteTo: %v", err)
			}
			if got := numbersText(numbersOf(readEvents(t, j, "a", dynajournal.Range{}))); got != "100-104" {
				t.Errorf("the events are %q, want 100-104", got)
			}
		})
	}
}

// TestHighMarkFails loses the high mark of a write at a boundary. The write must not be
// acknowledged. The next recovery finds it and writes the mark.
func TestHighMarkFails(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]any{"a single event": {"one"}, "an atomic write": {"one", "two", "three"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			aside := openEngine(t).AWSConfig()
			config := dynajournal.Config{AWS: aside}
			quick(&config)
			createTables(t, config, kinds["native"])
			var fails atomic.Bool
			config.AWS.HTTPClient = through(aside.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				if fails.Load() && operation(r) == "PutItem" && bytes.Contains(body, []byte("journal-SH-")) {
					return nil, io.ErrUnexpectedEOF
				}
				return send(r)
			})
			j := openJournal(t, config)
			w := written(t, j, "a", 99)
			fails.Store(true)
			_, err := w.Append(t.Context(), events...)
			wantError(t, "Append", err, dynajournal.ErrOutcomeUnknown)
			fails.Store(false)
			w = recovered(t, j, "a")
			last := int64(99 + len(events))
			if next, err := w.NextSequenceNumber(t.Context()); err != nil || next != last+1 {
				t.Errorf("the next writer continues at %d (%v), want %d", next, err, last+1)
			}
			listing, err := j.List(t.Context(), "a")
			if err != nil || numbersText(listing.HighMarks) != "100" || numbersText(listing.SequenceNumbers) != fmt.Sprintf("1-%d", last) {
				t.Errorf("afterwards there are %+v, %v; want the high mark 100 and events to %d", listing, err, last)
			}
		})
	}
}
