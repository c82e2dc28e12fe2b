package dynajournal

import "github.com/dynajournal/dynajournal/internal/dynamo"

// Cost is what an operation has used up.
type Cost struct {
	// Requests is how many requests were sent to DynamoDB, failed attempts included.
	Requests int
	// ReadUnits and WriteUnits are the capacity units that DynamoDB reported as consumed. Failed
	// attempts report none.
	ReadUnits, WriteUnits float64
}

// Add returns the sum of two costs.
func (c Cost) Add(other Cost) Cost { return Cost(dynamo.Cost(c).Add(dynamo.Cost(other))) }

// Sub returns the difference between c and an earlier cost of the same operation.
func (c Cost) Sub(earlier Cost) Cost { return Cost(dynamo.Cost(c).Sub(dynamo.Cost(earlier))) }
