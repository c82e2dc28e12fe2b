package dynamo_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

const capacityOfOne = `{"ConsumedCapacity":{"TableName":"events","CapacityUnits":1}}`

// onBothPaths runs a test with requests that the SDK sends, and with direct requests. The first
// request of an operation is always sent by the SDK.
func onBothPaths(t *testing.T, test func(t *testing.T, change func(*dynamo.Options))) {
	t.Helper()
	for _, sdk := range []bool{true, false} {
		t.Run(map[bool]string{true: "SDK", false: "direct"}[sdk], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, func(o *dynamo.Options) { o.SDKCodec = sdk }) })
		})
	}
}

func TestResponseWithoutAChecksumIsLostOnceTheServiceHasSentOne(t *testing.T) {
	for name, c := range map[string]struct {
		foreign step
		lost    bool
	}{
		"an object": {ok(`{}`), true},
		"a success": {ok(capacityOfOne), true},
		"nothing":   {ok(``), true},
		"a refusal": {refuse(http.StatusBadRequest, "ValidationException"), true},
		"a denial":  {refuse(http.StatusForbidden, "AccessDeniedException"), true},
		"a refusal with the service's content type only": {refuse(http.StatusBadRequest, "ValidationException"), true},
		"a refusal with a request id only": {respond(http.StatusBadRequest, `{"__type":"ValidationException"}`,
			"Content-Type", "application/json", "X-Amzn-Requestid", "id"), true},
		"a page with the service's marks":    {marked(respond(http.StatusForbidden, "<html>Forbidden</html>")), true},
		"a success with the service's marks": {marked(ok(capacityOfOne)), true},
		"the service's own":                  {summed(refuse(http.StatusBadRequest, "ValidationException")), false},
		"the service's own, without":         {marked(refuse(http.StatusBadRequest, "ValidationException")), false},
	} {
		t.Run(name, func(t *testing.T) {
			onBothPaths(t, func(t *testing.T, change func(*dynamo.Options)) {
				first := summed(ok(capacityOfOne))
				cl := client(t, newScript(first, first, c.foreign), change)
				puts(t, cl, 2)
				err := put(t, cl)
				if dynamo.MaybeApplied(err) != c.lost || errors.Is(err, dynamo.ErrUnavailable) != c.lost || err == nil {
					t.Errorf("error %v, want a lost response: %v", err, c.lost)
				}
			})
		})
	}
}

// marked adds the service's request id to responses. All responses of a script already have its
// content type.
func marked(s step) step {
	return func(r *http.Request) (*http.Response, error) {
		response, err := s(r)
		if err == nil {
			response.Header.Set("X-Amzn-Requestid", "MIVDAV6F0B5PKMD1TTB0MAH5DJVV4KQNSO5AEMVJF66Q9ASUAAJG")
		}
		return response, err
	}
}

