package network

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const message = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"

// echo answers each message with the same message, until the connection is closed.
func echo(service net.Conn) {
	r := bufio.NewReader(service)
	for {
		m, err := readMessage(r, nil, func() {})
		if err != nil {
			return
		}
		_, _ = service.Write(m)
	}
}

// carried starts a proxy between the returned connection and an echo. It must be called in a
// synctest bubble.
func carried(t *testing.T, o Options) net.Conn {
	t.Helper()
	p := &Proxy{options: o, source: newSource(o.Seed)}
	near, client := net.Pipe()
	service, far := net.Pipe()
	go echo(far)
	go func() {
		p.carry(t.Context(), client, service)
		_, _ = client.Close(), service.Close()
	}()
	t.Cleanup(func() { _ = near.Close() })
	return near
}

// exchange sends a message, and returns the time until the answer.
func exchange(connection net.Conn) (time.Duration, error) {
	start := time.Now()
	if _, err := connection.Write([]byte(message)); err != nil {
		return 0, err
	}
	answer := make([]byte, len(message))
	_, err := io.ReadFull(connection, answer)
	if err == nil && string(answer) != message {
		err = errors.New("another answer: " + string(answer))
	}
	return time.Since(start), err
}

func TestDelay_Distribution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 20_000
		connection := carried(t, Options{Delay: Delay{P50: 4 * time.Millisecond, P99: 20 * time.Millisecond}})
		times := make([]time.Duration, n)
		for i := range times {
			var err error
			if times[i], err = exchange(connection); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(times)
		for p, want := range map[float64]time.Duration{0.5: 4 * time.Millisecond, 0.99: 20 * time.Millisecond} {
			if got := times[int(p*n)]; math.Abs(float64(got-want)) > 0.06*float64(want) {
				t.Errorf("quantile %g is %v, want %v", p, got, want)
			}
		}
	})
}

func TestCarry_ClosesBetweenRequests(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"requests": {ConnectionRequests: 40, Delay: Delay{time.Second, time.Second}},
		"age":      {ConnectionAge: 40 * time.Second, Delay: Delay{time.Second, time.Second}},
	} {
		synctest.Test(t, func(t *testing.T) {
			for seed := range uint64(20) {
				o.Seed = seed
				connection := carried(t, o)
				done := 0
				for {
					_, err := exchange(connection)
					if err != nil {
						break
					}
					done++
				}
				// If a connection were closed during a request, the request would fail, because the
				// pipe is closed immediately.
				if done < 20 || done > 61 {
					t.Errorf("%s, seed %d: closed after %d requests", name, seed, done)
				}
			}
		})
	}
}

func TestCarry_RequestLastsPastAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		connection := carried(t, Options{ConnectionAge: time.Second})
		if _, err := connection.Write([]byte(message[:10])); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // in the bubble
		if _, err := connection.Write([]byte(message[10:])); err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, len(message))
		if _, err := io.ReadFull(connection, answer); err != nil {
			t.Fatalf("the request was not answered: %v", err)
		}
		if _, err := connection.Read(answer); !errors.Is(err, io.EOF) {
			t.Errorf("the connection is open after its age: %v", err)
		}
	})
}

func TestListen_ClientsMustTrustAuthority(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	defer service.Close()
	p, err := Listen(Options{Target: service.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(p.Authority())
	post := func(roots *x509.CertPool) (string, error) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
		defer transport.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL(), strings.NewReader("abc"))
		if err != nil {
			return "", err
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			return "", err
		}
		body, err := io.ReadAll(response.Body)
		return string(body), errors.Join(err, response.Body.Close())
	}
	if body, err := post(trusted); err != nil || body != "abc" {
		t.Errorf("%q, %v", body, err)
	}
	if _, err := post(x509.NewCertPool()); err == nil {
		t.Error("a client that does not trust the authority was served")
	}
	if got, want := p.Counts(), (Counts{Connections: 2, Handshakes: 1, Requests: 1}); got.Requests != want.Requests ||
		got.Connections != want.Connections {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

func TestListen_RefusesInvalidDelay(t *testing.T) {
	t.Parallel()
	for _, d := range []Delay{{P50: 2, P99: 1}, {P99: 1}, {P50: -1, P99: 1}, {P50: 1, P99: 2 * maxDelay}} {
		if _, err := Listen(Options{Delay: d}); !errors.Is(err, ErrInvalidDelay) {
			t.Errorf("%+v: %v", d, err)
		}
	}
}

func FuzzReadMessage(f *testing.F) {
	for _, m := range []string{message, "", "\n", "a", "GET / HTTP/1.1\r\n\r\n", "a:\r\nContent-Length: 99999999999\r\n\r\n",
		"x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "x\r\nContent-Length: 33554432\r\n\r\n"} {
		f.Add([]byte(m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := readMessage(bufio.NewReader(bytes.NewReader(b)), nil, func() {})
		if err == nil && !bytes.HasPrefix(b, got) {
			t.Errorf("%q is no beginning of %q", got, b)
		}
	})
}
