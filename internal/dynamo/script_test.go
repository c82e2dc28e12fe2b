package dynamo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

func TestMain(m *testing.M) {
	testsize.RelaxCollector()
	goleak.VerifyTestMain(m)
}

const table = "events"

// step responds to one attempt.
type step func(r *http.Request) (*http.Response, error)

// Do makes a step usable as an HTTP client that gives all attempts the same response.
func (s step) Do(r *http.Request) (*http.Response, error) { return s(r) }

// script is an HTTP client with a step for each attempt. The last step is for all further attempts.
type script struct {
	mu    sync.Mutex
	steps []step
	sent  []sent
}

// sent is an attempt as the script received it.
type sent struct {
	header http.Header
	body   map[string]any
	at     time.Time
}

func newScript(steps ...step) *script { return &script{steps: steps} }

// Do serves an attempt.
func (s *script) Do(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, err
	}
	return s.take(sent{r.Header.Clone(), body, time.Now()})(r)
}

func (s *script) take(attempt sent) step {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, attempt)
	return s.steps[min(len(s.sent), len(s.steps))-1]
}

func (s *script) attempts() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// respond returns a step with a status and a body; headers are pairs.
func respond(status int, body string, headers ...string) step {
	return func(r *http.Request) (*http.Response, error) {
		header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}}
		for i := 0; i < len(headers); i += 2 {
			header.Set(headers[i], headers[i+1])
		}
		return &http.Response{
			StatusCode: status, Header: header, Request: r, ProtoMajor: 1, ProtoMinor: 1,
			Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		}, nil
	}
}

func ok(body string) step { return respond(http.StatusOK, body) }

// refuse returns a step with one of DynamoDB's errors.
func refuse(status int, code string, headers ...string) step {
	const prefix = "com.amazonaws.dynamodb.v20120810#"
	return respond(status, fmt.Sprintf(`{"__type":%q,"message":"from the script"}`, prefix+code), headers...)
}

func throttle() step { return refuse(http.StatusBadRequest, "ProvisionedThroughputExceededException") }

func internalError() step { return refuse(http.StatusInternalServerError, "InternalServerError") }

// reset is a connection that breaks after the request was sent.
func reset(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
}

// noConnection is a service that cannot be reached.
func noConnection(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

// hang never responds: it waits for the end of the request's context.
func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// truncated is a response whose body breaks off.
func truncated(r *http.Request) (*http.Response, error) {
	response, err := ok(`{"Item":`)(r)
	response.Body = io.NopCloser(io.MultiReader(bytes.NewReader([]byte(`{"It`)), brokenReader{}))
	return response, err
}

type brokenReader struct{}

// Read fails like a connection that was closed too early.
func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// options returns the options of a client with an HTTP client, changed by change.
func options(s aws.HTTPClient, change ...func(*dynamo.Options)) dynamo.Options {
	opts := dynamo.Options{
		AWS: aws.Config{
			Region:       "us-east-1",
			BaseEndpoint: aws.String("http://dynamodb.invalid"),
			HTTPClient:   s,
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
			}),
		},
		MaxInFlight:      4,
		Retries:          3,
		BackoffBase:      time.Millisecond,
		BackoffCap:       time.Second,
		AttemptTimeout:   4 * time.Second,
		OperationTimeout: time.Minute,
		MaxBatchGet:      100,
		MaxBatchWrite:    25,
	}
	for _, f := range change {
		f(&opts)
	}
	return opts
}

func newClient(t *testing.T, opts dynamo.Options) *dynamo.Client {
	t.Helper()
	c, err := dynamo.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func client(t *testing.T, s *script, change ...func(*dynamo.Options)) *dynamo.Client {
	t.Helper()
	return newClient(t, options(s, change...))
}

// shortly bounds the time of an operation that is always throttled.
func shortly(o *dynamo.Options) { o.OperationTimeout = 20 * time.Second }

// put puts a small item under a condition.
func put(t *testing.T, c *dynamo.Client) error {
	t.Helper()
	return c.Put(t.Context(), &dynamo.Meter{}, dynamo.Put{Table: table, Item: key(1), Condition: "attribute_not_exists(par)"})
}

// get gets an item.
func get(t *testing.T, c *dynamo.Client) (dynamo.Attributes, error) {
	t.Helper()
	return c.Get(t.Context(), &dynamo.Meter{}, table, key(1))
}

func key(n int) dynamo.Attributes {
	return dynamo.Attributes{
		"par": &types.AttributeValueMemberS{Value: "p"},
		"num": &types.AttributeValueMemberN{Value: fmt.Sprint(n)},
	}
}
