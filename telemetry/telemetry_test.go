package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/projection"
	"github.com/dynajournal/dynajournal/projection/outbox"
	"github.com/dynajournal/dynajournal/serialization"
	"github.com/dynajournal/dynajournal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type opened struct{ By int }

var counterType = entity.Type[int64, opened]{
	Name:   "counter",
	Evolve: func(n int64, e opened) int64 { return n + int64(e.By) },
	// The second event makes a snapshot due.
	Snapshots: entity.Snapshots{Every: 2},
}

// service is a journal with entities and a telemetry that is read by the test.
type service struct {
	*testing.T
	engine   *embedded.Engine
	journal  *dynajournal.Journal
	counters *entity.Entities[int64, opened]
	of       *telemetry.Telemetry
	reader   *sdkmetric.ManualReader
	spans    *tracetest.SpanRecorder
	tracer   trace.Tracer
}

func newService(t *testing.T, opts telemetry.Options, meters ...sdkmetric.Option) *service {
	t.Helper()
	s := &service{T: t, reader: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans))
	s.tracer = tracers.Tracer("test")
	opts.MeterProvider = sdkmetric.NewMeterProvider(append(meters, sdkmetric.WithReader(s.reader))...)
	opts.TracerProvider = tracers
	var err error
	if s.of, err = telemetry.New(opts); err != nil {
		t.Fatal(err)
	}
	if s.engine, err = embedded.OpenMemory(embedded.WithSweepInterval(0)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.engine.Close() })
	events := serialization.NewRegistry()
	if err := serialization.JSON[opened](events, "opened"); err != nil {
		t.Fatal(err)
	}
	config := dynajournal.Config{
		AWS: s.engine.AWSConfig(), Serialization: events, Hooks: []dynajournal.Hook{s.of.JournalHook()},
	}
	tables := dynajournal.TableOptions{Projections: true, Stream: true}
	if err := dynajournal.CreateTables(t.Context(), config, tables); err != nil {
		t.Fatal(err)
	}
	if s.journal, err = dynajournal.Open(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.journal.Close() })
	s.counters, err = entity.Open(s.journal, counterType, entity.Options{
		Metadata: s.of.Metadata, Hooks: []entity.Hook{s.of.EntityHook()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.counters.Close(context.Background()) })
	return s
}

// add runs a command within a span, and returns the span's context.
func (s *service) add(id string, by int) trace.SpanContext {
	s.Helper()
	ctx, span := s.tracer.Start(s.Context(), "request")
	defer span.End()
	_, err := s.counters.Update(ctx, id, func(tx *entity.Tx[int64, opened]) error {
		tx.Record(opened{by})
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	return span.SpanContext()
}

// denied makes the engine deny an operation.
func (s *service) denied(operation string) {
	s.Helper()
	if _, err := s.engine.Inject(embedded.Fault{Effect: embedded.EffectAccessDenied, Operation: operation}); err != nil {
		s.Fatal(err)
	}
}

// finish closes the entities and the journal, so that all spans have ended.
func (s *service) finish() {
	s.Helper()
	if err := errors.Join(s.counters.Close(s.Context()), s.journal.Close()); err != nil {
		s.Fatal(err)
	}
}

// ended returns the spans with a name that have ended.
func (s *service) ended(name string) []sdktrace.ReadOnlySpan {
	return slices.DeleteFunc(s.spans.Ended(), func(span sdktrace.ReadOnlySpan) bool { return span.Name() != name })
}

// below returns the only span with a name below another one.
func (s *service) below(parent trace.SpanContext, name string) sdktrace.ReadOnlySpan {
	s.Helper()
	var found []sdktrace.ReadOnlySpan
	for _, span := range s.ended(name) {
		if span.Parent().SpanID() == parent.SpanID() && span.SpanContext().TraceID() == parent.TraceID() {
			found = append(found, span)
		}
	}
	if len(found) == 0 {
		s.Fatalf("there is no span %q below %v", name, parent.SpanID())
	}
	return found[0]
}

// points returns the attributes of the data points of each metric.
func (s *service) points() map[string][]attribute.Set {
	s.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(s.Context(), &all); err != nil {
		s.Fatal(err)
	}
	found := map[string][]attribute.Set{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					found[m.Name] = append(found[m.Name], p.Attributes)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					found[m.Name] = append(found[m.Name], p.Attributes)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					found[m.Name] = append(found[m.Name], p.Attributes)
				}
			default:
				s.Errorf("%s has data of type %T", m.Name, m.Data)
			}
		}
	}
	return found
}

