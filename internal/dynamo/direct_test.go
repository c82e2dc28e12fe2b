package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// summed adds the checksum of the body to a response, as DynamoDB does.
func summed(s step) step {
	return func(r *http.Request) (*http.Response, error) {
		response, err := s(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		response.Header.Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE(body)))
		response.Body = io.NopCloser(strings.NewReader(string(body)))
		return response, nil
	}
}

// bySDK reports whether the SDK has sent a request: the SDK gives each of its requests an id.
func bySDK(s sent) bool { return s.header.Get("Amz-Sdk-Invocation-Id") != "" }

// puts sends n puts, one after the other.
func puts(t *testing.T, c *dynamo.Client, n int) {
	t.Helper()
	for i := range n {
		if err := put(t, c); err != nil {
			t.Fatalf("put %d: %v", i, err)
		}
	}
}

func TestOnlyTheFirstRequestIsSentByTheSDK(t *testing.T) {
	t.Parallel()
	s := newScript(summed(ok(`{"ConsumedCapacity":{"TableName":"events","CapacityUnits":1}}`)))
	c := client(t, s, func(o *dynamo.Options) {
		o.UserAgent = "tester"
		o.AWS.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret", SessionToken: "token"}, nil
		})
	})
	puts(t, c, 3)
	attempts := s.attempts()
	for i, want := range []bool{true, false, false} {
		if bySDK(attempts[i]) != want {
			t.Errorf("request %d by the SDK: %t, want %t", i, bySDK(attempts[i]), want)
		}
	}
	first, second := attempts[0], attempts[1]
	if fmt.Sprint(first.body) != fmt.Sprint(second.body) {
		t.Errorf("sent %v, the SDK %v", second.body, first.body)
	}
	if !strings.Contains(second.header.Get("User-Agent"), "tester") {
		t.Errorf("user agent %q", second.header.Get("User-Agent"))
	}
	ofTries := []string{"Amz-Sdk-Invocation-Id", "Amz-Sdk-Request", "Authorization", "X-Amz-Date"}
	for _, name := range slices.Sorted(maps.Keys(first.header)) {
		if g, w := second.header[name], first.header[name]; !slices.Contains(ofTries, name) && !slices.Equal(g, w) {
			t.Errorf("%s: %q, the SDK sent %q", name, g, w)
		}
	}
	scope := func(s sent) string {
		scope, _, _ := strings.Cut(s.header.Get("Authorization"), ",")
		return scope
	}
	if g, w := scope(second), scope(first); g != w {
		t.Errorf("signed for %q, by the SDK for %q", g, w)
	}
	if signed := second.header.Get("Authorization"); !strings.Contains(signed, "host;") || !strings.Contains(signed, ";x-amz-date;x-amz-security-token;x-amz-target") {
		t.Errorf("what is signed: %q", signed)
	}
}

