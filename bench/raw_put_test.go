package bench_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dynajournal/dynajournal/embedded"
)

// rawCallers is the number of concurrent callers.
const rawCallers = 16

// askInProcess sends a request without the SDK, which would take most of the time.
func askInProcess(ctx context.Context, engine *embedded.Engine, operation, body string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://engine", strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header["X-Amz-Target"] = []string{"DynamoDB_20120810." + operation}
	request.Header["Content-Type"] = []string{"application/x-amz-json-1.0"}
	request.Header["Authorization"] = []string{"AWS4-HMAC-SHA256 Credential=bench"}
	response, err := engine.Transport().RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it is in memory
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(response.Body)
		return fmt.Errorf("%s: %s: %s: %w", operation, response.Status, text, err)
	}
	return nil
}

// putsInto returns a function that puts item number n into a new engine. The engine's table has a
// stream with the view, or no stream if view is empty. All but the first thousand puts replace an
// item.
func putsInto(b *testing.B, open func() (*embedded.Engine, error), view string) func(context.Context, int64) error {
	b.Helper()
	engine, err := open()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := engine.Close(); err != nil {
			b.Error(err)
		}
	})
	stream := ""
	if view != "" {
		stream = `,"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"` + view + `"}`
	}
	err = askInProcess(b.Context(), engine, "CreateTable", `{"TableName":"`+tableName+`","BillingMode":"PAY_PER_REQUEST",`+
		`"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}]`+
		stream+`}`)
	if err != nil {
		b.Fatal(err)
	}
	return func(ctx context.Context, n int64) error {
		return askInProcess(ctx, engine, "PutItem", fmt.Sprintf(
			`{"TableName":"%s","Item":{"pk":{"S":"entity-%08d"},"n":{"N":"%d"},"payload":{"S":"%s"}}}`, tableName, n%1000, n, payload))
	}
}

// storages returns functions that open engines in memory and in folders.
func storages(b *testing.B) map[string]func() (*embedded.Engine, error) {
	b.Helper()
	return map[string]func() (*embedded.Engine, error){
		"memory": func() (*embedded.Engine, error) { return embedded.OpenMemory() },
		"folder": func() (*embedded.Engine, error) { return embedded.Open(filepath.Join(b.TempDir(), "engine")) },
	}
}

// BenchmarkRawPuts puts into a table without a stream. It is for comparing commits: this file can
// be copied into the folder bench of an older commit.
func BenchmarkRawPuts(b *testing.B) {
	for place, open := range storages(b) {
		b.Run(place, func(b *testing.B) {
			put := putsInto(b, open, "")
			var next atomic.Int64
			b.SetParallelism(rawCallers)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := put(b.Context(), next.Add(1)); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
