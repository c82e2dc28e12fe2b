package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// overHTTP starts a server and returns a client with its own HTTP client for it. Its tests use real
// sockets.
func overHTTP(t *testing.T, handler http.HandlerFunc, change ...func(*dynamo.Options)) *dynamo.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return toAddress(t, server.URL, change...)
}

func toAddress(t *testing.T, address string, change ...func(*dynamo.Options)) *dynamo.Client {
	t.Helper()
	opts := options(nil, change...)
	opts.AWS.HTTPClient = nil
	opts.AWS.BaseEndpoint = aws.String(address)
	return newClient(t, opts)
}

func serveOK(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_, _ = w.Write([]byte(`{}`))
}

func TestServerThatBreaksTheConnectionLeavesTheWriteUnknown(t *testing.T) {
	var attempts atomic.Int32
	c := overHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
		attempts.Add(1)
		panic(http.ErrAbortHandler)
	})
	err := put(t, c)
	if !errors.Is(err, dynamo.ErrUnavailable) || !dynamo.MaybeApplied(err) || attempts.Load() != 4 {
		t.Errorf("%d attempts, error %v", attempts.Load(), err)
	}
}

func TestServerThatRefusesConnectionsGetsNoWrite(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(serveOK))
	address := server.URL
	server.Close()
	err := put(t, toAddress(t, address))
	if !errors.Is(err, dynamo.ErrUnavailable) || dynamo.MaybeApplied(err) {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error %q does not say why", err)
	}
}

func TestHostThatDoesNotExistGetsNoWrite(t *testing.T) {
	nowhere := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "nowhere.invalid", IsNotFound: true}}
	}
	c := toAddress(t, "http://nowhere.invalid", func(o *dynamo.Options) {
		o.HTTP.Transport = func(t *http.Transport) { t.DialContext = nowhere }
	})
	err := put(t, c)
	if !errors.Is(err, dynamo.ErrUnavailable) || dynamo.MaybeApplied(err) || !strings.Contains(err.Error(), "nowhere.invalid") {
		t.Errorf("error %v", err)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere.Add(1)
		serveOK(w, r)
	}))
	t.Cleanup(other.Close)
	c := overHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusFound)
	})
	if err := put(t, c); !errors.Is(err, dynamo.ErrUnavailable) || elsewhere.Load() != 0 {
		t.Errorf("%d requests went elsewhere, error %v", elsewhere.Load(), err)
	}
}