func TestEveryOperationHasItsOwnTemplate(t *testing.T) {
	t.Parallel()
	s := newScript(summed(ok(`{"Items":[]}`)))
	c := client(t, s)
	query := func() {
		if _, err := c.Query(t.Context(), &dynamo.Meter{}, &dynamodb.QueryInput{TableName: aws.String(table)}); err != nil {
			t.Fatal(err)
		}
	}
	puts(t, c, 2)
	query()
	query()
	var got []string
	for _, attempt := range s.attempts() {
		got = append(got, fmt.Sprintf("%s %t", attempt.header.Get("X-Amz-Target"), bySDK(attempt)))
	}
	want := []string{
		"DynamoDB_20120810.PutItem true", "DynamoDB_20120810.PutItem false", "DynamoDB_20120810.Query true", "DynamoDB_20120810.Query false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

// untouched is an interceptor that does nothing.
type untouched struct{}

// BeforeSigning does nothing.
func (untouched) BeforeSigning(context.Context, *smithyhttp.InterceptorContext) error { return nil }

// anywhere is a resolver that can return another endpoint for each request.
func anywhere(string, string, ...any) (aws.Endpoint, error) { //nolint:staticcheck // callers may have one
	return aws.Endpoint{URL: "http://node.invalid"}, nil //nolint:staticcheck // as above
}

func TestDirectRequests_NotEligible(t *testing.T) {
	t.Parallel()
	response := summed(ok(`{}`))
	for name, change := range map[string]func(*dynamo.Options){
		"SDKCodec": func(o *dynamo.Options) { o.SDKCodec = true },
		"a middleware": func(o *dynamo.Options) {
			o.AWS.APIOptions = []func(*middleware.Stack) error{func(*middleware.Stack) error { return nil }}
		},
		"service options": func(o *dynamo.Options) { o.AWS.ServiceOptions = []func(string, any){func(string, any) {}} },
		"a log":           func(o *dynamo.Options) { o.AWS.ClientLogMode = aws.LogRequest },
		"a resolver of endpoints": func(o *dynamo.Options) {
			o.AWS.EndpointResolverWithOptions = aws.EndpointResolverWithOptionsFunc(anywhere) //nolint:staticcheck // callers may have one
		},
		"an old resolver of endpoints": func(o *dynamo.Options) {
			o.AWS.EndpointResolver = aws.EndpointResolverFunc( //nolint:staticcheck // callers may have one
				func(service, region string) (aws.Endpoint, error) { return anywhere(service, region) }) //nolint:staticcheck // as above
		},
		"an interceptor": func(o *dynamo.Options) {
			o.AWS.Interceptors.BeforeSigning = append(o.AWS.Interceptors.BeforeSigning, untouched{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(response)
			puts(t, client(t, s, change), 2)
			for i, attempt := range s.attempts() {
				if !bySDK(attempt) {
					t.Errorf("request %d was not the SDK's", i)
				}
			}
		})
	}
	t.Run("no checksum", func(t *testing.T) {
		t.Parallel()
		s := newScript(ok(`{}`))
		puts(t, client(t, s), 2)
		if !bySDK(s.attempts()[1]) {
			t.Error("the second request was not the SDK's")
		}
	})
}

// The SDK does not send the attempt again, but sends the next request.
func TestSDKInterpretsTheErrorsOfDirectRequests(t *testing.T) {
	t.Parallel()
	const standing = `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"m","Item":{"par":{"S":"p"}}}`
	for name, c := range map[string]struct {
		response step
		check    func(error) bool
	}{
		"a condition that fails": {summed(respond(400, standing)), func(err error) bool {
			return errors.Is(err, dynamo.ErrConditionFailed) && len(dynamo.OldItem(err)) == 1 && !dynamo.MaybeApplied(err)
		}},
		"a denial": {summed(refuse(400, "AccessDeniedException")), func(err error) bool {
			return errors.Is(err, dynamo.ErrDenied) && !dynamo.MaybeApplied(err)
		}},
		"a lost connection": {reset, func(err error) bool { return errors.Is(err, dynamo.ErrUnavailable) && dynamo.MaybeApplied(err) }},
		"no connection":     {noConnection, func(err error) bool { return errors.Is(err, dynamo.ErrUnavailable) && !dynamo.MaybeApplied(err) }},
		"a wrong checksum": {respond(200, `{}`, "X-Amz-Crc32", "1"), func(err error) bool {
			return err != nil && dynamo.MaybeApplied(err)
		}},
		"a response that breaks off": {summed(ok(`{"ConsumedCapacity":`)), func(err error) bool {
			return err != nil && dynamo.MaybeApplied(err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(summed(ok(`{}`)), c.response, summed(ok(`{}`)))
			client := client(t, s, func(o *dynamo.Options) { o.Retries = 0 })
			puts(t, client, 1)
			if err := put(t, client); !c.check(err) {
				t.Errorf("error %v", err)
			}
			if attempts := s.attempts(); len(attempts) != 2 || bySDK(attempts[1]) {
				t.Errorf("%d requests were sent, the second by the SDK: %t", len(attempts), bySDK(attempts[1]))
			}
			if name == "a response that breaks off" {
				return // the service has sent a success
			}
			puts(t, client, 1)
			if attempts := s.attempts(); !bySDK(attempts[2]) {
				t.Error("the next request was not the SDK's")
			}
		})
	}
}

// The credentials become unavailable while a request is in flight. The SDK, which has to interpret
// the outcome, then says that it could not sign the request.
func TestDirectRequests_CredentialsLostInFlight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		response step
		maybe    bool
	}{
		"a lost connection": {reset, true}, "no connection": {noConnection, false}, "a response": {summed(refuse(500, "InternalServerError")), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gone := false
			s := newScript(summed(ok(`{}`)), func(r *http.Request) (*http.Response, error) {
				gone = true
				return c.response(r)
			})
			client := client(t, s, func(o *dynamo.Options) {
				o.Retries = 0
				o.AWS.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
					if gone {
						return aws.Credentials{}, errors.New("no credentials any more")
					}
					return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
				})
			})
			puts(t, client, 1)
			if err := put(t, client); !errors.Is(err, dynamo.ErrUnavailable) || dynamo.MaybeApplied(err) != c.maybe || len(s.attempts()) != 2 {
				t.Errorf("%d requests, error %v", len(s.attempts()), err)
			}
		})
	}
}