// DynamoDB Local sends a checksum with successes, but not with errors.
func TestErrors_WithoutChecksum(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	operations := map[string]func(*testing.T, *dynamo.Client) error{
		"PutItem": put,
		"GetItem": func(t *testing.T, c *dynamo.Client) error { _, err := get(t, c); return err },
		"Query": func(t *testing.T, c *dynamo.Client) error {
			_, err := c.Query(t.Context(), &dynamo.Meter{}, &dynamodb.QueryInput{TableName: aws.String(table)})
			return err
		},
		"BatchGetItem": func(t *testing.T, c *dynamo.Client) error {
			_, err := c.BatchGet(t.Context(), &dynamo.Meter{}, table, keys(2))
			return err
		},
		"BatchExecuteStatement": func(t *testing.T, c *dynamo.Client) error {
			return insert(t, groupOn(t, c, func(o *dynamo.GroupOptions) { o.Refused = func(error) {} }), 2, 1)[0]
		},
		"DescribeTable": func(t *testing.T, c *dynamo.Client) error {
			_, err := c.DescribeTable(t.Context(), table)
			return err
		},
	}
	codes := []string{
		"ConditionalCheckFailedException", "ResourceNotFoundException", "ValidationException", "AccessDeniedException",
		"ResourceInUseException", // the requests with the codes below are repeated
		"ProvisionedThroughputExceededException", "ExpiredTokenException", "InternalServerError",
	}
	for _, code := range codes[:testsize.Of(5, len(codes))] {
		for name, send := range operations {
			t.Run(code+"/"+name, func(t *testing.T) {
				onBothPaths(t, func(t *testing.T, change func(*dynamo.Options)) {
					outcome := func(refusal step) (error, int) { //nolint:staticcheck // the error is the outcome
						s := newScript(summed(ok(capacityOfOne)), refusal)
						c := client(t, s, change, func(o *dynamo.Options) { o.BackoffBase, o.BackoffCap = time.Second, time.Second })
						puts(t, c, 1)
						return send(t, c), len(s.attempts())
					}
					// Pauses are random, so throttled requests differ in the number of attempts.
					err, sent := outcome(marked(refuse(http.StatusBadRequest, code)))
					want, wantSent := outcome(summed(refuse(http.StatusBadRequest, code)))
					if withoutAttempts(err) != withoutAttempts(want) || dynamo.MaybeApplied(err) != dynamo.MaybeApplied(want) {
						t.Errorf("error %v, want %v as with a checksum", err, want)
					}
					if sent != wantSent && !errors.Is(err, dynamo.ErrThrottled) {
						t.Errorf("%d requests, want %d as with a checksum", sent, wantSent)
					}
				})
			})
		}
	}
}

// withoutAttempts returns the text of an error without the number of attempts.
func withoutAttempts(err error) string {
	return regexp.MustCompile(` after \d+ attempts`).ReplaceAllString(fmt.Sprint(err), "")
}

func TestResponseWithoutCapacityIsLostOnceTheServiceHasSentIt(t *testing.T) {
	onBothPaths(t, func(t *testing.T, change func(*dynamo.Options)) {
		first := summed(ok(capacityOfOne))
		c := client(t, newScript(first, first, summed(ok(`{}`))), change)
		puts(t, c, 2)
		if err := put(t, c); !dynamo.MaybeApplied(err) {
			t.Errorf("put: %v, want a lost response", err)
		}
		if item, err := get(t, c); !errors.Is(err, dynamo.ErrUnavailable) {
			t.Errorf("get: %v, %v, want a lost response: there is nothing like an item, and nothing was consumed", item, err)
		}
	})
}

// A service without checksums is not DynamoDB. It may send the capacity for only some operations.
func TestCapacityIsRequiredByOperationOfAServiceWithoutChecksums(t *testing.T) {
	onBothPaths(t, func(t *testing.T, change func(*dynamo.Options)) {
		c := client(t, newScript(ok(capacityOfOne), ok(`{}`)), change)
		puts(t, c, 1)
		if _, err := get(t, c); err != nil {
			t.Errorf("get: %v", err)
		}
		if err := put(t, c); !dynamo.MaybeApplied(err) {
			t.Errorf("put: %v, want a lost response", err)
		}
	})
}

func TestServiceThatSendsNeitherChecksumNorCapacityIsAccepted(t *testing.T) {
	onBothPaths(t, func(t *testing.T, change func(*dynamo.Options)) {
		c := client(t, newScript(ok(`{}`)), change)
		puts(t, c, 3)
		if _, err := get(t, c); err != nil {
			t.Error(err)
		}
	})
}

func TestResponseWhoseStatementsAllFailedNeedsNoCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken := summed(ok(`{"Responses":[{"Error":{"Code":"DuplicateItem"}},{"Error":{"Code":"DuplicateItem"}}]}`))
		c := client(t, newScript(summed(ok(capacityOfOne)), taken))
		puts(t, c, 1)
		for _, err := range insert(t, groupOn(t, c), 2, 1) {
			if !errors.Is(err, dynamo.ErrConditionFailed) {
				t.Errorf("error %v, want a failed condition", err)
			}
		}
	})
}

