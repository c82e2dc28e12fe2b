package telemetry_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/projection/outbox"
	"github.com/dynajournal/dynajournal/telemetry"
)

// A drill breaks one thing and judges the metrics as the alert rules do: an operator who sees only
// metrics finds the fault. Each one names its alert.

// value returns the sum of the data points of a metric with all of the given attributes. A
// histogram has the number of its values; the sum of gauges is their largest value.
func (s *service) value(name string, with ...attribute.KeyValue) float64 {
	s.Helper()
	sum, largest := 0.0, math.Inf(-1)
	s.eachPoint(name, func(set attribute.Set, value float64) {
		for _, kv := range with {
			if got, ok := set.Value(kv.Key); !ok || got != kv.Value {
				return
			}
		}
		sum, largest = sum+value, max(largest, value)
	})
	for _, m := range telemetry.Metrics {
		if m.Name == name && m.Kind == telemetry.Gauge {
			return largest
		}
	}
	return sum
}

// eachPoint calls do with the data points of a metric.
func (s *service) eachPoint(name string, do func(attribute.Set, float64)) {
	s.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(s.Context(), &all); err != nil {
		s.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					do(p.Attributes, p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					do(p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					do(p.Attributes, float64(p.Count))
				}
			}
		}
	}
}

// above returns the share of the values of a histogram above a bound.
func (s *service) above(name string, bound float64) float64 {
	s.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(s.Context(), &all); err != nil {
		s.Fatal(err)
	}
	values, over := uint64(0), uint64(0)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			data, ok := m.Data.(metricdata.Histogram[float64])
			if m.Name != name || !ok {
				continue
			}
			for _, p := range data.DataPoints {
				for i, n := range p.BucketCounts {
					if values += n; i > 0 && p.Bounds[i-1] >= bound {
						over += n
					}
				}
			}
		}
	}
	return float64(over) / float64(values)
}

// breaks makes the engine fail as an operator would have it fail.
func (s *service) breaks(f embedded.Fault) {
	s.Helper()
	if _, err := s.engine.Inject(f); err != nil {
		s.Fatal(err)
	}
}

func reason(word string) attribute.KeyValue { return attribute.String("error.type", word) }

func accepts(context.Context, dynajournal.Event) error { return nil }

func TestDrill_ThrottledTable(t *testing.T) { // alert Throttled
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, telemetry.Options{})
		s.add("anna", 1)
		const name = "dynajournal.request.attempts"
		if n := s.value(name, reason("throttled")); n != 0 {
			t.Errorf("%v attempts are throttled before the drill", n)
		}
		s.breaks(embedded.Fault{Effect: embedded.EffectThrottling, Operation: "PutItem", Times: 3})
		s.add("anna", 1)
		if share := s.value(name, reason("throttled")) / s.value(name); share <= 0.02 {
			t.Errorf("%v of the attempts are throttled, and the alert needs 0.02", share)
		}
	})
}

func TestDrill_HotEntityOnTwoReplicas(t *testing.T) { // alert Contention
	s := newService(t, telemetry.Options{})
	other, err := entity.Open(s.journal, counterType, entity.Options{Hooks: []entity.Hook{s.of.EntityHook()}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(context.Background()) }()
	for range 10 {
		s.add("anna", 1)
		if _, err := other.Update(t.Context(), "anna", func(tx *entity.Tx[int64, opened]) error {
			tx.Record(opened{1})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	conflicts, commands := s.value("dynajournal.entity.conflicts"), s.value("dynajournal.entity.command.duration")
	if conflicts/commands <= 0.2 {
		t.Errorf("%v conflicts of %v commands, and the alert needs 0.2", conflicts, commands)
	}
}

func TestDrill_StarvedConnections(t *testing.T) { // alert ConnectionsStarved
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, telemetry.Options{})
		s.breaks(embedded.Fault{Effect: embedded.EffectSlow, Operation: "GetItem", Delay: time.Second, Applied: true})
		var pings errgroup.Group
		for range 200 {
			pings.Go(func() error { return s.journal.Ping(t.Context()) })
		}
		if err := pings.Wait(); err != nil {
			t.Fatal(err)
		}
		if share := s.above("db.client.connection.wait_time", 0.1); share <= 0.05 {
			t.Errorf("%v of the attempts wait for more than 0.1 s, and the alert needs 0.05", share)
		}
	})
}

func TestDrill_DeniedGetRecords(t *testing.T) { // alert StreamErrors
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, telemetry.Options{})
		s.observe(s.group(accepts, nil))
		time.Sleep(time.Minute)
		if n := s.value("dynajournal.projection.shards"); n < 1 {
			t.Errorf("the group reads %v shards before the drill", n)
		}
		s.denied("GetRecords")
		const name = "dynajournal.stream.read.duration"
		before := s.value(name, reason("denied"))
		time.Sleep(5 * time.Minute)
		if rate := (s.value(name, reason("denied")) - before) / 300; rate <= 0.1 {
			t.Errorf("%v reads a second are denied, and the alert needs 0.1", rate)
		}
		if lag := s.value("dynajournal.projection.stream.lag"); lag < 240 {
			t.Errorf("the stream lags by %v s", lag)
		}
	})
}

