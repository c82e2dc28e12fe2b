package embedded

import (
	"sync"
	"sync/atomic"
)

// Counters are counts since an engine was opened.
type Counters struct {
	// Requests counts the requests by operation, including failed ones.
	Requests map[string]int64
	// Units is the consumed capacity by table name, including deleted tables. The capacity of
	// indexes is added to their table.
	Units map[string]Units
}

// Units is consumed capacity, in DynamoDB's units.
type Units struct {
	Read  float64
	Write float64
}

type operationCounters struct {
	requests sync.Map // of operation names to *atomic.Int64
	units    sync.Map // of table names to *unitCounter
}

// unitCounter counts half units, the smallest amount of capacity.
type unitCounter struct {
	read, write atomic.Int64
}

func (c *operationCounters) request(operation string) {
	counter, ok := c.requests.Load(operation)
	if !ok {
		counter, _ = c.requests.LoadOrStore(operation, new(atomic.Int64))
	}
	counter.(*atomic.Int64).Add(1) //nolint:forcetypeassert // the map holds nothing else
}

func (c *operationCounters) table(name string) *unitCounter {
	counter, ok := c.units.Load(name)
	if !ok {
		counter, _ = c.units.LoadOrStore(name, new(unitCounter))
	}
	return counter.(*unitCounter) //nolint:forcetypeassert // the map holds nothing else
}

// Counters returns the counts up to now. To measure the cost of some work, call it before and
// after, and subtract.
func (e *Engine) Counters() Counters {
	now := Counters{Requests: map[string]int64{}, Units: map[string]Units{}}
	e.count.requests.Range(func(name, counter any) bool {
		now.Requests[name.(string)] = counter.(*atomic.Int64).Load() //nolint:forcetypeassert // as above
		return true
	})
	e.count.units.Range(func(name, counter any) bool {
		half := counter.(*unitCounter) //nolint:forcetypeassert // as above
		units := Units{Read: float64(half.read.Load()) / 2, Write: float64(half.write.Load()) / 2}
		now.Units[name.(string)] = units //nolint:forcetypeassert // as above
		return true
	})
	return now
}
