package dynamo_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// failures lists the ways in which an attempt can fail, with the expected handling.
var failures = map[string]struct {
	fail step
	// reason is the reason with which the request ends.
	reason error
	// retried is true if the request is retried.
	retried bool
	// ambiguous is true if the write may have been done.
	ambiguous bool
}{
	"throttled table":              {throttle(), dynamo.ErrThrottled, true, false},
	"throttled account":            {refuse(400, "RequestLimitExceeded"), dynamo.ErrThrottled, true, false},
	"throttled request":            {refuse(400, "ThrottlingException"), dynamo.ErrThrottled, true, false},
	"too many requests, no code":   {respond(429, `{}`), dynamo.ErrUnavailable, true, true},
	"transaction on the item":      {refuse(400, "TransactionConflictException"), dynamo.ErrThrottled, true, false},
	"replicated write on the item": {refuse(400, "ReplicatedWriteConflictException"), dynamo.ErrThrottled, true, false},
	"internal error":               {internalError(), dynamo.ErrUnavailable, true, true},
	"service unavailable":          {refuse(503, "ServiceUnavailable"), dynamo.ErrUnavailable, true, true},
	"unknown error with 500":       {refuse(500, "SomethingNew"), dynamo.ErrUnavailable, true, true},
	"bad gateway without a body":   {respond(502, ""), dynamo.ErrUnavailable, true, true},
	"connection reset":             {reset, dynamo.ErrUnavailable, true, true},
	"no connection":                {noConnection, dynamo.ErrUnavailable, true, false},
	"no response in time":          {hang, dynamo.ErrUnavailable, true, true},
	"garbage with 200":             {ok("\x00\x01 no json"), dynamo.ErrUnavailable, true, true},
	"HTML with 200":                {ok("<html>Welcome to the hotel's Wi-Fi</html>"), dynamo.ErrUnavailable, true, true},
	"time-out of a gateway":        {respond(408, ""), dynamo.ErrUnavailable, true, true},
	"not found by a gateway":       {respond(404, ""), dynamo.ErrUnavailable, true, true},
	"too large for a gateway":      {respond(413, ""), dynamo.ErrUnavailable, true, true},
	"client closed request":        {respond(499, ""), dynamo.ErrUnavailable, true, true},
	"400 of a gateway":             {respond(400, `{"error":"bad request"}`), dynamo.ErrUnavailable, true, true},
	"400 with garbage":             {respond(400, "\x00no json"), dynamo.ErrUnavailable, true, true},
	"400 without a body":           {respond(400, ""), dynamo.ErrUnavailable, true, true},
	"nothing with 200":             {ok(""), dynamo.ErrUnavailable, true, true},
	"HTML with 403":                {respond(403, "<html>Forbidden</html>"), dynamo.ErrUnavailable, true, true},
	"response that breaks off":     {truncated, dynamo.ErrUnavailable, true, true},
	"redirect":                     {respond(302, "", "Location", "http://elsewhere.invalid"), dynamo.ErrUnavailable, true, true},
	"condition that does not hold": {refuse(400, "ConditionalCheckFailedException"), dynamo.ErrConditionFailed, false, false},
	"table that does not exist":    {refuse(400, "ResourceNotFoundException"), dynamo.ErrTableNotFound, false, false},
	"full item collection":         {refuse(400, "ItemCollectionSizeLimitExceededException"), dynamo.ErrCollectionFull, false, false},
	"invalid request":              {refuse(400, "ValidationException"), dynamo.ErrInvalidRequest, false, false},
	"unknown error with 400":       {refuse(400, "SomethingNew"), dynamo.ErrUnavailable, true, true},
	"unknown operation":            {refuse(400, "UnknownOperationException"), dynamo.ErrInvalidRequest, false, false},
	"missing permission":           {refuse(400, "AccessDeniedException"), dynamo.ErrDenied, false, false},
	"wrong endpoint":               {refuse(421, "InvalidEndpointException"), dynamo.ErrUnavailable, true, false},
	"other token in use":           {refuse(400, "IdempotentParameterMismatchException"), dynamo.ErrInvalidRequest, false, false},
	"no backups yet":               {refuse(400, "ContinuousBackupsUnavailableException"), dynamo.ErrInvalidRequest, false, false},
	"no policy":                    {refuse(400, "PolicyNotFoundException"), dynamo.ErrInvalidRequest, false, false},
	"throttled by an edge":         {refuse(400, "RequestThrottledException"), dynamo.ErrThrottled, true, false},
	"throttled, another code":      {refuse(400, "RequestThrottled"), dynamo.ErrThrottled, true, false},
	"replicated write, short":      {refuse(400, "ReplicatedWriteConflict"), dynamo.ErrThrottled, true, false},
}

