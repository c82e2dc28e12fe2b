package dynamo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// successes has a successful response to each operation that is sent directly.
var successes = map[string]string{
	"PutItem":    `{"ConsumedCapacity":{"TableName":"events","CapacityUnits":1}}`,
	"UpdateItem": `{"Attributes":{"seq":{"N":"7"}},"ConsumedCapacity":{"TableName":"events","CapacityUnits":1}}`,
	"GetItem":    `{"Item":{"par":{"S":"p"}},"ConsumedCapacity":{"TableName":"events","CapacityUnits":1}}`,
	"Query": `{"Items":[{"par":{"S":"p"}},{"par":{"S":"q"}}],"LastEvaluatedKey":{"par":{"S":"q"}},` +
		`"ConsumedCapacity":{"TableName":"events","CapacityUnits":0.5}}`,
	"BatchGetItem": `{"Responses":{"events":[{"par":{"S":"p"},"num":{"N":"0"}}]},"UnprocessedKeys":{},` +
		`"ConsumedCapacity":[{"TableName":"events","CapacityUnits":2}]}`,
	"BatchExecuteStatement": `{"Responses":[{},{}],"ConsumedCapacity":[{"TableName":"events","CapacityUnits":1},{"TableName":"events","CapacityUnits":2}]}`,
}

// frequent has a function for each operation that is sent directly. It sends a request.
var frequent = map[string]func(ctx context.Context, m *dynamo.Meter, c *dynamo.Client) (any, error){
	"PutItem": func(ctx context.Context, m *dynamo.Meter, c *dynamo.Client) (any, error) {
		return nil, c.Put(ctx, m, dynamo.Put{Table: table, Item: key(1), Condition: "attribute_not_exists(par)"})
	},
	"UpdateItem": func(ctx context.Context, m *dynamo.Meter, c *dynamo.Client) (any, error) {
		return c.Update(ctx, m, dynamo.Update{
			Table: table, Key: key(1), Expression: "SET seq = :seq", Condition: "attribute_exists(par)",
			Values: dynamo.Attributes{":seq": &types.AttributeValueMemberN{Value: "7"}},
		})
	},
	"GetItem": func(ctx context.Context, m *dynamo.Meter, c *dynamo.Client) (any, error) {
		return c.Get(ctx, m, table, key(1))
	},
	"Query": func(ctx context.Context, m *dynamo.Meter, c *dynamo.Client) (any, error) {
		page, err := c.Query(ctx, m, &dynamodb.QueryInput{TableName: aws.String(table)})
		return []any{page.Items, page.Next}, err
	},
	"QueryItems": func(ctx context.Context, m *dynamo.Meter, c *dynamo.Client) (any, error) {
		var taken taken
		next, err := c.QueryItems(ctx, m, &dynamodb.QueryInput{TableName: aws.String(table)}, &taken, dynamo.Slot{})
		if err != nil {
			taken.Start() // the items taken do not count
		}
		return []any{taken.pars, next}, err
	},
	"BatchGetItem": func(ctx context.Context, m *dynamo.Meter, c *dynamo.Client) (any, error) {
		return c.BatchGet(ctx, m, table, keys(2))
	},
	"BatchExecuteStatement": func(ctx context.Context, m *dynamo.Meter, c *dynamo.Client) (any, error) {
		g := c.NewGroup(dynamo.GroupOptions{Table: table, Context: ctx, Refused: func(error) {}})
		defer g.Close()
		s := g.Insert(ctx, m, dynamo.Insert{ID: "p", Items: keys(2), Sizes: []int{1, 1}, Condition: "attribute_not_exists(par)"})
		<-s.Done()
		return nil, errors.Join(s.Outcomes()...)
	},
}

// taken records the partition of each item.
type taken struct{ pars []string }

// Start starts a page.
func (t *taken) Start() { t.pars = nil }