func TestConnectionsAreKeptForAllRequestsInFlight(t *testing.T) {
	const pool, rounds = 150, 3 // over any default
	var opened atomic.Int32
	var together sync.WaitGroup
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		together.Done()
		together.Wait() // until all requests of the round are in flight
		serveOK(w, r)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := toAddress(t, server.URL, func(o *dynamo.Options) { o.MaxInFlight = pool })
	for range rounds {
		together.Add(pool)
		var done sync.WaitGroup
		for range pool {
			done.Go(func() {
				if err := put(t, c); err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
	}
	if opened.Load() != pool {
		t.Errorf("%d connections for %d rounds of %d requests", opened.Load(), rounds, pool)
	}
}

func TestLargeRequestsAndResponsesUnderLoadBreakNoConnection(t *testing.T) {
	var failed atomic.Int32
	c := overHTTP(t, serveOK, func(o *dynamo.Options) {
		o.Retries, o.MaxInFlight = 0, 16
		o.Observe = func(_ context.Context, attempt dynamo.Attempt) {
			if attempt.Err != nil {
				failed.Add(1)
			}
		}
	})
	var done sync.WaitGroup
	for range 16 {
		done.Go(func() {
			for range 50 {
				if err := c.Put(t.Context(), &dynamo.Meter{}, dynamo.Put{Table: table, Item: big()}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	if failed.Load() != 0 {
		t.Errorf("%d attempts failed", failed.Load())
	}
}

func TestLocalAddressIsUsed(t *testing.T) {
	var from atomic.Value
	c := overHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		from.Store(r.RemoteAddr)
		serveOK(w, r)
	}, func(o *dynamo.Options) { o.HTTP.LocalAddress = "127.0.0.1" })
	if err := put(t, c); err != nil {
		t.Fatal(err)
	}
	if host, _, _ := net.SplitHostPort(from.Load().(string)); host != "127.0.0.1" {
		t.Errorf("it came from %v", from.Load())
	}
	opts := options(nil, func(o *dynamo.Options) { o.HTTP.LocalAddress = "no address" })
	opts.AWS.HTTPClient = nil
	if _, err := dynamo.New(opts); err == nil || !strings.Contains(err.Error(), "no address") {
		t.Errorf("error %v", err)
	}
}

func TestProxyIsUsed(t *testing.T) {
	var host atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host.Store(r.URL.Host)
		serveOK(w, r)
	}))
	t.Cleanup(proxy.Close)
	c := toAddress(t, "http://dynamodb.invalid", func(o *dynamo.Options) {
		o.HTTP.Transport = func(tr *http.Transport) {
			u, err := url.Parse(proxy.URL)
			if err != nil {
				t.Error(err)
			}
			tr.Proxy = http.ProxyURL(u)
		}
	})
	if err := put(t, c); err != nil || host.Load() != "dynamodb.invalid" {
		t.Errorf("the proxy was asked for %v, error %v", host.Load(), err)
	}
}

// The server sends the body at once and in pieces, with lengths close to the lengths at which the
// buffer grows. Connections are reused; net/http decides how many there are.
func TestResponses_InPieces(t *testing.T) {
	const frame = len(`{"Items":[{"par":{"S":""}}]}`)
	var opened, bySDK atomic.Int32
	var response string
	var pieces int
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Amz-Sdk-Invocation-Id") != "" {
			bySDK.Add(1)
		}
		w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte(response))))
		if pieces == 1 {
			w.Header().Set("Content-Length", strconv.Itoa(len(response)))
		}
		for piece := range slices.Chunk([]byte(response), len(response)/pieces+1) {
			_, _ = w.Write(piece)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := toAddress(t, server.URL)
	for _, pieces = range []int{1, 2, 7} {
		for _, length := range []int{frame, 64<<10 - 1, 64 << 10, 64<<10 + 1, 3 << 20} {
			response = `{"Items":[{"par":{"S":"` + strings.Repeat("x", length-frame) + `"}}]}`
			page, err := c.Query(t.Context(), &dynamo.Meter{}, &dynamodb.QueryInput{TableName: aws.String(table)})
			if err != nil || len(page.Items) != 1 {
				t.Fatalf("%d bytes in %d pieces: %d items, error %v", length, pieces, len(page.Items), err)
			}
			if par, ok := page.Items[0]["par"].(*types.AttributeValueMemberS); !ok || len(par.Value) != length-frame {
				t.Errorf("%d bytes in %d pieces: another item came", length, pieces)
			}
		}
	}
	if bySDK.Load() != 1 {
		t.Errorf("%d requests by the SDK, want the first", bySDK.Load())
	}
	if opened.Load() > 5 { // of 15
		t.Errorf("%d connections, want one or few", opened.Load())
	}
}

// The body is a success with the right checksum, and shorter than the Content-Length.
func TestResponseShorterThanItsContentLengthIsLost(t *testing.T) {
	var attempts atomic.Int32
	c := overHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte(`{}`))))
		if attempts.Add(1) > 1 {
			w.Header().Set("Content-Length", "3")
		}
		_, _ = w.Write([]byte(`{}`))
	}, func(o *dynamo.Options) { o.Retries = 0 })
	puts(t, c, 1)
	if err := put(t, c); !errors.Is(err, io.ErrUnexpectedEOF) || !dynamo.MaybeApplied(err) || attempts.Load() != 2 {
		t.Errorf("%d attempts, error %v", attempts.Load(), err)
	}
}