func TestSpans_CommandReachesItsRequests(t *testing.T) {
	s := newService(t, telemetry.Options{})
	parent := s.add("anna", 5)
	s.finish()
	command := s.below(parent, "command counter").SpanContext()
	load := s.below(command, "load counter").SpanContext()
	s.below(load, "Query "+dynajournal.DefaultJournalTable)
	write := s.below(command, "write counter").SpanContext()
	put := s.below(write, "PutItem "+dynajournal.DefaultJournalTable)
	attributes := attribute.NewSet(put.Attributes()...)
	for key, want := range map[attribute.Key]string{
		"db.system.name": "aws.dynamodb", "db.operation.name": "PutItem",
		"db.collection.name": dynajournal.DefaultJournalTable, "dynajournal.purpose": "append",
	} {
		if got, _ := attributes.Value(key); got.AsString() != want {
			t.Errorf("%s is %q, want %q", key, got.AsString(), want)
		}
	}
	if id, _ := attributes.Value("aws.request_id"); id.AsString() == "" {
		t.Error("the request has no id of the service")
	}
	if len(s.spans.Started()) != len(s.spans.Ended()) {
		t.Errorf("%d spans have started, %d have ended", len(s.spans.Started()), len(s.spans.Ended()))
	}
}

func TestSpans_FailedCommand(t *testing.T) {
	s := newService(t, telemetry.Options{})
	refused := errors.New("refused")
	_, err := s.counters.Update(t.Context(), "anna", func(*entity.Tx[int64, opened]) error { return refused })
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	command := s.ended("command counter")[0]
	if command.Status().Code != codes.Error || !slices.Contains(command.Attributes(), attribute.String("error.type", "other")) {
		t.Errorf("the span has the status %v and the attributes %v", command.Status(), command.Attributes())
	}
}

func TestSpans_PersistenceIDs(t *testing.T) {
	for name, ids := range map[string]telemetry.IDs{
		"hashed": telemetry.IDsHashed, "omitted": telemetry.IDsOmitted, "full": telemetry.IDsFull,
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, telemetry.Options{IDs: ids})
			s.add("anna", 1)
			s.denied("PutItem")
			if _, err := s.counters.Update(t.Context(), "anna", func(tx *entity.Tx[int64, opened]) error {
				tx.Record(opened{1})
				return nil
			}); !strings.Contains(fmt.Sprint(err), "anna") {
				t.Fatalf("%v does not have the id", err)
			}
			s.finish()
			shown, hashed := false, false
			for _, span := range s.spans.Ended() {
				shown = shown || strings.Contains(span.Status().Description, "anna")
				attributes := span.Attributes()
				for _, event := range span.Events() {
					attributes = append(attributes, event.Attributes...)
				}
				for _, kv := range attributes {
					shown = shown || strings.Contains(kv.Value.String(), "anna")
					hashed = hashed || kv.Key == "dynajournal.persistence_id.hash"
				}
			}
			if shown != (ids == telemetry.IDsFull) || hashed != (ids == telemetry.IDsHashed) {
				t.Errorf("a span shows the id: %v, and a hash: %v", shown, hashed)
			}
		})
	}
}

func TestTrace_ReachesHandlerAndTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, telemetry.Options{})
		parent := s.add("anna", 5)
		var handled, sent trace.SpanContext
		var message outbox.Message
		s.group(func(ctx context.Context, event dynajournal.Event) error {
			handled = trace.SpanContextFromContext(s.of.Extract(ctx, event))
			return nil
		}, func(ctx context.Context, m outbox.Message) error {
			sent, message = trace.SpanContextFromContext(ctx), m
			return nil
		})
		time.Sleep(time.Minute) // in the bubble
		synctest.Wait()
		if handled.TraceID() != parent.TraceID() || !handled.IsRemote() {
			t.Errorf("the event is of the trace %v, want %v", handled.TraceID(), parent.TraceID())
		}
		if header := message.Headers["traceparent"]; !strings.Contains(header, parent.TraceID().String()) || message.Headers["own"] != "header" {
			t.Errorf("the message has the headers %v, want the trace %v", message.Headers, parent.TraceID())
		}
		span := s.ended("send bank/out")
		if len(span) != 1 || span[0].SpanContext().SpanID() != sent.SpanID() || span[0].SpanKind() != trace.SpanKindProducer {
			t.Errorf("the target has the span %v, want one of %v", sent.SpanID(), span)
		}
	})
}