func TestServiceTimeIsTakenFromTheServicesResponsesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dated := func(body string, date time.Time) step {
			return respond(http.StatusOK, body, "Date", date.UTC().Format(http.TimeFormat))
		}
		learns := clock.System()
		now := time.Now()
		c := client(t, newScript(summed(dated(capacityOfOne, now.Add(time.Hour))), dated(capacityOfOne, now.Add(9*time.Hour)), summed(ok(capacityOfOne))),
			func(o *dynamo.Options) { o.Clock = learns })
		puts(t, c, 1)
		if service, ok := learns.Service(); !ok || !service.Equal(now.Add(time.Hour).Truncate(time.Second)) {
			t.Errorf("the service's time is %v, %v; want an hour after %v", service, ok, now)
		}
		puts(t, c, 1) // the second response is not from the service
		if service, _ := learns.Service(); service.After(now.Add(2 * time.Hour)) {
			t.Errorf("the time %v was learned from a response that was not the service's", service)
		}
	})
}

var errCheck = errors.New("the check fails")

// failsAt returns a check that fails from its n-th call on.
func failsAt(n int) func() error {
	calls := 0
	return func() error {
		if calls++; calls >= n {
			return errCheck
		}
		return nil
	}
}

func TestCheckIsCalledBeforeEveryAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		fail  step
		maybe bool
	}{"throttled": {throttle(), false}, "lost": {reset, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(c.fail)
				err := client(t, s).Put(t.Context(), &dynamo.Meter{}, dynamo.Put{Table: table, Item: key(1), Before: failsAt(3)})
				if !errors.Is(err, errCheck) || dynamo.MaybeApplied(err) != c.maybe || len(s.attempts()) != 2 {
					t.Errorf("%d attempts, error %v", len(s.attempts()), err)
				}
			})
		})
	}
}

// together lets several writers, each with a check, share a request. It blocks the Busy requests
// before until all writers wait, and returns the outcomes of the writers.
func together(t *testing.T, s *script, opts func(*dynamo.Options), checks ...func() error) []error {
	t.Helper()
	gate := make(chan struct{})
	for range dynamo.Busy {
		s.steps = append([]step{func(r *http.Request) (*http.Response, error) {
			<-gate
			return ok(`{}`)(r)
		}}, s.steps...)
	}
	g := groupOn(t, client(t, s, opts), func(o *dynamo.GroupOptions) { o.Refused = func(error) {} })
	var all []*dynamo.Insertion
	start := func(i int, check func() error) {
		in := dynamo.Insert{ID: fmt.Sprint(i), Items: []dynamo.Attributes{key(i)}, Sizes: []int{1}, Condition: "c"}
		if check != nil {
			in.Before = func(clock.Moment) error { return check() }
		}
		all = append(all, g.Insert(t.Context(), &dynamo.Meter{}, in))
		synctest.Wait()
	}
	for i := range dynamo.Busy {
		start(i, nil)
	}
	for i, check := range checks {
		start(dynamo.Busy+i, check)
	}
	close(gate)
	var outcomes []error
	for i, s := range all {
		<-s.Done()
		if i >= dynamo.Busy {
			outcomes = append(outcomes, s.Outcomes()...)
		}
	}
	return outcomes
}

func TestFailedCheckOfOneWriterDoesNotAffectTheOthersOfItsRequest(t *testing.T) {
	for name, c := range map[string]struct {
		fail  step
		maybe bool
	}{"throttled": {throttle(), false}, "lost": {reset, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(c.fail, done(2))
				outcomes := together(t, s, func(*dynamo.Options) {}, nil, failsAt(2), nil)
				if outcomes[0] != nil || outcomes[2] != nil {
					t.Errorf("the others: %v, %v", outcomes[0], outcomes[2])
				}
				if err := outcomes[1]; !errors.Is(err, errCheck) || dynamo.MaybeApplied(err) != c.maybe {
					t.Errorf("error %v, may be applied %v; want %v", err, dynamo.MaybeApplied(err), c.maybe)
				}
			})
		})
	}
}

