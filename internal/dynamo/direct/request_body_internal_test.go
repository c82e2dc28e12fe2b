package direct

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// checkedClient reads checked responses into memory, as package dynamo does.
type checkedClient struct{ inner *http.Client }

// Do sends a request.
func (c checkedClient) Do(r *http.Request) (*http.Response, error) {
	response, err := c.inner.Do(r)
	if err != nil {
		return nil, err
	}
	return response, ReadChecked(response)
}

// sharedOperation is the operation of a shared request.
var sharedOperation = Operation{"BatchExecuteStatement", "events"}

// sharedLength is the length of a value in a shared request.
const sharedLength = 100_000

// sharedRequest is a shared request with a long value.
func sharedRequest() *dynamodb.BatchExecuteStatementInput {
	return &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{{
		Statement:  aws.String("INSERT"),
		Parameters: []types.AttributeValue{&types.AttributeValueMemberS{Value: strings.Repeat("a", sharedLength)}},
	}}}
}

// The test is not parallel, because it measures the memory of the process. A pool may drop its
// elements, so the batch of requests with the least memory counts.
func TestRequestBody_SharedRequestsReuseMemory(t *testing.T) {
	const response, requests, batches = `{"Responses":[{}]}`, 4, 50
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set(ChecksumHeader, strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(response))), 10))
		_, _ = io.WriteString(w, response)
	}))
	defer service.Close()
	config := aws.Config{Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
	})}
	s := New(&config, checkedClient{service.Client()}, true)
	of := sampleTemplate(t, service.URL)
	of.signer = newSigner(of)
	s.templates.Store(sharedOperation, of)
	in, least := sharedRequest(), uint64(math.MaxUint64)
	for range batches {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range requests {
			var out dynamodb.BatchExecuteStatementOutput
			if _, decoded := s.send(t.Context(), sharedOperation, in, &out, nil); !decoded {
				t.Fatal("the response was not decoded")
			}
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if most := uint64(requests * sharedLength * 3 / 4); least > most {
		t.Errorf("%d requests of %d bytes took at least %d bytes, want %d at most", requests, sharedLength, least, most)
	}
}

// reused reports whether a body was returned to the pool.
func reused(b *requestBody) bool { return b.state.Load() == both }

func TestRequestBody_ReusedWhenWrittenAndReturned(t *testing.T) {
	t.Parallel()
	s := &Sender{traced: true}
	report := func(ctx context.Context, err error) {
		httptrace.ContextClientTrace(ctx).WroteRequest(httptrace.WroteRequestInfo{Err: err})
	}
	for name, test := range map[string]struct {
		happens func(b *requestBody, ctx context.Context)
		want    bool
	}{
		"it is written, and returns": {func(b *requestBody, ctx context.Context) {
			report(ctx, nil)
			b.record(returned)
		}, true},
		"it returns, and is written": {func(b *requestBody, ctx context.Context) {
			b.record(returned)
			report(ctx, nil)
		}, true},
		"it only returns":    {func(b *requestBody, _ context.Context) { b.record(returned) }, false},
		"it is only written": {func(_ *requestBody, ctx context.Context) { report(ctx, nil) }, false},
		"its writing fails": {func(b *requestBody, ctx context.Context) {
			report(ctx, errors.New("closed"))
			b.record(returned)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := s.bodyFor(t.Context(), sharedRequest())
			test.happens(b, b.within(t.Context()))
			if got := reused(b); got != test.want {
				t.Errorf("used again: %t, want %t", got, test.want)
			}
		})
	}
}

func TestRequestBody_ReturnedOnceAfterLastEvent(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int32{{written, returned}, {returned, written}} {
		var b requestBody
		first, second, again := b.last(order[0]), b.last(order[1]), b.last(order[0])
		if first || !second || again {
			t.Errorf("%v: given back after the first: %t, the second: %t, and again: %t", order, first, second, again)
		}
	}
	var b requestBody
	for range 2 {
		if b.last(returned) {
			t.Error("given back before it was written")
		}
	}
}

// With a caller's trace, another HTTP client or a small body, the memory is left to the garbage
// collector.
func TestRequestBody_NotReused(t *testing.T) {
	t.Parallel()
	own := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{})
	for name, b := range map[string]*requestBody{
		"a caller's trace":    (&Sender{traced: true}).bodyFor(own, sharedRequest()),
		"another HTTP client": (&Sender{}).bodyFor(t.Context(), sharedRequest()),
		"another operation":   (&Sender{traced: true}).bodyFor(t.Context(), &dynamodb.PutItemInput{}),
	} {
		if b != nil {
			t.Errorf("%s: the body is to be used again", name)
		}
	}
}
