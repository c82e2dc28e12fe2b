package dynamo

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Cost is the consumption of an operation: the requests sent to DynamoDB, including failed
// attempts, and the capacity units that DynamoDB reported for them.
type Cost struct {
	Requests   int
	ReadUnits  float64
	WriteUnits float64
}

// Add returns the sum of two costs.
func (c Cost) Add(other Cost) Cost {
	return Cost{c.Requests + other.Requests, c.ReadUnits + other.ReadUnits, c.WriteUnits + other.WriteUnits}
}

// Sub returns the cost since an earlier cost of the same operation.
func (c Cost) Sub(earlier Cost) Cost {
	return Cost{c.Requests - earlier.Requests, c.ReadUnits - earlier.ReadUnits, c.WriteUnits - earlier.WriteUnits}
}

// units returns the cost without its requests.
func (c Cost) units() Cost { return Cost{ReadUnits: c.ReadUnits, WriteUnits: c.WriteUnits} }

// Meter adds up the cost of an operation's requests, which may run concurrently. The zero Meter is
// ready for use.
type Meter struct {
	mu   sync.Mutex
	cost Cost
	// wrote is true if a write was done or may have been done.
	wrote atomic.Bool
}

// Cost returns the cost until now.
func (m *Meter) Cost() Cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cost
}

func (m *Meter) add(c Cost) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cost = m.cost.Add(c)
}

type meterKey struct{}

// metered is a meter of a context. outer is the next meter that the context inherits, or nil.
type metered struct {
	meter *Meter
	outer *metered
}

// WithMeter returns a context whose requests add their cost to m, in addition to each request's own
// meter and the meters of ctx. Shared requests, which serve several operations, do not add their
// cost to m.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	outer, _ := ctx.Value(meterKey{}).(*metered) // or none
	return context.WithValue(ctx, meterKey{}, &metered{m, outer})
}

// charge adds the cost of an attempt to the meters of its context.
func charge(ctx context.Context, c Cost) {
	of, _ := ctx.Value(meterKey{}).(*metered) // or none
	for ; of != nil; of = of.outer {
		of.meter.add(c)
	}
}

// consumed returns the cost of one request. The operation determines whether the units are read or
// write units; the response does not say.
func consumed(write bool, capacity ...types.ConsumedCapacity) Cost {
	c := Cost{Requests: 1}
	for i := range capacity {
		if capacity[i].CapacityUnits == nil {
			continue
		}
		if write {
			c.WriteUnits += *capacity[i].CapacityUnits
		} else {
			c.ReadUnits += *capacity[i].CapacityUnits
		}
	}
	return c
}
