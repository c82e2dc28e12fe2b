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
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// summed answers as DynamoDB does: with the checksum of the answer.
func summed(s step) step {
	return func(r *http.Request) (*http.Response, error) {
		answer, err := s(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			return nil, err
		}
		answer.Header.Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE(body)))
		answer.Body = io.NopCloser(strings.NewReader(string(body)))
		return answer, nil
	}
}

// bySDK says whether the SDK has sent a request: it numbers what it sends.
func bySDK(s sent) bool { return s.header.Get("Amz-Sdk-Invocation-Id") != "" }

// puts sends so many puts, one after the other.
func puts(t *testing.T, c *dynamo.Client, n int) {
	t.Helper()
	for i := range n {
		if err := put(t, c); err != nil {
			t.Fatalf("put %d: %v", i, err)
		}
	}
}

func TestOnlyTheFirstRequestTakesTheSDKsWay(t *testing.T) {
	t.Parallel()
	s := play(summed(ok(`{"ConsumedCapacity":{"TableName":"events","CapacityUnits":1}}`)))
	c := client(t, s, func(o *dynamo.Options) {
		o.UserAgent = "tester"
		o.AWS.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret", SessionToken: "token"}, nil
		})
	})
	puts(t, c, 3)
	tries := s.tries()
	for i, want := range []bool{true, false, false} {
		if bySDK(tries[i]) != want {
			t.Errorf("request %d by the SDK: %t, want %t", i, bySDK(tries[i]), want)
		}
	}
	first, second := tries[0], tries[1]
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

func TestEveryOperationHasAnExampleOfItsOwn(t *testing.T) {
	t.Parallel()
	s := play(summed(ok(`{}`)))
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
	for _, try := range s.tries() {
		got = append(got, fmt.Sprintf("%s %t", try.header.Get("X-Amz-Target"), bySDK(try)))
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

// TestWhatTheSDKMustSee has the SDK send everything, where something of the caller's takes part in its requests, or answers
// have no checksum.
func TestWhatTheSDKMustSee(t *testing.T) {
	t.Parallel()
	answer := summed(ok(`{}`))
	for name, change := range map[string]func(*dynamo.Options){
		"SDKCodec": func(o *dynamo.Options) { o.SDKCodec = true },
		"a middleware": func(o *dynamo.Options) {
			o.AWS.APIOptions = []func(*middleware.Stack) error{func(*middleware.Stack) error { return nil }}
		},
		"service options": func(o *dynamo.Options) { o.AWS.ServiceOptions = []func(string, any){func(string, any) {}} },
		"a log":           func(o *dynamo.Options) { o.AWS.ClientLogMode = aws.LogRequest },
		"an interceptor": func(o *dynamo.Options) {
			o.AWS.Interceptors.BeforeSigning = append(o.AWS.Interceptors.BeforeSigning, untouched{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(answer)
			puts(t, client(t, s, change), 2)
			for i, try := range s.tries() {
				if !bySDK(try) {
					t.Errorf("request %d was not the SDK's", i)
				}
			}
		})
	}
	t.Run("no checksum", func(t *testing.T) {
		t.Parallel()
		s := play(ok(`{}`))
		puts(t, client(t, s), 2)
		if !bySDK(s.tries()[1]) {
			t.Error("the second request was not the SDK's")
		}
	})
}

// TestErrorsAreTheSDKs answers a direct request with errors: the SDK judges them, nothing is sent twice for that, and the next
// request is the SDK's again.
func TestErrorsAreTheSDKs(t *testing.T) {
	t.Parallel()
	const standing = `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"m","Item":{"par":{"S":"p"}}}`
	for name, c := range map[string]struct {
		answer step
		check  func(error) bool
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
		"an answer that breaks off": {summed(ok(`{"ConsumedCapacity":`)), func(err error) bool {
			return err != nil && dynamo.MaybeApplied(err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(summed(ok(`{}`)), c.answer, summed(ok(`{}`)))
			client := client(t, s, func(o *dynamo.Options) { o.Retries = 0 })
			puts(t, client, 1)
			if err := put(t, client); !c.check(err) {
				t.Errorf("error %v", err)
			}
			if tries := s.tries(); len(tries) != 2 || bySDK(tries[1]) {
				t.Errorf("%d requests were sent, the second by the SDK: %t", len(tries), bySDK(tries[1]))
			}
			if name == "an answer that breaks off" {
				return // it was a success, to learn from
			}
			puts(t, client, 1)
			if tries := s.tries(); !bySDK(tries[2]) {
				t.Error("the next request was not the SDK's")
			}
		})
	}
}

// TestSentRequestIsNotCalledUnsent has the credentials vanish while a request is on its way: the SDK, which is asked what came of
// it, then says that there is nothing to sign with.
func TestSentRequestIsNotCalledUnsent(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]step{"a lost connection": reset, "an answer": summed(refuse(500, "InternalServerError"))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gone := false
			s := play(summed(ok(`{}`)), func(r *http.Request) (*http.Response, error) {
				gone = true
				return answer(r)
			})
			c := client(t, s, func(o *dynamo.Options) {
				o.Retries = 0
				o.AWS.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
					if gone {
						return aws.Credentials{}, errors.New("no credentials any more")
					}
					return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
				})
			})
			puts(t, c, 1)
			if err := put(t, c); !errors.Is(err, dynamo.ErrUnavailable) || !dynamo.MaybeApplied(err) || len(s.tries()) != 2 {
				t.Errorf("%d requests, error %v", len(s.tries()), err)
			}
		})
	}
}

