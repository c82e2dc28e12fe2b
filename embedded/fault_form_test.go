package embedded_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dynajournal/dynajournal/embedded"
)

// checksums records whether the last response had a checksum.
type checksums struct {
	next dynamodb.HTTPClient
	last string
}

// Do sends a request.
func (c *checksums) Do(r *http.Request) (*http.Response, error) {
	response, err := c.next.Do(r)
	if err == nil {
		c.last = response.Header.Get("X-Amz-Crc32")
	}
	return response, err
}

func TestFault_NoErrorChecksum(t *testing.T) {
	test := func(t *testing.T, engine *embedded.Engine, client *dynamodb.Client) {
		t.Helper()
		createTable(t, client, "orders")
		seen := &checksums{}
		client = dynamodb.New(client.Options(), func(o *dynamodb.Options) {
			seen.next, o.HTTPClient = o.HTTPClient, seen
			o.DisableValidateResponseChecksum = true
		})
		check := func(name string, err error, status int, want bool) {
			t.Helper()
			response, failed := errors.AsType[*smithyhttp.ResponseError](err)
			if failed != (status != http.StatusOK) || failed && response.HTTPStatusCode() != status || (seen.last != "") != want {
				t.Errorf("%s: error %v, checksum %q", name, err, seen.last)
			}
		}
		check("an error before", put(t.Context(), client, "none", "a", 1), http.StatusBadRequest, true)
		remove := inject(t, engine, "no-error-checksum")
		check("a missing table", put(t.Context(), client, "none", "a", 1), http.StatusBadRequest, false)
		check("a success", put(t.Context(), client, "orders", "a", 1), http.StatusOK, true)
		// The effect does not prevent another fault from hitting the request, regardless of which
		// was injected first.
		stop := inject(t, engine, "internal-error,operation=PutItem,times=1")
		check("the error of a fault", put(t.Context(), client, "orders", "a", 1), http.StatusInternalServerError, false)
		stop()
		check("a success afterwards", put(t.Context(), client, "orders", "a", 1), http.StatusOK, true)
		remove()
		check("an error afterwards", put(t.Context(), client, "none", "a", 1), http.StatusBadRequest, true)
	}
	onBothTransports(t, test)
	t.Run("server", func(t *testing.T) {
		engine := openMemory(t)
		test(t, engine, serveOn(t, engine))
	})
}

// serveOn returns a client of the engine over Serve, which writes responses without net/http.
func serveOn(t *testing.T, engine *embedded.Engine) *dynamodb.Client {
	t.Helper()
	listener := must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- engine.Serve(ctx, listener) }()
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		end()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	config := engine.AWSConfig()
	config.HTTPClient, config.BaseEndpoint = &http.Client{Transport: transport}, aws.String("http://"+listener.Addr().String())
	return dynamodb.NewFromConfig(config, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
}
