package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/testseed"
)

const (
	// usual is how long a read takes, slow how long one that is sent a second time.
	usual, slow = 10 * time.Millisecond, time.Second
	// learned is the number of reads after which the client knows what is slow.
	learned = 100
)

// after delays a step, unless the request ends before.
func after(d time.Duration, do step) step {
	return func(r *http.Request) (*http.Response, error) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return do(r)
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// item is the response with an item.
func item(value string) step {
	return ok(fmt.Sprintf(`{"Item":{"v":{"S":%q}},"ConsumedCapacity":{"TableName":"events","CapacityUnits":1.5}}`, value))
}

// hedging returns a client that hedges reads and knows what is slow. Its next steps are those
// given.
func hedging(t *testing.T, steps ...step) (*dynamo.Client, *script) {
	t.Helper()
	all := make([]step, learned)
	for i := range all {
		all[i] = after(usual, item("usual"))
	}
	s := newScript(append(all, steps...)...)
	c := client(t, s, func(o *dynamo.Options) { o.HedgeReads = true })
	for range learned {
		hedged(t, c)
	}
	return c, s
}

// hedged reads an item in a hedged context.
func hedged(t *testing.T, c *dynamo.Client) (found dynamo.Attributes, cost dynamo.Cost, err error) {
	t.Helper()
	m := &dynamo.Meter{}
	found, err = c.Get(dynamo.Hedged(t.Context()), m, table, key(1))
	return found, m.Cost(), err
}

func TestSlowReadIsSentASecondTime(t *testing.T) {
	t.Parallel()
	broken := after(slow, reset)
	for name, test := range map[string]struct {
		first, second step
		took          time.Duration
		value         string
	}{
		"the second one is faster": {after(slow, item("first")), after(usual, item("second")), 2*usual + 1, "second"},
		"the first one is faster":  {after(3*usual, item("first")), after(slow, item("second")), 3 * usual, "first"},
		"the first one fails":      {broken, after(2*slow, item("second")), usual + 1 + 2*slow, "second"},
		"the second one fails":     {after(slow, item("first")), after(usual, reset), slow, "first"},
		"the second is throttled":  {after(slow, item("first")), after(usual, throttle()), slow, "first"},
		"the first is throttled":   {after(slow, throttle()), after(2*slow, item("second")), usual + 1 + 2*slow, "second"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := hedging(t, test.first, test.second)
				began := time.Now()
				found, cost, err := hedged(t, c)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("it takes %v, want %v", took, test.took)
				}
				if got := text(found); got != test.value {
					t.Errorf("the response is that with %q, want %q", got, test.value)
				}
				if want := (dynamo.Cost{Requests: 2, ReadUnits: 3}); cost != want {
					t.Errorf("it costs %+v, want %+v", cost, want)
				}
				if n := len(s.attempts()) - learned; n != 2 {
					t.Errorf("%d requests were sent, want 2", n)
				}
			})
		})
	}
}

func text(item dynamo.Attributes) string {
	return strings.Trim(fmt.Sprintf("%v", item["v"]), "&{} ")
}

// When both requests fail, the attempt has failed as the first one has.
func TestHedgedReadThatFailsTwiceIsRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := hedging(t, after(slow, internalError()), after(usual, reset), after(usual, item("third")))
		found, cost, err := hedged(t, c)
		if err != nil || text(found) != "third" {
			t.Errorf("%v, %v", found, err)
		}
		if want := (dynamo.Cost{Requests: 3, ReadUnits: 1.5}); cost != want {
			t.Errorf("it costs %+v, want %+v", cost, want)
		}
		if n := len(s.attempts()) - learned; n != 3 {
			t.Errorf("%d requests were sent, want 3", n)
		}
	})
}

func TestWritesAreNeverHedged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(after(usual, ok(`{"ConsumedCapacity":{"TableName":"events","CapacityUnits":1}}`)))
		c := client(t, s, func(o *dynamo.Options) { o.HedgeReads = true })
		write := func() {
			t.Helper()
			err := c.Put(dynamo.Hedged(t.Context()), &dynamo.Meter{}, dynamo.Put{Table: table, Item: key(1)})
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 2 * learned {
			write()
		}
		before := len(s.attempts())
		s.steps = append(make([]step, before), after(slow, ok(`{"ConsumedCapacity":{"TableName":"events","CapacityUnits":1}}`)))
		write()
		if n := len(s.attempts()) - before; n != 1 {
			t.Errorf("a slow write was sent %d times", n)
		}
	})
}

