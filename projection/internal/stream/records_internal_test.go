package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go/middleware"

	"github.com/dynajournal/dynajournal/internal/dynamo/wire"
)

// answering is an HTTP client that gives answers, one after the other.
type answering struct{ answers []answer }

type answer struct {
	status int
	body   io.Reader
}

func (a *answering) Do(*http.Request) (*http.Response, error) {
	if len(a.answers) == 0 {
		return nil, errors.New("there are no more answers")
	}
	next := a.answers[0]
	a.answers = a.answers[1:]
	return &http.Response{StatusCode: next.status, Header: http.Header{}, Body: io.NopCloser(next.body)}, nil
}

// broken is a body that breaks off.
type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// spaces is an endless reader of spaces.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

const (
	plainPage = `{"NextShardIterator":"next","Records":[{"eventName":"INSERT","dynamodb":{"Keys":{"par":{"S":"p"}},"SequenceNumber":"7"}}]}`
	otherPage = `{"NextShardIterator":"next","Records":[{"eventName":"INSERT","dynamodb":{"Keys":{"par":{"S":"p"}},"SequenceNumber":"7",` +
		`"NewImage":{"flag":{"BOOL":true}}}}]}`
)

// A reader gets the same result for each answer as with a client that has middleware, whose answers
// the SDK decodes.
func TestRecords_SameAsSDK(t *testing.T) {
	t.Parallel()
	refusal := func(kind string) io.Reader {
		return strings.NewReader(fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"m"}`, kind))
	}
	for name, answers := range map[string]func() []answer{
		"plain":        func() []answer { return []answer{{http.StatusOK, strings.NewReader(plainPage)}} },
		"another type": func() []answer { return []answer{{http.StatusOK, strings.NewReader(otherPage)}} },
		"larger than any": func() []answer {
			return []answer{{http.StatusOK, io.MultiReader(io.LimitReader(spaces{}, maxPage), strings.NewReader(plainPage))}}
		},
		"no JSON": func() []answer { return []answer{{http.StatusOK, strings.NewReader("x")}} },
		"broken, and then good": func() []answer {
			return []answer{{http.StatusOK, broken{strings.NewReader(plainPage[:50])}}, {http.StatusOK, strings.NewReader(plainPage)}}
		},
		"broken":              func() []answer { return []answer{{http.StatusOK, broken{strings.NewReader(plainPage)}}} },
		"an expired iterator": func() []answer { return []answer{{http.StatusBadRequest, refusal("ExpiredIteratorException")}} },
		"trimmed":             func() []answer { return []answer{{http.StatusBadRequest, refusal("TrimmedDataAccessException")}} },
		"a fault, and then good": func() []answer {
			return []answer{{http.StatusInternalServerError, refusal("InternalServerError")}, {http.StatusOK, strings.NewReader(plainPage)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := func(options ...func(*dynamodbstreams.Options)) (wire.Records, error) {
				client := &answering{answers()}
				r := &reader{Consumer: &Consumer{Streams: &Streams{Client: dynamodbstreams.New(dynamodbstreams.Options{
					Region: "eu-west-1", HTTPClient: client, Credentials: aws.AnonymousCredentials{}, RetryMaxAttempts: len(client.answers),
				}, options...)}}}
				return r.records(t.Context(), aws.String("iterator"))
			}
			got, err := read()
			want, wanted := read(func(o *dynamodbstreams.Options) {
				o.APIOptions = append(o.APIOptions, func(*middleware.Stack) error { return nil })
			})
			if fmt.Sprint(err) != fmt.Sprint(wanted) || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, %v; the SDK: %+v, %v", got, err, want, wanted)
			}
		})
	}
}

// A middleware of the program sees the records.
func TestRecords_MiddlewareSeesThem(t *testing.T) {
	t.Parallel()
	seen := 0
	observe := middleware.InitializeMiddlewareFunc("look", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
		middleware.InitializeOutput, middleware.Metadata, error,
	) {
		out, metadata, err := next.HandleInitialize(ctx, in)
		if result, ok := out.Result.(*dynamodbstreams.GetRecordsOutput); ok {
			seen += len(result.Records)
		}
		return out, metadata, err
	})
	client := dynamodbstreams.New(dynamodbstreams.Options{
		Region: "eu-west-1", Credentials: aws.AnonymousCredentials{},
		HTTPClient: &answering{[]answer{{http.StatusOK, strings.NewReader(plainPage)}}},
		APIOptions: []func(*middleware.Stack) error{func(s *middleware.Stack) error { return s.Initialize.Add(observe, middleware.After) }},
	})
	r := &reader{Consumer: &Consumer{Streams: &Streams{Client: client}}}
	if page, err := r.records(t.Context(), aws.String("iterator")); err != nil || len(page.Records) != 1 || seen != 1 {
		t.Errorf("%+v, %v; the middleware has seen %d", page, err, seen)
	}
}
