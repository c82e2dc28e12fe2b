package telemetry

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// attributes are attributes as options of measurements and of spans. Making them from their values
// for each measurement takes longer than the measurement itself.
type attributes struct {
	measured metric.MeasurementOption
	traced   trace.SpanStartEventOption
}

// cache has the attributes of keys, such as a type of entities and the reason of an error. It is
// for keys with few different values: it never removes any.
type cache[K comparable] struct {
	mu  sync.RWMutex
	all map[K]attributes
}

// of returns the attributes of a key. make makes them once.
func (c *cache[K]) of(key K, make func() []attribute.KeyValue) attributes {
	c.mu.RLock()
	found, ok := c.all[key]
	c.mu.RUnlock()
	if ok {
		return found
	}
	values := make()
	found = attributes{metric.WithAttributeSet(attribute.NewSet(values...)), trace.WithAttributes(values...)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[K]attributes{}
	}
	c.all[key] = found
	return found
}

// withReason adds error.type to attributes, if there is a reason.
func withReason(reason string, values ...attribute.KeyValue) []attribute.KeyValue {
	if reason != "" {
		values = append(values, attribute.String("error.type", reason))
	}
	return values
}