// Take takes an item.
func (t *taken) Take(item dynamo.Item) {
	v, _ := item.Get("par")
	par, _ := v.(*types.AttributeValueMemberS)
	t.pars = append(t.pars, fmt.Sprintf("%+v", par))
}

// oddResponses are responses to the second request of each kind, in addition to failures.
var oddResponses = map[string]step{
	"a truncated response": truncated,
	"a success without sum": func(r *http.Request) (*http.Response, error) {
		response, err := succeed(r)
		response.Header.Del("X-Amz-Crc32")
		return response, err
	},
	"an empty response":        summed(ok(``)),
	"an empty response, unsum": ok(``),
	"an array":                 summed(ok(`[]`)),
	"a null":                   summed(ok(`null`)),
	"an empty object":          summed(ok(`{}`)),
	"a response with a rest":   summed(ok(`{} x`)),
	"no content":               summed(respond(http.StatusNoContent, ``)),
	"created":                  summed(respond(http.StatusCreated, `{}`)),
	"a redirect":               respond(http.StatusTemporaryRedirect, ``, "Location", "http://elsewhere.invalid/"),
	"not modified":             summed(respond(http.StatusNotModified, ``)),
	"a wrong sum":              respond(http.StatusOK, `{}`, "X-Amz-Crc32", "1"),
	"a sum that is no number":  respond(http.StatusOK, `{}`, "X-Amz-Crc32", "x"),
	"an error with status 200": summed(ok(
		`{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"m"}`)),
	"a failed condition": summed(respond(http.StatusBadRequest,
		`{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"m","Item":{"par":{"S":"p"}}}`)),
	"an expired token":  summed(refuse(http.StatusBadRequest, "ExpiredTokenException")),
	"a wrong signature": summed(refuse(http.StatusBadRequest, "InvalidSignatureException", "Date", "Sat, 01 Jan 2000 01:00:00 GMT")),
	"statements that failed": summed(ok(`{"Responses":[{"Error":{"Code":"DuplicateItem","Message":"m"}},{}],` +
		`"ConsumedCapacity":[{"TableName":"events","CapacityUnits":1},{"TableName":"events","CapacityUnits":2}]}`)),
	"too few responses": summed(ok(`{"Responses":[{}]}`)),
	"left-overs": summed(ok(`{"Responses":{"events":[]},"UnprocessedKeys":{"events":{"Keys":[{"par":{"S":"p"},"num":{"N":"0"}}],"ConsistentRead":true}},` +
		`"ConsumedCapacity":[{"TableName":"events","CapacityUnits":1}]}`)),
	"another type":   summed(ok(`{"Items":[{"par":{"S":"p"},"flag":{"BOOL":true}}]}`)),
	"two lists":      summed(ok(`{"Items":[{"par":{"S":"p"}}],"Items":[]}`)),
	"part of a list": summed(ok(`{"Items":[{"par":{"S":"p"}}],"Items":[],"Other":1}`)),
	"units of an index": summed(ok(`{"Responses":[{},{}],"ConsumedCapacity":{"TableName":"events","CapacityUnits":3,` +
		`"LocalSecondaryIndexes":{"i":{"CapacityUnits":1}}}}`)),
	"too long": func(r *http.Request) (*http.Response, error) {
		response, err := respond(http.StatusOK, `{}`, "X-Amz-Crc32", "1")(r)
		response.ContentLength = 1 << 40
		return response, err
	},
	"a response that hangs": func(r *http.Request) (*http.Response, error) {
		response, err := respond(http.StatusOK, `{}`, "X-Amz-Crc32", "1")(r)
		response.Body = hangingBody{r.Context()}
		return response, err
	},
	"a response of unknown length": func(r *http.Request) (*http.Response, error) {
		response, err := summed(ok(`{"Responses":[{},{}]}`))(r)
		response.ContentLength = -1
		return response, err
	},
	"bytes of another encoding": summed(respond(http.StatusOK, "\x1f\x8b\x08\x00", "Content-Encoding", "gzip")),
}

