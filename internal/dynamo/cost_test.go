package dynamo_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

func TestCostHasTheUnitsDynamoDBReportsAndEveryAttempt(t *testing.T) {
	const one, batch = `{"Items":[],"ConsumedCapacity":{"TableName":"events","CapacityUnits":1.5}}`,
		`{"Responses":{},"ConsumedCapacity":[{"TableName":"events","CapacityUnits":1.5},{"TableName":"index","CapacityUnits":2}]}`
	for name, c := range map[string]struct {
		response string
		send     func(context.Context, *dynamo.Client, *dynamo.Meter) error
		want     dynamo.Cost
	}{
		"put": {one, func(ctx context.Context, c *dynamo.Client, m *dynamo.Meter) error {
			return c.Put(ctx, m, dynamo.Put{Table: table, Item: key(1)})
		}, dynamo.Cost{Requests: 2, WriteUnits: 1.5}},
		"get": {one, func(ctx context.Context, c *dynamo.Client, m *dynamo.Meter) error {
			_, err := c.Get(ctx, m, table, key(1))
			return err
		}, dynamo.Cost{Requests: 2, ReadUnits: 1.5}},
		"query": {one, func(ctx context.Context, c *dynamo.Client, m *dynamo.Meter) error {
			_, err := c.Query(ctx, m, &dynamodb.QueryInput{TableName: aws.String(table)})
			return err
		}, dynamo.Cost{Requests: 2, ReadUnits: 1.5}},
		"scan": {one, func(ctx context.Context, c *dynamo.Client, m *dynamo.Meter) error {
			_, err := c.Scan(ctx, m, &dynamodb.ScanInput{TableName: aws.String(table)})
			return err
		}, dynamo.Cost{Requests: 2, ReadUnits: 1.5}},
		"batch read": {batch, func(ctx context.Context, c *dynamo.Client, m *dynamo.Meter) error {
			_, err := c.BatchGet(ctx, m, table, keys(2))
			return err
		}, dynamo.Cost{Requests: 2, ReadUnits: 3.5}},
		"batch write": {batch, func(ctx context.Context, c *dynamo.Client, m *dynamo.Meter) error {
			return c.BatchWrite(ctx, m, table, writes(2), nil)
		}, dynamo.Cost{Requests: 2, WriteUnits: 3.5}},
		"put, where the service does not say": {`{}`, func(ctx context.Context, c *dynamo.Client, m *dynamo.Meter) error {
			return c.Put(ctx, m, dynamo.Put{Table: table, Item: key(1)})
		}, dynamo.Cost{Requests: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(throttle(), ok(c.response))
				var m dynamo.Meter
				if err := c.send(t.Context(), client(t, s), &m); err != nil {
					t.Fatal(err)
				}
				if got := m.Cost(); got != c.want {
					t.Errorf("cost %+v, want %+v", got, c.want)
				}
				if asked := s.attempts()[1].body["ReturnConsumedCapacity"]; asked != "TOTAL" {
					t.Errorf("asked for the capacity %v", asked)
				}
			})
		})
	}
}

func TestRequestThatWasNotSentCostsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var m dynamo.Meter
	err := client(t, newScript(ok(`{}`))).Put(ctx, &m, dynamo.Put{Table: table, Item: key(1)})
	if got := m.Cost(); err == nil || got != (dynamo.Cost{}) {
		t.Errorf("cost %+v, error %v", got, err)
	}
}

func TestMeterAddsUpConcurrentRequests(t *testing.T) {
	c := client(t, newScript(ok(`{"ConsumedCapacity":{"CapacityUnits":1}}`)))
	var m dynamo.Meter
	var done sync.WaitGroup
	for range 50 {
		done.Go(func() {
			if err := c.Put(t.Context(), &m, dynamo.Put{Table: table, Item: key(1)}); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if want := (dynamo.Cost{Requests: 50, WriteUnits: 50}); m.Cost() != want {
		t.Errorf("cost %+v, want %+v", m.Cost(), want)
	}
}

func TestCostsAdd(t *testing.T) {
	got := dynamo.Cost{Requests: 1, ReadUnits: 2, WriteUnits: 3}.Add(dynamo.Cost{Requests: 10, ReadUnits: 20, WriteUnits: 30})
	if want := (dynamo.Cost{Requests: 11, ReadUnits: 22, WriteUnits: 33}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestObserverSeesEveryAttempt(t *testing.T) {
	type ctxKey struct{}
	synctest.Test(t, func(t *testing.T) {
		var seen []dynamo.Attempt
		s := newScript(throttle(), hang, ok(`{"ConsumedCapacity":{"CapacityUnits":1}}`))
		c := client(t, s, func(o *dynamo.Options) {
			o.Observe = func(ctx context.Context, attempt dynamo.Attempt) {
				if ctx.Value(ctxKey{}) != "mine" {
					t.Error("it is not the operation's context")
				}
				seen = append(seen, attempt)
			}
		})
		ctx := context.WithValue(t.Context(), ctxKey{}, "mine")
		if err := c.Put(ctx, &dynamo.Meter{}, dynamo.Put{Table: table, Item: key(1)}); err != nil {
			t.Fatal(err)
		}
		if len(seen) != 3 {
			t.Fatalf("it saw %d attempts", len(seen))
		}
		for i, attempt := range seen {
			if attempt.Operation != "PutItem" || attempt.Table != table || attempt.Number != i+1 || attempt.Cost.Requests != 1 {
				t.Errorf("attempt %d is %+v", i+1, attempt)
			}
		}
		if seen[0].Err == nil || !errors.Is(seen[1].Err, context.DeadlineExceeded) || seen[1].Duration != options(s).AttemptTimeout {
			t.Errorf("failed attempts %+v, %+v", seen[0], seen[1])
		}
		if seen[2].Err != nil || seen[2].Cost.WriteUnits != 1 {
			t.Errorf("last attempt %+v", seen[2])
		}
	})
}
