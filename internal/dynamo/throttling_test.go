package dynamo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// withReason throttles with the service's reason.
func withReason(code, member string) step {
	return respond(http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#`+code+`","message":"too much","`+member+
		`":[{"reason":"TableWriteKeyRangeThroughputExceeded","resource":"arn:aws:dynamodb:r:1:table/events"}]}`)
}

func TestErrorOfAThrottledRequestHasTheReasons(t *testing.T) {
	for code, member := range map[string]string{
		"ThrottlingException": "throttlingReasons", "ProvisionedThroughputExceededException": "ThrottlingReasons",
		"RequestLimitExceeded": "ThrottlingReasons",
	} {
		t.Run(code, func(t *testing.T) {
			onBothPaths(t, func(t *testing.T, change func(*dynamo.Options)) {
				err := put(t, client(t, newScript(withReason(code, member)), change, shortly))
				const want = "too much (TableWriteKeyRangeThroughputExceeded of arn:aws:dynamodb:r:1:table/events)"
				if !errors.Is(err, dynamo.ErrThrottled) || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("error %v, want the reason", err)
				}
				var e *types.ThrottlingException
				if code == "ThrottlingException" && (!errors.As(err, &e) || len(e.ThrottlingReasons) != 1) {
					t.Errorf("the error of the SDK is %+v", e)
				}
			})
		})
	}
}

func TestThrottlingUsesUpNoRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := []step{throttle(), throttle(), throttle(), throttle(), throttle(), noConnection, noConnection, noConnection, ok(`{}`)}
		if err := put(t, client(t, newScript(steps...))); err != nil {
			t.Error(err)
		}
	})
}

func TestThrottledPause_NoBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(throttle())
		_ = put(t, client(t, s, func(o *dynamo.Options) { o.BackoffBase, o.BackoffCap = 1, 1 }))
		if got := len(s.attempts()); got < 1500 || got > 2500 {
			t.Errorf("%d attempts in a minute, want pauses of 32 ms in the mean", got)
		}
		all := s.attempts()
		for i := range len(all) - 1 {
			if pause := all[i+1].at.Sub(all[i].at); pause > 64*time.Millisecond {
				t.Errorf("pause %d is %v", i, pause)
			}
		}
	})
}

func TestThrottledRequestEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		err := client(t, newScript(throttle())).Put(ctx, &dynamo.Meter{}, dynamo.Put{Table: table, Item: key(1)})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, dynamo.ErrThrottled) || dynamo.MaybeApplied(err) || time.Since(start) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// replaceable is an HTTP client that can be replaced.
type replaceable struct {
	next atomic.Pointer[aws.HTTPClient]
}

// Do serves a request.
func (c *replaceable) Do(r *http.Request) (*http.Response, error) { return (*c.next.Load()).Do(r) }

// The other writers of the request get their outcome at once, and new writers are not delayed.
func TestGroup_ThrottledStatementDoesNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := newScript(ok(`{"Responses":[{},{"Error":{"Code":"ThrottlingError","Message":"too much"}},{}]}`))
		s.steps = append(s.steps, throttle())
		service := &replaceable{}
		service.next.Store(new(aws.HTTPClient(s)))
		g := groupOn(t, newClient(t, options(service)))
		in := dynamo.Insert{ID: "p", Condition: "c", Items: []dynamo.Attributes{key(1), key(2), key(3)}, Sizes: []int{1, 1, 1}}
		hot := g.Insert(t.Context(), &dynamo.Meter{}, in)
		synctest.Wait()
		service.next.Store(new(aws.HTTPClient(step(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err == nil && bytes.Contains(body, []byte(`{"N":"2"}`)) && time.Since(start) < 30*time.Second {
				return throttle()(r)
			}
			return ok(`{}`)(r)
		}))))
		// The throttled item does not count as in flight: the writes of others are sent at once.
		for i := range 5 {
			cold := dynamo.Insert{ID: fmt.Sprint(i), Condition: "c", Items: []dynamo.Attributes{key(10 + i)}, Sizes: []int{1}}
			sent := time.Now()
			written := g.Insert(t.Context(), &dynamo.Meter{}, cold)
			<-written.Done()
			if err := written.Outcomes()[0]; err != nil || !time.Now().Equal(sent) {
				t.Errorf("another write: after %v: %v", time.Since(sent), err)
			}
		}
		<-hot.Done()
		for i, err := range hot.Outcomes() {
			if err != nil {
				t.Errorf("item %d: %v", i, err)
			}
		}
		if took := time.Since(start); took < 30*time.Second || took > 32*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestNewAccessKey_RetriedOnceAfterPause(t *testing.T) {
	for _, code := range []string{"UnrecognizedClientException", "InvalidClientTokenId"} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			if err := put(t, client(t, newScript(refuse(400, code), ok(`{}`)))); err != nil || time.Since(start) != time.Second {
				t.Errorf("%s: after %v: %v", code, time.Since(start), err)
			}
			s := newScript(refuse(400, code))
			if err := put(t, client(t, s)); !errors.Is(err, dynamo.ErrDenied) || dynamo.MaybeApplied(err) || len(s.attempts()) != 2 {
				t.Errorf("%s: %d attempts, error %v", code, len(s.attempts()), err)
			}
		})
	}
}