// outcome is the result of a request as the caller, the meter and the observer see it.
type outcome struct {
	got, failure string
	cost         dynamo.Cost
	attempts     []string
	// direct is true if the second request was sent directly.
	direct bool
}

// succeed responds with a success of the operation.
func succeed(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return summed(ok(successes[operation]))(r)
}

// outcomeOf sends a request twice. The first request succeeds. The second one gets the steps.
func outcomeOf(t *testing.T, of string, sdk bool, steps ...step) outcome {
	t.Helper()
	var mu sync.Mutex
	var o outcome
	s := newScript(append([]step{succeed}, steps...)...)
	c := client(t, s, func(opts *dynamo.Options) {
		opts.SDKCodec = sdk
		opts.Observe = func(_ context.Context, attempt dynamo.Attempt) {
			mu.Lock()
			defer mu.Unlock()
			o.attempts = append(o.attempts, fmt.Sprintf("%s on %s with %d statements, attempt %d, %+v, %s",
				attempt.Operation, attempt.Table, attempt.Statements, attempt.Number, attempt.Cost, failureOf(attempt.Err)))
		}
	})
	send := frequent[of]
	if _, err := send(t.Context(), &dynamo.Meter{}, c); err != nil {
		t.Fatalf("the first request: %v", err)
	}
	var m dynamo.Meter
	got, err := send(t.Context(), &m, c)
	o.got, o.failure, o.cost, o.direct = printed(got), failureOf(err), m.Cost(), !bySDK(s.attempts()[1])
	slices.Sort(o.attempts) // the items of a group may finally be put singly and concurrently
	return o
}

// printed returns a value as text, including the values it points to.
func printed(got any) string {
	text, err := json.Marshal(got)
	return fmt.Sprintf("%s %v", text, err)
}

// failureOf returns the properties of an error that callers can see, as text.
func failureOf(err error) string {
	if err == nil {
		return "success"
	}
	var says []string
	for _, reason := range []error{
		dynamo.ErrThrottled, dynamo.ErrUnavailable, dynamo.ErrDenied, dynamo.ErrTableNotFound, dynamo.ErrInvalidRequest, dynamo.ErrConditionFailed,
		dynamo.ErrCollectionFull, context.DeadlineExceeded, context.Canceled, io.ErrUnexpectedEOF,
	} {
		if errors.Is(err, reason) {
			says = append(says, reason.Error())
		}
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		says = append(says, "code "+api.ErrorCode())
	}
	if request, ok := errors.AsType[*dynamo.RequestError](err); ok {
		says = append(says, fmt.Sprintf("%s on %s, attempts %d, maybe applied %t", request.Operation, request.Table, request.Attempts, request.MaybeApplied))
	}
	if !errors.Is(err, context.DeadlineExceeded) { // its text differs
		says = append(says, err.Error())
	}
	return fmt.Sprintf("%s; old item %d", strings.Join(says, "; "), len(dynamo.OldItem(err)))
}

// Every request is sent once by the SDK alone and once directly. Callers, meters and observers must
// see the same outcome.
func TestDirectRequests_SameOutcomesAsSDK(t *testing.T) {
	t.Parallel()
	responses := maps.Clone(oddResponses)
	for name, f := range failures {
		responses[name], responses[name+", with its sum"] = f.fail, summed(f.fail)
	}
	for of := range frequent {
		for name, response := range responses {
			for end, steps := range map[string][]step{"once": {response, succeed}, "for ever": {response}} {
				if (isThrottling(name) || name == "left-overs") && end == "for ever" {
					continue // the number of attempts is random
				}
				t.Run(of+"/"+name+"/"+end, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						want, got := outcomeOf(t, of, true, steps...), outcomeOf(t, of, false, steps...)
						if want.direct || !got.direct {
							t.Fatalf("sent directly: %t, and %t with SDKCodec", got.direct, want.direct)
						}
						got.direct = false
						if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
							t.Errorf("sent directly\n%s\nby the SDK\n%s", g, w)
						}
					})
				})
			}
		}
	}
}