// Each writer then gets its own request.
func TestSharedRequestThatHangsIsSplitAfterAQuarterOfTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(hang, ok(`{}`))
		start := time.Now()
		for i, err := range together(t, s, func(*dynamo.Options) {}, nil, nil, nil) {
			if err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
		}
		if passed := time.Since(start); passed != time.Second {
			t.Errorf("it took %v, want a quarter of AttemptTimeout", passed)
		}
		if got := len(s.attempts()); got != dynamo.Busy+1+3 {
			t.Errorf("%d requests, want one for each writer after the one that hung", got)
		}
	})
}

func TestItemOfASharedRequestThatHungMayBeApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(hang, refuse(http.StatusBadRequest, "ConditionalCheckFailedException"))
		for i, err := range together(t, s, func(*dynamo.Options) {}, nil, nil) {
			if !errors.Is(err, dynamo.ErrConditionFailed) || !dynamo.MaybeApplied(err) {
				t.Errorf("writer %d: %v, want a failed condition after a lost response", i, err)
			}
		}
	})
}

// The pause is a minute, then doubles up to an hour. Refused and Accepted are called once.
func TestSharingThatWasDeniedIsTriedAgainAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		denied, called := true, []string{}
		s := &byStatements{response: func(r *http.Request) (*http.Response, error) {
			if denied {
				return refuse(http.StatusBadRequest, "AccessDeniedException")(r)
			}
			return done(2)(r)
		}}
		c := newClient(t, options(s))
		g := c.NewGroup(dynamo.GroupOptions{
			Table: table, Context: t.Context(),
			Refused:  func(error) { called = append(called, "refused") },
			Accepted: func() { called = append(called, "accepted") },
		})
		defer g.Close()
		writes := func(wantShared bool) {
			t.Helper()
			s.shared = 0
			for _, err := range insert(t, g, 2, 1) {
				if err != nil {
					t.Error(err)
				}
			}
			if (s.shared > 0) != wantShared {
				t.Errorf("%d shared requests, want any: %v", s.shared, wantShared)
			}
		}
		writes(true)
		for _, minutes := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
			time.Sleep(time.Duration(minutes)*time.Minute - time.Second)
			writes(false)
			time.Sleep(time.Second)
			writes(true)
		}
		denied = false
		time.Sleep(time.Hour)
		writes(true)
		writes(true)
		synctest.Wait() // for Refused or Accepted, which is called after the outcomes
		if got := fmt.Sprint(called); got != "[refused accepted]" {
			t.Errorf("called %s", got)
		}
	})
}

func TestServiceWithoutPartiQLGetsNoSecondSharedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &byStatements{response: refuse(http.StatusBadRequest, "UnknownOperationException")}
		g := groupOn(t, newClient(t, options(s)), func(o *dynamo.GroupOptions) { o.Refused = func(error) {} })
		insert(t, g, 2, 1)
		time.Sleep(24 * time.Hour)
		insert(t, g, 2, 1)
		if s.shared != 1 {
			t.Errorf("%d shared requests, want 1", s.shared)
		}
	})
}

// byStatements serves shared requests with response, and any other request with an empty success.
// Its requests arrive one after the other.
type byStatements struct {
	response step
	shared   int
}

// Do serves a request.
func (b *byStatements) Do(r *http.Request) (*http.Response, error) {
	if r.Header.Get("X-Amz-Target") == "DynamoDB_20120810.BatchExecuteStatement" {
		b.shared++
		return b.response(r)
	}
	return ok(`{}`)(r)
}