func TestAnswersThatAreNotPlainAreDecodedBySDK(t *testing.T) {
	t.Parallel()
	s := play(summed(ok(`{"Items":[]}`)), summed(ok(`{"Items":[{"par":{"S":"p"},"flag":{"BOOL":true}}],"Count":1}`)))
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
	if tries := s.tries(); len(tries) != 2 || bySDK(tries[1]) {
		t.Errorf("%d requests were sent, the second by the SDK: %t", len(tries), bySDK(tries[1]))
	}
}

func TestNewCredentialsAreLearned(t *testing.T) {
	t.Parallel()
	id := "id1"
	s := play(summed(ok(`{}`)))
	c := client(t, s, func(o *dynamo.Options) {
		o.AWS.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: id, SecretAccessKey: "secret"}, nil
		})
	})
	puts(t, c, 2)
	id = "id2"
	puts(t, c, 2)
	var got []string
	for _, try := range s.tries() {
		got = append(got, fmt.Sprintf("%s %t", accessKey(try), bySDK(try)))
	}
	if want := []string{"id1 true", "id1 false", "id2 true", "id2 false"}; !slices.Equal(got, want) {
		t.Errorf("sent with %q, want %q", got, want)
	}
}

func TestDirectRequestsAreSignedByTheServersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		right := time.Now().Add(time.Hour)
		s := play(serverTime(right, refuse(400, "InvalidSignatureException")), serverTime(right, summed(ok(`{}`))))
		puts(t, client(t, s), 2)
		tries := s.tries()
		if len(tries) != 3 || bySDK(tries[2]) {
			t.Fatalf("%d requests, the last by the SDK: %t", len(tries), bySDK(tries[len(tries)-1]))
		}
		signed, err := time.Parse("20060102T150405Z", tries[2].header.Get("X-Amz-Date"))
		if err != nil || signed.Sub(right).Abs() > 2*time.Second {
			t.Errorf("signed at %v, want %v (%v)", signed, right, err)
		}
	})
}

// TestTraceOfLambdaGoesAlong has the SDK send what has a head that changes with what the process is asked.
func TestTraceOfLambdaGoesAlong(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	t.Setenv("_X_AMZN_TRACE_ID", "Root=1")
	s := play(summed(ok(`{}`)))
	puts(t, client(t, s), 2)
	if got := s.tries()[1]; !bySDK(got) || got.header.Get("X-Amzn-Trace-Id") != "Root=1" {
		t.Errorf("the second request has the heads %v", got.header)
	}
}

// TestDirectRequestsAtOnce is for the race detector: they share an example.
func TestDirectRequestsAtOnce(t *testing.T) {
	t.Parallel()
	c := client(t, play(summed(ok(`{}`))))
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

// instant answers at once, and looks at nothing.
type instant struct{}

// Do answers a request.
func (instant) Do(*http.Request) (*http.Response, error) {
	const body = `{"Items":[],"Count":0,"ScannedCount":0}`
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"X-Amz-Crc32": {fmt.Sprint(crc32.ChecksumIEEE([]byte(body)))}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

// BenchmarkRequest sends a small Query, as the SDK does and as the journal does, to a service that takes no time.
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