func TestDrill_StuckID(t *testing.T) { // alert Stuck
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, telemetry.Options{})
		s.observe(s.group(func(context.Context, dynajournal.Event) error { return errors.New("cannot handle this") }, nil))
		s.add("anna", 1)
		time.Sleep(time.Minute)
		if n := s.value("dynajournal.projection.stuck", attribute.String("messaging.destination.name", "bank/balances")); n != 1 {
			t.Errorf("%v persistence ids have become stuck, want 1", n)
		}
		if n := s.value("dynajournal.projection.stuck", attribute.String("messaging.destination.name", "bank/out")); n != 0 {
			t.Errorf("%v persistence ids of the outbox have become stuck", n)
		}
	})
}

func TestDrill_WebhookThatIsDown(t *testing.T) { // alert DebtOld
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, telemetry.Options{})
		s.observe(s.group(accepts, func(context.Context, outbox.Message) error { return errors.New("connection refused") }))
		s.add("anna", 1)
		time.Sleep(20 * time.Minute)
		out := attribute.String("messaging.destination.name", "bank/out")
		if age := s.value("dynajournal.projection.debt.age", out); age <= 900 {
			t.Errorf("the oldest debt is %v s old, and the alert needs 900 s", age)
		}
		if n := s.value("messaging.client.sent.messages", attribute.String("dynajournal.outbox.result", "failed")); n == 0 {
			t.Error("no message has failed")
		}
		if age := s.value("dynajournal.projection.debt.age", attribute.String("messaging.destination.name", "bank/balances")); age != 0 {
			t.Errorf("the other projection has a debt that is %v s old", age)
		}
	})
}

func TestDrill_RefusedMessages(t *testing.T) { // alert DeadLetters
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, telemetry.Options{})
		s.group(accepts, func(context.Context, outbox.Message) error { return outbox.ErrRefused })
		s.add("anna", 1)
		time.Sleep(time.Minute)
		if n := s.value("messaging.client.sent.messages", attribute.String("dynajournal.outbox.result", "refused")); n != 1 {
			t.Errorf("%v messages are refused, want 1", n)
		}
	})
}

// The journal table is replaced by an older copy, without the events of an entity that has a
// snapshot.
func TestDrill_RestoredTable(t *testing.T) { // alert Restored
	s := newService(t, telemetry.Options{})
	for range 4 {
		s.add("anna", 1) // saves snapshots
	}
	if err := s.counters.Close(t.Context()); err != nil { // waits for the snapshots
		t.Fatal(err)
	}
	s.forget("anna")
	restored, err := entity.Open(s.journal, counterType, entity.Options{Hooks: []entity.Hook{s.of.EntityHook()}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = restored.Close(context.Background()) }()
	_, err = restored.Update(t.Context(), "anna", func(tx *entity.Tx[int64, opened]) error {
		tx.Record(opened{1})
		return nil
	})
	if !errors.Is(err, dynajournal.ErrSnapshotAhead) {
		t.Errorf("Update: %v, want %v", err, dynajournal.ErrSnapshotAhead)
	}
	if n := s.value("dynajournal.entity.recovery.duration", reason("snapshot_ahead")); n == 0 {
		t.Error("no recovery has failed")
	}
}

// forget deletes the items of an entity from the journal table, as an older copy of the table does
// not have them.
func (s *service) forget(id string) {
	s.Helper()
	client := dynamodb.NewFromConfig(s.engine.AWSConfig())
	out, err := client.Scan(s.Context(), &dynamodb.ScanInput{
		TableName: aws.String(dynajournal.DefaultJournalTable), FilterExpression: aws.String("contains(par, :id)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":id": &types.AttributeValueMemberS{Value: id}},
	})
	if err != nil {
		s.Fatal(err)
	}
	for _, item := range out.Items {
		if _, err := client.DeleteItem(s.Context(), &dynamodb.DeleteItemInput{
			TableName: aws.String(dynajournal.DefaultJournalTable),
			Key:       map[string]types.AttributeValue{"par": item["par"], "num": item["num"]},
		}); err != nil {
			s.Fatal(err)
		}
	}
}