// The credentials provider hangs when the SDK interprets the outcome for a caller that has
// canceled.
func TestDirectRequests_HangingCredentialsDelayOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newScript(summed(ok(`{}`)), func(r *http.Request) (*http.Response, error) {
			cancel()
			return summed(throttle())(r)
		})
		c := client(t, s, func(o *dynamo.Options) {
			o.AWS.Credentials = aws.CredentialsProviderFunc(func(asked context.Context) (aws.Credentials, error) {
				if ctx.Err() != nil {
					<-asked.Done()
					return aws.Credentials{}, asked.Err()
				}
				return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
			})
		})
		puts(t, c, 1)
		start := time.Now()
		err := c.Put(ctx, &dynamo.Meter{}, dynamo.Put{Table: table, Item: key(1)})
		if took := time.Since(start); !errors.Is(err, context.Canceled) || !dynamo.MaybeApplied(err) || took > 2*time.Second {
			t.Errorf("after %v: error %v", took, err)
		}
	})
}

func TestDirectRequests_ContextEndsInFlight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		response step
		maybe    bool
	}{
		"a condition that fails": {refuse(400, "ConditionalCheckFailedException"), false},
		"a refusal":              {throttle(), false},
		"an internal error":      {internalError(), true},
		"a lost connection":      {reset, true},
	} {
		for _, sdk := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, SDKCodec %t", name, sdk), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithCancelCause(t.Context())
				why := errors.New("why")
				s := newScript(summed(ok(`{}`)), func(r *http.Request) (*http.Response, error) {
					cancel(why)
					return summed(c.response)(r)
				})
				client := client(t, s, func(o *dynamo.Options) { o.SDKCodec = sdk })
				puts(t, client, 1)
				err := client.Put(ctx, &dynamo.Meter{}, dynamo.Put{Table: table, Item: key(1)})
				if attempts := s.attempts(); !errors.Is(err, why) || dynamo.MaybeApplied(err) != c.maybe || len(attempts) != 2 || bySDK(attempts[1]) != sdk {
					t.Errorf("%d requests, want 2, error %v, want MaybeApplied %t", len(attempts), err, c.maybe)
				}
			})
		}
	}
}

func TestResponsesThatAreNotPlainAreDecodedByTheSDK(t *testing.T) {
	t.Parallel()
	s := newScript(summed(ok(`{"Items":[]}`)), summed(ok(`{"Items":[{"par":{"S":"p"},"flag":{"BOOL":true}}],"Count":1}`)))
	c := client(t, s)
	var page dynamo.Page
	for range 2 {
		var err error
		if page, err = c.Query(t.Context(), &dynamo.Meter{}, &dynamodb.QueryInput{TableName: aws.String(table)}); err != nil {
			t.Fatal(err)
		}
	}
	if len(page.Items) != 1 || len(page.Items[0]) != 2 {
		t.Fatalf("page %v", page)
	}
	if flag, ok := page.Items[0]["flag"].(*types.AttributeValueMemberBOOL); !ok || !flag.Value {
		t.Errorf("item %v", page.Items[0])
	}
	if attempts := s.attempts(); len(attempts) != 2 || bySDK(attempts[1]) {
		t.Errorf("%d requests were sent, the second by the SDK: %t", len(attempts), bySDK(attempts[1]))
	}
}

