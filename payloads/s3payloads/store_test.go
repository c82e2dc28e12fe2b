package s3payloads_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/payloads"
	"github.com/dynajournal/dynajournal/payloads/s3payloads"
	"github.com/dynajournal/dynajournal/serialization"
)

const bucket = "bucket"

// serve serves S3 in memory, with a bucket, and returns a client. change changes the handler.
func serve(t *testing.T, change func(http.Handler) http.Handler) *s3.Client {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket(bucket); err != nil {
		t.Fatal(err)
	}
	handler := gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	if change != nil {
		handler = change(handler)
	}
	server := httptest.NewServer(handler)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	return s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), UsePathStyle: true, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), HTTPClient: &http.Client{Transport: transport},
	})
}

func open(t *testing.T, client *s3.Client) *s3payloads.Store {
	t.Helper()
	store, err := s3payloads.New(client, bucket, "payloads/")
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestObjectsArePutGotListedAndDeleted(t *testing.T) {
	t.Parallel()
	client := serve(t, nil)
	store, other := open(t, client), strings.Repeat("B", 26)
	data := bytes.Repeat([]byte("x"), 1<<20)
	for _, key := range []string{"A", other} {
		if err := store.Put(t.Context(), key, data); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := store.Get(t.Context(), other, len(data)); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got, err := store.Get(t.Context(), other, 1000); err != nil || len(got) != 1001 {
		t.Errorf("with a limit of 1,000 bytes: %d bytes, %v", len(got), err)
	}
	if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(bucket), Key: aws.String("elsewhere"), Body: strings.NewReader("x"),
	}); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for stored, err := range store.List(t.Context()) {
		if err != nil || stored.Bytes != int64(len(data)) || stored.Time.IsZero() {
			t.Errorf("%+v, %v", stored, err)
		}
		keys = append(keys, stored.Key)
	}
	if !slices.Equal(keys, []string{"A", other}) {
		t.Errorf("listed %q", keys)
	}
	for range 2 { // the second time the object is gone
		if err := store.Delete(t.Context(), other); err != nil {
			t.Error(err)
		}
	}
	if _, err := store.Get(t.Context(), other, 1); !errors.Is(err, serialization.ErrPayloadMissing) {
		t.Errorf("%v", err)
	}
}

func TestManyObjectsAreListed(t *testing.T) {
	t.Parallel()
	store := open(t, serve(t, nil))
	const many = 1100 // more than fit on a page
	for i := range many {
		if err := store.Put(t.Context(), string(rune('a'+i/100))+string(rune('a'+i/10%10))+string(rune('a'+i%10)), nil); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, err := range store.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != many {
		t.Errorf("%d are listed", n)
	}
}

// If a server fails or sends something else, the result is an error, and not a payload.
func TestServerThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"an internal error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"access denied":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"half a response": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t, serve(t, func(http.Handler) http.Handler { return answer }))
			if got, err := store.Get(t.Context(), "A", 1000); err == nil || errors.Is(err, serialization.ErrPayloadMissing) {
				t.Errorf("got %q, %v", got, err)
			}
			var failed error
			for _, err := range store.List(t.Context()) {
				failed = err
			}
			if failed == nil {
				t.Error("listed")
			}
			if name == "half a response" {
				return
			}
			if err := errors.Join(store.Put(t.Context(), "A", nil), store.Delete(t.Context(), "A")); err == nil {
				t.Error("put and deleted")
			}
		})
	}
}

func TestContextEndsRequests(t *testing.T) {
	t.Parallel()
	store := open(t, serve(t, nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := store.Get(ctx, "A", 1)
	for _, err := range []error{err, store.Put(ctx, "A", nil), store.Delete(ctx, "A")} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}

func TestBucketNeedsAName(t *testing.T) {
	t.Parallel()
	if _, err := s3payloads.New(nil, "", ""); err == nil {
		t.Error("a bucket without a name")
	}
}

// An event over 400 KB is an object, and its item refers to it.
func TestEventIsAnObject(t *testing.T) {
	t.Parallel()
	store := open(t, serve(t, nil))
	engine, err := embedded.OpenMemory(embedded.WithSweepInterval(0))
	if err != nil {
		t.Fatal(err)
	}
	config := dynajournal.Config{
		AWS: engine.AWSConfig(), Serialization: serialization.NewRegistry(serialization.External(store, 300_000)),
	}
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	journal, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(journal.Close(), engine.Close()); err != nil {
			t.Error(err)
		}
	}()
	w, err := journal.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 2_000_000)
	if _, err := w.Append(t.Context(), large, "small"); err != nil {
		t.Fatal(err)
	}
	var got []string
	if _, err := journal.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
		text, err := dynajournal.Decode[string](t.Context(), e)
		got = append(got, text)
		return err
	}); err != nil || !slices.Equal(got, []string{large, "small"}) {
		t.Errorf("%d events, %v", len(got), err)
	}
	if found, err := payloads.Leftovers(t.Context(), journal, store, payloads.Options{}); err != nil || found.Listed != 1 || found.Young != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}