// isThrottling reports whether an attempt with a failure is repeated until the time of the request
// is over.
func isThrottling(failure string) bool { return strings.HasPrefix(failure, "throttled") }

func TestRetry_OnlyIfItCanHelp(t *testing.T) {
	for name, f := range failures {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(f.fail)
				start := time.Now()
				err := put(t, client(t, s))
				want := 1
				if f.retried {
					want = 1 + 3 // Options.Retries
				}
				if isThrottling(name) { // the number of attempts is random
					want = max(len(s.attempts()), 60)
					if time.Since(start) != time.Minute { // Options.OperationTimeout
						t.Errorf("it ended after %v", time.Since(start))
					}
				}
				if got := len(s.attempts()); got != want {
					t.Errorf("%d attempts, want %d", got, want)
				}
				if !errors.Is(err, f.reason) {
					t.Errorf("error %v, want %v", err, f.reason)
				}
				var request *dynamo.RequestError
				if !errors.As(err, &request) || request.Attempts != want || request.Operation != "PutItem" || request.Table != table {
					t.Errorf("error %#v does not name operation, table and %d attempts", err, want)
				}
			})
		})
	}
}

func TestAttemptAfterFailedOnesSucceeds(t *testing.T) {
	for name, f := range failures {
		if !f.retried {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(f.fail, f.fail, f.fail, ok(`{}`))
				if err := put(t, client(t, s)); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestNoRetriesMeansOneAttempt(t *testing.T) {
	s := newScript(throttle())
	err := put(t, client(t, s, func(o *dynamo.Options) { o.Retries = 0 }))
	if !errors.Is(err, dynamo.ErrThrottled) || len(s.attempts()) != 1 {
		t.Errorf("%d attempts, error %v", len(s.attempts()), err)
	}
}

func TestErrorOfAnotherServiceShowsItsStatus(t *testing.T) {
	s := newScript(respond(http.StatusForbidden, "<html>Forbidden</html>"))
	err := put(t, client(t, s, func(o *dynamo.Options) { o.Retries = 0 }))
	const want = `PutItem on table "events": DynamoDB is not available: a response with status 403 that is not DynamoDB's`
	if err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
		t.Errorf("error %q", err)
	}
}

func TestErrorOfDynamoDBShowsItsMessage(t *testing.T) {
	err := put(t, client(t, newScript(refuse(400, "ValidationException"))))
	const want = `PutItem on table "events": DynamoDB refuses the request: ValidationException: from the script`
	if err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestFailedConditionReturnsTheStoredItem(t *testing.T) {
	s := newScript(respond(400, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
		"message":"The conditional request failed","Item":{"num":{"N":"7"}}}`))
	err := put(t, client(t, s))
	if item := dynamo.OldItem(err); len(item) != 1 || item["num"] == nil {
		t.Errorf("old item %v", item)
	}
	if got := s.attempts()[0].body["ReturnValuesOnConditionCheckFailure"]; got != "ALL_OLD" {
		t.Errorf("asked for %v", got)
	}
	if item := dynamo.OldItem(errors.New("another error")); item != nil {
		t.Errorf("old item of another error: %v", item)
	}
}
