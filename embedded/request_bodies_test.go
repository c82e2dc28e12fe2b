package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// servedEngine is the environment variable that makes the test program serve an engine in memory
// until its standard input ends. The program prints the URL.
const servedEngine = "EMBEDDED_SERVE"

func serveUntilInputEnds() error {
	engine, err := embedded.OpenMemory()
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(context.Background())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		end()
		return errors.Join(err, engine.Close())
	}
	fmt.Println("http://" + listener.Addr().String())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // an error also ends the input
		end()
	}()
	return errors.Join(engine.Serve(ctx, listener), engine.Close())
}

// serveElsewhere serves an engine in another process until the test ends, and returns its URL.
// Within one process, Go's scheduler makes races between a client and a server rare.
func serveElsewhere(t *testing.T) string {
	t.Helper()
	process := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	process.Env = append(os.Environ(), servedEngine+"=1")
	process.Stderr = os.Stderr
	input := must(process.StdinPipe())(t)
	output := must(process.StdoutPipe())(t)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(input.Close(), process.Wait()); err != nil {
			t.Error(err)
		}
	})
	return strings.TrimSpace(must(bufio.NewReader(output).ReadString('\n'))(t))
}

// countingClient returns a client of the SDK that sends requests to the URL with the transport, and
// a function that returns how many it has sent, repeated ones included.
func countingClient(url string, transport http.RoundTripper) (*dynamodb.Client, func() int64) {
	var attempts atomic.Int64
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(url), Region: embedded.Region,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
		}),
		HTTPClient: &http.Client{Transport: roundTripper(func(request *http.Request) (*http.Response, error) {
			attempts.Add(1)
			return transport.RoundTrip(request)
		})},
	}), attempts.Load
}

// putLarge puts an item that makes a response of more than 4 KB.
func putLarge(t *testing.T, client *dynamodb.Client) {
	t.Helper()
	createTable(t, client, "orders")
	must(client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("orders"), Item: attributes{
		"pk": text("a"), "sk": number("1"), "payload": text(strings.Repeat("p", 6<<10)),
	}}))(t)
}

// getLarge gets the item of putLarge.
func getLarge(ctx context.Context, client *dynamodb.Client) error {
	got, err := client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String("orders"), Key: attributes{"pk": text("a"), "sk": number("1")},
	})
	if err == nil && len(got.Item) != 3 {
		err = errors.New("the item is not whole")
	}
	return err
}

// Without Transport, one response in some hundreds is lost, and one connection in ten.
func TestTransport_LargeResponsesNeedOneAttempt(t *testing.T) {
	const callers = 2
	responses := int64(testsize.Of(1_500, 30_000))
	url := serveElsewhere(t)
	var connections atomic.Int64
	base := &http.Transport{
		MaxIdleConnsPerHost: callers,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			connections.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}
	t.Cleanup(base.CloseIdleConnections)
	client, attempts := countingClient(url, embedded.Transport(base))
	putLarge(t, client)
	before := attempts()
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range responses / callers {
				if err := getLarge(t.Context(), client); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if got := attempts() - before; got != responses {
		t.Errorf("%d responses needed %d attempts", responses, got)
	}
	// net/http also gives up a connection if the goroutine that writes to it does not run for 50
	// ms.
	if got := connections.Load(); got > callers+responses/200 {
		t.Errorf("%d responses needed %d connections", responses, got)
	}
}

// restReader is a transport that gets the response before it has tried to read the request's body
// beyond its length, as net/http sometimes does. It tries that when the SDK reads the response.
type restReader struct {
	response *http.Response
	restErr  error
}

// RoundTrip reads the announced bytes of the body, and returns the response.
func (r *restReader) RoundTrip(request *http.Request) (*http.Response, error) {
	if _, err := io.CopyN(io.Discard, request.Body, request.ContentLength); err != nil {
		return nil, err
	}
	body := r.response.Body
	r.response.Body = struct {
		io.Reader
		io.Closer
	}{readFunc(func(dst []byte) (int, error) {
		if r.restErr == nil {
			_, r.restErr = io.Copy(io.Discard, request.Body)
		}
		return body.Read(dst)
	}), body}
	return r.response, nil
}

// readFunc is a function as an io.Reader.
type readFunc func([]byte) (int, error)

// Read calls the function.
func (f readFunc) Read(dst []byte) (int, error) { return f(dst) }

// The SDK without Transport is also tested: if its body can be read after the response, Transport
// is no longer needed.
func TestTransport_BodyIsReadableAfterTheResponse(t *testing.T) {
	for name, c := range map[string]struct {
		wrap func(http.RoundTripper) http.RoundTripper
		want error
	}{
		"Transport": {embedded.Transport, nil},
		"bare SDK":  {func(base http.RoundTripper) http.RoundTripper { return base }, io.EOF},
	} {
		late := &restReader{response: &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"TableNames":[]}`)),
		}}
		client, _ := countingClient("http://localhost", c.wrap(late))
		if _, err := client.ListTables(t.Context(), &dynamodb.ListTablesInput{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !errors.Is(late.restErr, c.want) {
			t.Errorf("%s: reading the rest gives %v, want %v", name, late.restErr, c.want)
		}
	}
}

// body is the body of a request.
type body struct {
	io.Reader

	closed bool
}

// Close records that it was called.
func (b *body) Close() error {
	b.closed = true
	return nil
}

func TestTransportSendsBodiesAsAnnounced(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		source   io.Reader
		length   int64
		sent     string
		inMemory bool
		want     error
	}{
		"known length":   {strings.NewReader("abc"), 3, "abc", true, nil},
		"unknown length": {strings.NewReader("abc"), -1, "abc", false, nil},
		"too short":      {strings.NewReader("ab"), 3, "ab", true, nil}, // net/http refuses both
		"too long":       {strings.NewReader("abcde"), 3, "abcd", true, nil},
		"broken":         {io.MultiReader(strings.NewReader("ab"), readFunc(func([]byte) (int, error) { return 0, broken })), 3, "", false, broken},
	} {
		given := &body{Reader: c.source}
		request := must(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost", given))(t)
		request.ContentLength = c.length
		sent := ""
		_, err := embedded.Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
			if (r.Body != given) != c.inMemory || given.closed != c.inMemory {
				t.Errorf("%s: the body is in memory: %t, closed: %t", name, r.Body != given, given.closed)
			}
			all, err := io.ReadAll(r.Body)
			sent = string(all)
			return &http.Response{}, err
		})).RoundTrip(request) //nolint:bodyclose // there is none
		if !errors.Is(err, c.want) || sent != c.sent {
			t.Errorf("%s: sent %q, error %v", name, sent, err)
		}
		if err != nil && !given.closed {
			t.Errorf("%s: the body is not closed", name)
		}
		if request.Body != given {
			t.Errorf("%s: the caller's request has changed", name)
		}
	}
}
