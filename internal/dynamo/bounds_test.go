package dynamo_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

func TestAttemptThatHangsEndsAtTheAttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(hang, ok(`{}`))
		start := time.Now()
		if err := put(t, client(t, s, func(o *dynamo.Options) { o.AttemptTimeout = 7 * time.Second })); err != nil {
			t.Fatal(err)
		}
		const slack = time.Millisecond // the pause
		if took := time.Since(start); took < 7*time.Second || took > 7*time.Second+slack {
			t.Errorf("it took %v", took)
		}
	})
}

func TestResponseThatHangsEndsAtTheAttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(r *http.Request) (*http.Response, error) {
			response, err := ok(`{}`)(r)
			response.Body = hangingBody{r.Context()}
			return response, err
		}
		s := newScript(slow, ok(`{}`))
		if _, err := get(t, client(t, s)); err != nil || len(s.attempts()) != 2 {
			t.Errorf("%d attempts, error %v", len(s.attempts()), err)
		}
	})
}

type hangingBody struct{ ctx context.Context }

func (b hangingBody) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, b.ctx.Err() }
func (b hangingBody) Close() error             { return nil }

func TestRequestEndsAtTheOperationTimeout(t *testing.T) {
	for name, fail := range map[string]step{"hanging": hang, "throttled": throttle(), "unavailable": reset} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := client(t, newScript(fail), func(o *dynamo.Options) {
					o.Retries, o.BackoffBase, o.OperationTimeout = 1000, time.Second, 10*time.Second
				})
				start := time.Now()
				err := put(t, c)
				reason := context.DeadlineExceeded
				if name == "throttled" {
					reason = dynamo.ErrThrottled
				}
				if !errors.Is(err, reason) || time.Since(start) != 10*time.Second {
					t.Errorf("after %v: %v", time.Since(start), err)
				}
			})
		})
	}
}

func TestOperationTimeoutBoundsABatchThatIsNeverDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client(t, newScript(leaveAll), func(o *dynamo.Options) {
			o.Retries, o.BackoffBase, o.OperationTimeout = 1000, time.Second, 10*time.Second
		})
		start := time.Now()
		err := c.BatchWrite(t.Context(), &dynamo.Meter{}, table, writes(3), nil)
		if !errors.Is(err, dynamo.ErrThrottled) || time.Since(start) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestPausesDoubleUpToTheCapWithFullJitter(t *testing.T) {
	const base, most, retries, runs = time.Millisecond, 20 * time.Millisecond, 10, 200
	longest := make([]time.Duration, retries)
	synctest.Test(t, func(t *testing.T) {
		for range runs {
			s := newScript(noConnection)
			_ = put(t, client(t, s, func(o *dynamo.Options) { o.Retries, o.BackoffBase, o.BackoffCap = retries, base, most }))
			attempts := s.attempts()
			if len(attempts) != retries+1 {
				t.Fatalf("%d attempts", len(attempts))
			}
			for i := range retries {
				pause := attempts[i+1].at.Sub(attempts[i].at)
				if pause > min(base<<i, most) {
					t.Fatalf("pause %d is %v", i, pause)
				}
				longest[i] = max(longest[i], pause)
			}
		}
	})
	for i, pause := range longest { // 200 pauses in the lower half have a probability of 2^-200
		if pause <= min(base<<i, most)/2 {
			t.Errorf("pause %d is never over %v", i, pause)
		}
	}
}

func TestPause_BoundedForManyRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(noConnection)
		_ = put(t, client(t, s, func(o *dynamo.Options) {
			o.Retries, o.BackoffBase, o.BackoffCap, o.OperationTimeout = 200, time.Hour, time.Second, time.Hour
		}))
		attempts := s.attempts()
		if len(attempts) != 201 {
			t.Errorf("%d attempts", len(attempts))
		}
		for i := range len(attempts) - 1 {
			if pause := attempts[i+1].at.Sub(attempts[i].at); pause > time.Second {
				t.Errorf("pause %d is %v", i, pause)
			}
		}
	})
}

// A pause of zero would be a timer that fires before anything receives from it: see attempts.pause.
func TestPause_NeverZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const retries = 100
		start := time.Now()
		_ = put(t, client(t, newScript(noConnection), func(o *dynamo.Options) {
			o.Retries, o.BackoffBase, o.BackoffCap = retries, 1, 1
		}))
		if waited := time.Since(start); waited != retries {
			t.Errorf("%d pauses of at most 1 ns took %v", retries, waited)
		}
	})
}

func TestMaxInFlight_NotExceeded(t *testing.T) {
	const pool, callers = 3, 20
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		under, most := 0, 0
		release := make(chan struct{})
		s := newScript(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			under++
			most = max(most, under)
			mu.Unlock()
			<-release
			mu.Lock()
			under--
			mu.Unlock()
			return ok(`{}`)(r)
		})
		c := client(t, s, func(o *dynamo.Options) { o.MaxInFlight = pool })
		var done sync.WaitGroup
		for range callers {
			done.Go(func() {
				if err := put(t, c); err != nil {
					t.Error(err)
				}
			})
		}
		for range callers {
			synctest.Wait() // every caller hangs in a request or waits for its slot
			release <- struct{}{}
		}
		done.Wait()
		if most != pool || len(s.attempts()) != callers {
			t.Errorf("%d of %d requests at once, the pool holds %d", most, len(s.attempts()), pool)
		}
	})
}

