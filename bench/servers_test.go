package bench_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/embedded"
)

const (
	tableName = "bench"
	callers   = 64
	// itemBytes is the size of an item as DynamoDB accounts it.
	itemBytes = 512
)

// openTable returns an engine with an empty table whose key is pk (S) and sk (N).
func openTable(tb testing.TB, open func() (*embedded.Engine, error)) *embedded.Engine {
	tb.Helper()
	engine, err := open()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := engine.Close(); err != nil {
			tb.Error(err)
		}
	})
	_, err = dynamodb.NewFromConfig(engine.AWSConfig()).CreateTable(tb.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(tableName), BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("pk"),
			KeyType: types.KeyTypeHash}, {AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: "S"},
			{AttributeName: aws.String("sk"), AttributeType: "N"}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return engine
}

func memory() (*embedded.Engine, error) { return embedded.OpenMemory() }

// answer is a recorded response of an engine.
type answer struct {
	header http.Header
	body   []byte
}

// record sends a request to the engine through the SDK and records the response.
func record(b *testing.B, engine *embedded.Engine, ask func(*dynamodb.Client) error) answer {
	b.Helper()
	var last answer
	config := engine.AWSConfig()
	config.HTTPClient = client(func(request *http.Request) (*http.Response, error) {
		response, err := engine.Transport().RoundTrip(request)
		if err != nil {
			return nil, err
		}
		last.header = response.Header
		last.body, err = io.ReadAll(response.Body)
		response.Body = io.NopCloser(bytes.NewReader(last.body))
		return response, err
	})
	if err := ask(dynamodb.NewFromConfig(config)); err != nil {
		b.Fatal(err)
	}
	return last
}

// client adapts a function to an HTTP client of the SDK.
type client func(*http.Request) (*http.Response, error)

// Do calls the function.
func (c client) Do(request *http.Request) (*http.Response, error) { return c(request) }

// ServeHTTP writes the recorded response to every request.
func (a answer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body) // a client that went away gets no answer
	maps.Copy(w.Header(), a.header)
	_, _ = w.Write(a.body) // as above
}

// inProcess returns a client of the SDK that gets the recorded response without sockets.
func (a answer) inProcess(engine *embedded.Engine) *dynamodb.Client {
	config := engine.AWSConfig()
	config.HTTPClient = client(func(request *http.Request) (*http.Response, error) {
		if request.Body != nil {
			_, err := io.Copy(io.Discard, request.Body)
			if err != nil {
				return nil, err
			}
		}
		return &http.Response{
			StatusCode: http.StatusOK, Header: a.header.Clone(), Body: io.NopCloser(bytes.NewReader(a.body)),
			ContentLength: int64(len(a.body)), Request: request,
		}, nil
	})
	return dynamodb.NewFromConfig(config)
}

// overLoopback returns a client of the SDK that reaches the handler by HTTP over the loopback
// interface, on persistent connections.
func overLoopback(b *testing.B, handler http.Handler) *dynamodb.Client {
	b.Helper()
	server := httptest.NewServer(handler)
	b.Cleanup(server.Close)
	transport := &http.Transport{MaxIdleConnsPerHost: 2 * callers, IdleConnTimeout: time.Minute}
	b.Cleanup(transport.CloseIdleConnections)
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(server.URL),
		Region:       "us-east-1",
		HTTPClient:   &http.Client{Transport: embedded.Transport(transport)},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "bench", SecretAccessKey: "bench"}, nil
		}),
	})
}

var payload = []byte(strings.Repeat("p", itemBytes-len("pk")-len("sk")-len("payload")-len("entity-00000000")-5))