func TestNewCredentialsNeedANewTemplate(t *testing.T) {
	t.Parallel()
	id := "id1"
	s := newScript(summed(ok(`{}`)))
	c := client(t, s, func(o *dynamo.Options) {
		o.AWS.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: id, SecretAccessKey: "secret"}, nil
		})
	})
	puts(t, c, 2)
	id = "id2"
	puts(t, c, 2)
	var got []string
	for _, attempt := range s.attempts() {
		got = append(got, fmt.Sprintf("%s %t", accessKey(attempt), bySDK(attempt)))
	}
	if want := []string{"id1 true", "id1 false", "id2 true", "id2 false"}; !slices.Equal(got, want) {
		t.Errorf("sent with %q, want %q", got, want)
	}
}

func TestDirectRequestsAreSignedWithTheServicesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		right := time.Now().Add(time.Hour)
		s := newScript(serverTime(right, refuse(400, "InvalidSignatureException")), serverTime(right, summed(ok(`{}`))))
		puts(t, client(t, s), 2)
		attempts := s.attempts()
		if len(attempts) != 3 || bySDK(attempts[2]) {
			t.Fatalf("%d requests, the last by the SDK: %t", len(attempts), bySDK(attempts[len(attempts)-1]))
		}
		signed, err := time.Parse("20060102T150405Z", attempts[2].header.Get("X-Amz-Date"))
		if err != nil || signed.Sub(right).Abs() > 2*time.Second {
			t.Errorf("signed at %v, want %v (%v)", signed, right, err)
		}
	})
}

// The trace is a header that changes with the event that the function handles, so the SDK has to
// send every request.
func TestRequestsInLambdaHaveTheCurrentTrace(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	s := newScript(summed(ok(`{}`)))
	c := client(t, s)
	puts(t, c, 1)
	for i := 1; i < 3; i++ {
		trace := fmt.Sprintf("Root=%d", i)
		t.Setenv("_X_AMZN_TRACE_ID", trace)
		puts(t, c, 1)
		if got := s.attempts()[i]; !bySDK(got) || got.header.Get("X-Amzn-Trace-Id") != trace {
			t.Errorf("request %d has the heads %v, want the trace %s", i, got.header, trace)
		}
	}
}

// The SDK's loader sets lists of all kinds that are empty but not nil.
func TestConfigOfTheSDKsLoaderAllowsDirectRequests(t *testing.T) {
	t.Setenv("AWS_CA_BUNDLE", "")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	s := newScript(summed(ok(`{}`)))
	loaded, err := config.LoadDefaultConfig(t.Context(), config.WithRegion("us-east-1"),
		config.WithCredentialsProvider(options(s).AWS.Credentials))
	if err != nil {
		t.Fatal(err)
	}
	loaded.HTTPClient = s
	puts(t, client(t, s, func(o *dynamo.Options) { o.AWS = loaded }), 2)
	if bySDK(s.attempts()[1]) {
		t.Error("the second request was the SDK's")
	}
}

// roundTripper adapts an HTTP client to http.RoundTripper.
type roundTripper struct{ at aws.HTTPClient }

// RoundTrip sends a request.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	return r.at.Do(request)
}

// The HTTP client follows redirects.
func TestNoRequestFollowsARedirect(t *testing.T) {
	t.Parallel()
	redirect := respond(http.StatusTemporaryRedirect, "", "Location", "http://elsewhere.invalid/")
	s := newScript(summed(ok(`{}`)), redirect, summed(ok(`{}`)))
	c := client(t, s, func(o *dynamo.Options) {
		o.AWS.HTTPClient = &http.Client{Transport: roundTripper{s}}
		o.Retries = 0
	})
	puts(t, c, 1)
	if err := put(t, c); err == nil || !dynamo.MaybeApplied(err) {
		t.Errorf("error %v", err)
	}
	if attempts := s.attempts(); len(attempts) != 2 || bySDK(attempts[1]) {
		t.Errorf("%d requests were sent, want 2, the second past the SDK", len(attempts))
	}
}