// Reads outside of recoveries, and those of clients that do not hedge, are sent once.
func TestOnlyHedgedReadsAreSentASecondTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := hedging(t, after(slow, item("first")))
		if _, err := get(t, c); err != nil {
			t.Fatal(err)
		}
		s.steps = []step{after(slow, item("first"))}
		never := client(t, s)
		before := len(s.attempts())
		if _, cost, err := hedged(t, never); err != nil || cost != (dynamo.Cost{Requests: 1, ReadUnits: 1.5}) {
			t.Errorf("%+v, %v", cost, err)
		}
		if n := len(s.attempts()) - before; before != learned+1 || n != 1 {
			t.Errorf("%d and %d requests were sent, want one each", before-learned, n)
		}
	})
}

// A service that has become slow gets few requests more.
func TestAtMostOneReadOfFiftyIsSentASecondTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := hedging(t, after(slow, item("slow")))
		const reads = 1000
		for range reads {
			if _, _, err := hedged(t, c); err != nil {
				t.Fatal(err)
			}
		}
		more := len(s.attempts()) - learned - reads
		if more < 1 || more > (learned+reads)/50 {
			t.Errorf("%d of %d reads were sent a second time", more, reads)
		}
	})
}

// A read is sent a second time only in a free place of those for requests.
func TestHedgesTakeOnlyFreeSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := hedging(t, after(slow, item("slow")))
		var reads sync.WaitGroup
		for range c.MaxInFlight() {
			reads.Go(func() {
				if _, err := c.Get(dynamo.Hedged(context.Background()), &dynamo.Meter{}, table, key(1)); err != nil {
					t.Error(err)
				}
			})
		}
		reads.Wait()
		if n := len(s.attempts()) - learned; n != c.MaxInFlight() {
			t.Errorf("%d requests were sent, want %d", n, c.MaxInFlight())
		}
	})
}

// A read ends with its caller's context, and so do both of its requests.
func TestHedgedReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := hedging(t, hang)
		ctx, cancel := context.WithTimeout(dynamo.Hedged(t.Context()), 5*usual)
		defer cancel()
		_, err := c.Get(ctx, &dynamo.Meter{}, table, key(1))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		if n := len(s.attempts()) - learned; n != 2 {
			t.Errorf("%d requests were sent, want 2", n)
		}
	})
}

// opened counts the bodies of responses that are not closed.
type opened struct {
	io.ReadCloser

	n    *atomic.Int64
	once sync.Once
}

func (o *opened) Close() error {
	o.once.Do(func() { o.n.Add(-1) })
	return o.ReadCloser.Close()
}

// Whichever request is faster and whatever fails, a read returns what was asked for, and each
// response is closed.
func TestHedgedReadsInARaceAreRight(t *testing.T) {
	t.Parallel()
	var open atomic.Int64
	random := testseed.NewShared(1)
	respond := func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		asked := string(body[strings.Index(string(body), `"N":"`)+5:])
		asked = asked[:strings.IndexByte(asked, '"')]
		d := time.Duration(random.IntN(300)) * time.Microsecond
		if random.IntN(20) == 0 {
			d = time.Duration(random.IntN(3000)) * time.Microsecond
		}
		do := item(asked)
		switch random.IntN(30) {
		case 0:
			do = reset
		case 1:
			do = throttle()
		}
		response, err := after(d, do)(r)
		if err == nil {
			open.Add(1)
			response.Body = &opened{ReadCloser: response.Body, n: &open}
		}
		return response, err
	}
	c := newClient(t, options(step(respond), func(o *dynamo.Options) {
		o.HedgeReads, o.MaxInFlight, o.Retries, o.BackoffBase = true, 8, 100, 1
	}))
	var reads sync.WaitGroup
	var requests atomic.Int64
	const readers, each = 4, 500
	for reader := range readers {
		reads.Go(func() {
			for i := range each {
				asked, m := reader*each+i, &dynamo.Meter{}
				found, err := c.Get(dynamo.Hedged(t.Context()), m, table, key(asked))
				if err != nil || text(found) != fmt.Sprint(asked) {
					t.Errorf("asked for %d: %v, %v", asked, found, err)
				}
				requests.Add(int64(m.Cost().Requests))
			}
		})
	}
	reads.Wait()
	t.Logf("%d requests for %d reads", requests.Load(), readers*each)
	// Those that are late are closed later.
	for deadline := time.Now().Add(time.Minute); open.Load() > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d responses are not closed", open.Load())
		}
		time.Sleep(time.Millisecond)
	}
}