// group runs a group with a projection and an outbox until the test ends. It reads the stream. The
// target of the outbox may be nil.
func (s *service) group(handle projection.HandlerFunc, target outbox.TargetFunc) *projection.Group {
	s.Helper()
	if target == nil {
		target = func(context.Context, outbox.Message) error { return nil }
	}
	messages := s.of.Messages(func(context.Context, dynajournal.Event) ([]outbox.Message, error) {
		return []outbox.Message{{Topic: "opened", Headers: map[string]string{"own": "header"}}}, nil
	})
	group, err := projection.New(s.journal, projection.Config{
		Name: "bank", Hooks: []projection.Hook{s.of.ProjectionHook()}, Attempts: 1, StuckAfter: -1,
		RetryShortest: time.Millisecond, RetryLongest: time.Millisecond,
		Source: projection.Streams(dynamodbstreams.NewFromConfig(s.engine.AWSConfig()), projection.StreamsOptions{
			LeaseTimeout: time.Second, PerSecond: -1, Poll: 250 * time.Millisecond,
		}),
	}, projection.AtLeastOnce("balances", handle), outbox.New("out", target, messages))
	if err != nil {
		s.Fatal(err)
	}
	ctx, stop := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()
	s.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			s.Errorf("Run: %v", err)
		}
	})
	return group
}

// rare are the metrics that need losses or waits, which this test does not make.
var rare = map[string]bool{
	"dynajournal.holes": true, "dynajournal.losses": true, "dynajournal.entity.conflicts": true,
	"dynajournal.group_commit.size": true, "dynajournal.numbers.sealed": true, "dynajournal.projection.gaps": true,
	"dynajournal.projection.purges": true, "dynajournal.projection.claims": true,
}

func TestMetrics_HaveData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, telemetry.Options{})
		for range 4 {
			s.add("anna", 1)
		}
		s.add("bert", 1)
		registration := s.observe(s.group(func(_ context.Context, event dynajournal.Event) error {
			if event.PersistenceID == "counter|bert" {
				return errors.New("refused")
			}
			return nil
		}, nil))
		if err := s.counters.Drop(t.Context(), "anna"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // in the bubble
		synctest.Wait()
		found := s.points()
		for _, m := range telemetry.Metrics {
			if len(found[m.Name]) == 0 && !rare[m.Name] {
				t.Errorf("there is no data of %s", m.Name)
			}
		}
		for name, sets := range found {
			for _, set := range sets {
				for _, kv := range set.ToSlice() {
					if value := kv.Value.String(); strings.Contains(value, "anna") || strings.Contains(value, "bert") {
						t.Errorf("%s has the attribute %s=%s", name, kv.Key, value)
					}
				}
			}
		}
		if err := registration.Unregister(); err != nil {
			t.Error(err)
		}
	})
}

// observe observes the journal, the entities and a group.
func (s *service) observe(group *projection.Group) metric.Registration {
	s.Helper()
	registration, err := s.of.Observe(s.journal, telemetry.Observed{
		Groups: []*projection.Group{group}, Entities: map[string]func() entity.Stats{"counter": s.counters.Stats},
	})
	if err != nil {
		s.Fatal(err)
	}
	return registration
}

func TestMetrics_ErrorsHaveAReason(t *testing.T) {
	s := newService(t, telemetry.Options{})
	s.denied("GetItem")
	if err := s.journal.Ping(t.Context()); !errors.Is(err, dynajournal.ErrDenied) {
		t.Fatalf("Ping: %v", err)
	}
	for _, name := range []string{"db.client.operation.duration", "dynajournal.request.attempts"} {
		found := slices.ContainsFunc(s.points()[name], func(set attribute.Set) bool {
			reason, _ := set.Value("error.type")
			return reason.AsString() == "denied"
		})
		if !found {
			t.Errorf("%s has no point with the reason denied", name)
		}
	}
}