// meddling is an HTTP client that changes requests in place, like a client that sends through a
// gateway.
type meddling struct {
	*script

	came []string
}

// Do sends a request to another host.
func (m *meddling) Do(r *http.Request) (*http.Response, error) {
	m.came = append(m.came, fmt.Sprintf("to %s %q, by %q", r.URL, r.Host, r.Header["User-Agent"]))
	r.Host, r.URL.Host = r.URL.Host, "proxy.invalid"
	r.Header["User-Agent"][0] = "by the proxy"
	r.Header.Add("User-Agent", "and more")
	r.Header.Set("X-Forwarded-For", "somebody")
	return m.script.Do(r)
}

func TestHTTPClientThatChangesRequestsDoesNotChangeTheTemplate(t *testing.T) {
	t.Parallel()
	m := &meddling{script: newScript(summed(ok(`{}`)))}
	puts(t, newClient(t, options(m)), 3)
	for i, got := range m.came[1:] {
		if bySDK(m.attempts()[i+1]) {
			t.Errorf("request %d was the SDK's", i+1)
		}
		if got != m.came[0] {
			t.Errorf("request %d came %s, the SDK's %s", i+1, got, m.came[0])
		}
	}
}

// The two tables belong to different accounts, which have different endpoints.
func TestEveryTableHasItsOwnTemplate(t *testing.T) {
	t.Parallel()
	hosts := map[string]bool{}
	s := newScript(func(r *http.Request) (*http.Response, error) {
		hosts[r.URL.Host] = true
		return summed(ok(`{}`))(r)
	})
	c := client(t, s, func(o *dynamo.Options) {
		o.AWS.BaseEndpoint, o.AWS.AccountIDEndpointMode = nil, aws.AccountIDEndpointModePreferred
	})
	for i, account := range []string{"111111111111", "222222222222", "111111111111", "222222222222"} {
		p := dynamo.Put{Table: "arn:aws:dynamodb:us-east-1:" + account + ":table/events", Item: key(1)}
		clear(hosts)
		if err := c.Put(t.Context(), &dynamo.Meter{}, p); err != nil {
			t.Fatal(err)
		}
		if want := account + ".ddb.us-east-1.amazonaws.com"; !hosts[want] {
			t.Errorf("request %d went to %v, want %s", i, hosts, want)
		}
		if got := bySDK(s.attempts()[i]); got != (i < 2) {
			t.Errorf("request %d by the SDK: %t", i, got)
		}
	}
}

// This test is for the race detector.
func TestConcurrentDirectRequestsShareATemplate(t *testing.T) {
	t.Parallel()
	c := client(t, newScript(summed(ok(`{}`))))
	puts(t, c, 1)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				if err := c.Put(t.Context(), &dynamo.Meter{}, dynamo.Put{Table: table, Item: key(1)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// instant is an HTTP client that responds at once.
type instant struct{}

// Do responds with an empty page.
func (instant) Do(*http.Request) (*http.Response, error) {
	const body = `{"Items":[],"Count":0,"ScannedCount":0}`
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"X-Amz-Crc32": {fmt.Sprint(crc32.ChecksumIEEE([]byte(body)))}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

// BenchmarkRequest sends a small Query with the SDK and directly, to a service that responds at
// once.
func BenchmarkRequest(b *testing.B) {
	for _, sdk := range []bool{true, false} {
		b.Run(map[bool]string{true: "SDK", false: "own"}[sdk], func(b *testing.B) {
			c, err := dynamo.New(options(instant{}, func(o *dynamo.Options) { o.SDKCodec = sdk }))
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			in := &dynamodb.QueryInput{
				TableName: aws.String(table), ConsistentRead: aws.Bool(true),
				KeyConditionExpression:    aws.String("par = :p AND num >= :n"),
				ExpressionAttributeValues: dynamo.Attributes{":p": key(1)["par"], ":n": key(1)["num"]},
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Query(b.Context(), &dynamo.Meter{}, in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
