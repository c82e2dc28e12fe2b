package embedded

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics has the metrics that a Server returns at /metrics. Their labels have a bounded number of
// values: the known operations and error codes, and the existing tables.
type metrics struct {
	handler  http.Handler
	requests *prometheus.CounterVec
	// succeeded maps operations that have succeeded to their *successSeries. Looking up a series by
	// its labels takes longer.
	succeeded sync.Map
	throttled prometheus.Counter
	durations *prometheus.HistogramVec
	received  prometheus.Counter
	sent      prometheus.Counter
}

// successSeries are the series that a successful request of an operation changes.
type successSeries struct {
	requests  prometheus.Counter
	durations prometheus.Observer
}

// throttlingCodes are the error codes of throttled requests.
var throttlingCodes = map[string]bool{
	"ProvisionedThroughputExceededException": true, "ThrottlingException": true, "RequestLimitExceeded": true,
}

const metricSpace = "dynajournal_engine"

func metricName(name string) string { return prometheus.BuildFQName(metricSpace, "", name) }

func newMetrics(e *Engine, open *connections, bodies, responses *requestMemory) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metricName("requests_total"), Help: "Requests by operation and error code. The code of successful requests is OK.",
		}, []string{"operation", "code"}),
		throttled: prometheus.NewCounter(prometheus.CounterOpts{
			Name: metricName("throttled_requests_total"), Help: "Requests that were refused by throttling.",
		}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: metricName("request_duration_seconds"), Help: "Time from the headers of a request to the end of its response, by operation.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9),
		}, []string{"operation"}),
		received: prometheus.NewCounter(prometheus.CounterOpts{
			Name: metricName("received_bytes_total"), Help: "Bytes of request bodies, decompressed.",
		}),
		sent: prometheus.NewCounter(prometheus.CounterOpts{
			Name: metricName("sent_bytes_total"), Help: "Bytes of response bodies.",
		}),
	}
	started := float64(time.Now().UnixMilli()) / 1000
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metricName(name), Help: help}, value)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		m.requests, m.throttled, m.durations, m.received, m.sent, capacityCollector{e},
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: metricName("faults_injected_total"), Help: "Requests that were hit by an injected fault.",
		}, func() float64 { return float64(e.faults.injections()) }),
		gauge("open_connections", "Open connections.", func() float64 { return float64(open.count()) }),
		gauge("body_memory_bytes", "Memory of large request bodies, in bytes.", func() float64 {
			used, _ := bodies.usage()
			return float64(used)
		}),
		gauge("answer_memory_bytes", "Memory of responses, in bytes.", func() float64 {
			used, _ := responses.usage()
			return float64(used)
		}),
		gauge("waiting_requests", "Requests that wait for memory.", func() float64 {
			_, toArrive := bodies.usage()
			_, toAnswer := responses.usage()
			return float64(toArrive + toAnswer)
		}),
		gauge("storage_bytes", "Size of the engine's files, in bytes.", func() float64 {
			if e.enter() != nil {
				return 0
			}
			defer e.leave()
			return float64(e.store.Size())
		}),
		gauge("start_time_seconds", "Start of serving, in seconds since 1970.", func() float64 { return started }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	return m
}

// request counts a request and its response.
func (m *metrics) request(summary requestSummary, sent int, took time.Duration) {
	series := m.series(summary)
	series.requests.Inc()
	series.durations.Observe(took.Seconds())
	m.received.Add(float64(summary.received))
	m.sent.Add(float64(sent))
	if throttlingCodes[summary.code] {
		m.throttled.Inc()
	}
}

// series returns the series that a request changes.
func (m *metrics) series(summary requestSummary) successSeries {
	if summary.code == "" {
		if known, found := m.succeeded.Load(summary.operation); found {
			return *known.(*successSeries) //nolint:forcetypeassert // the map holds nothing else
		}
	}
	operation, code := operationLabel(summary.operation), summary.code
	if code == "" {
		code = "OK"
	}
	series := successSeries{requests: m.requests.WithLabelValues(operation, code), durations: m.durations.WithLabelValues(operation)}
	if summary.code == "" {
		m.succeeded.Store(summary.operation, &series)
	}
	return series
}

// capacityCollector collects the consumed capacity of the existing tables.
type capacityCollector struct{ engine *Engine }

var consumedCapacity = prometheus.NewDesc(metricName("consumed_capacity_units_total"),
	"Consumed capacity in DynamoDB's units, by table and kind (read or write).", []string{"table", "kind"}, nil)

// Describe implements prometheus.Collector.
func (capacityCollector) Describe(into chan<- *prometheus.Desc) { into <- consumedCapacity }

// Collect implements prometheus.Collector.
func (c capacityCollector) Collect(into chan<- prometheus.Metric) {
	for table, units := range c.engine.Counters().Units {
		if c.engine.lookup(table) == nil {
			continue
		}
		into <- prometheus.MustNewConstMetric(consumedCapacity, prometheus.CounterValue, units.Read, table, "read")
		into <- prometheus.MustNewConstMetric(consumedCapacity, prometheus.CounterValue, units.Write, table, "write")
	}
}