func TestPause_FreesTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(throttle(), ok(`{}`), ok(`{}`))
		c := client(t, s, func(o *dynamo.Options) {
			o.MaxInFlight, o.BackoffBase, o.BackoffCap = 1, time.Hour, time.Hour
			o.OperationTimeout = 2 * time.Hour
		})
		first := make(chan error)
		go func() { first <- put(t, c) }()
		synctest.Wait() // until the first pauses
		start := time.Now()
		if err := put(t, c); err != nil || time.Since(start) != 0 {
			t.Errorf("the second took %v: %v", time.Since(start), err)
		}
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}

func TestWaitForASlotEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(hang)
		c := client(t, s, func(o *dynamo.Options) { o.MaxInFlight = 1 })
		ctx, cancel := context.WithCancel(t.Context())
		hanging := make(chan struct{})
		go func() {
			defer close(hanging)
			_, _ = c.Get(ctx, &dynamo.Meter{}, table, key(1))
		}()
		synctest.Wait()
		waiting, give := context.WithTimeout(t.Context(), time.Second)
		defer give()
		err := c.Put(waiting, &dynamo.Meter{}, dynamo.Put{Table: table, Item: key(1)})
		var request *dynamo.RequestError
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &request) || request.Attempts != 0 || request.MaybeApplied {
			t.Errorf("error %#v", err)
		}
		cancel()
		<-hanging
	})
}

func TestOperationTimeout_StartsWithTheSlot(t *testing.T) {
	for name, send := range map[string]func(*testing.T, *dynamo.Client) error{
		"a request": put,
		"a batch": func(t *testing.T, c *dynamo.Client) error {
			t.Helper()
			return c.BatchWrite(t.Context(), &dynamo.Meter{}, table, []types.WriteRequest{{PutRequest: &types.PutRequest{Item: key(1)}}}, nil)
		},
		"a group's request": func(t *testing.T, c *dynamo.Client) error {
			t.Helper()
			return insert(t, groupOn(t, c), 1, 100)[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := client(t, newScript(hang, hang, ok(`{}`)), func(o *dynamo.Options) {
					o.MaxInFlight, o.Retries, o.AttemptTimeout, o.OperationTimeout = 1, 0, time.Minute, 10*time.Second
				})
				var hanging sync.WaitGroup
				for range 2 {
					hanging.Go(func() {
						if err := put(t, c); !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("a request that hangs: %v", err)
						}
					})
					synctest.Wait() // until one request hangs and the other waits
				}
				start := time.Now()
				if err := send(t, c); err != nil || time.Since(start) != 20*time.Second {
					t.Errorf("after %v: %v", time.Since(start), err)
				}
				hanging.Wait()
			})
		})
	}
}

// The second request gets the only slot when the first request is throttled, and takes longer than
// the operation timeout of the first.
func TestSlot_WaitOfSecondAttemptEndsAtOperationTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return throttle()(r)
		}
		c := client(t, newScript(slow, hang), func(o *dynamo.Options) {
			o.MaxInFlight, o.AttemptTimeout, o.OperationTimeout = 1, time.Hour, 10*time.Second
		})
		start, first := time.Now(), make(chan error)
		go func() { first <- put(t, c) }()
		synctest.Wait() // until the first is sent
		second := make(chan error)
		go func() { second <- put(t, c) }()
		if err := <-first; !errors.Is(err, dynamo.ErrThrottled) || time.Since(start) != 10*time.Second {
			t.Errorf("the first ended after %v: %v", time.Since(start), err)
		}
		if err := <-second; !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 11*time.Second {
			t.Errorf("the second ended after %v: %v", time.Since(start), err)
		}
	})
}

// After the request the slot is free again, whatever the outcome.
func TestReservedSlotIsUsedByTheFirstAttempt(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		script *script
		ctx    context.Context
		err    error
	}{
		"answered":        {newScript(ok(`{"Items":[]}`)), t.Context(), nil},
		"retried":         {newScript(throttle(), ok(`{"Items":[]}`)), t.Context(), nil},
		"refused":         {newScript(refuse(http.StatusBadRequest, "ValidationException")), t.Context(), dynamo.ErrInvalidRequest},
		"ended before it": {newScript(ok(`{}`)), ended, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, tt.script, func(o *dynamo.Options) { o.MaxInFlight = 1 })
			for range 2 {
				slot := c.Reserve()
				if !slot.IsAcquired() {
					t.Fatal("the free slot was not reserved")
				}
				if c.Reserve().IsAcquired() {
					t.Fatal("a second slot was reserved of one")
				}
				if _, err := c.QueryItems(tt.ctx, &dynamo.Meter{}, &dynamodb.QueryInput{TableName: aws.String(table)}, &taken{}, slot); !errors.Is(err, tt.err) {
					t.Errorf("error %v, want %v", err, tt.err)
				}
			}
		})
	}
}
