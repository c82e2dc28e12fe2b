package dynamo

import (
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Cost is what an operation used up: requests sent to DynamoDB, tries that failed included, and the capacity units that
// DynamoDB said they consumed.
type Cost struct {
	Requests   int
	ReadUnits  float64
	WriteUnits float64
}

// Add returns the sum of two costs.
func (c Cost) Add(other Cost) Cost {
	return Cost{c.Requests + other.Requests, c.ReadUnits + other.ReadUnits, c.WriteUnits + other.WriteUnits}
}

// units is the cost without its requests.
func (c Cost) units() Cost { return Cost{ReadUnits: c.ReadUnits, WriteUnits: c.WriteUnits} }

// Sub returns what was used up since an earlier cost of the same operation.
func (c Cost) Sub(earlier Cost) Cost {
	return Cost{c.Requests - earlier.Requests, c.ReadUnits - earlier.ReadUnits, c.WriteUnits - earlier.WriteUnits}
}

// Meter adds up the cost of an operation's requests, which may run at the same time. The zero Meter is ready for use.
type Meter struct {
	mu   sync.Mutex
	cost Cost
}

// Cost is what was used up until now.
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

// consumed adds up what an answer says was consumed. DynamoDB tells reads from writes only by the operation.
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
