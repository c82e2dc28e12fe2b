package embedded

import (
	"fmt"
	"slices"
)

// Feature is a part of DynamoDB that an engine can do without.
type Feature string

const (
	// PartiQL is ExecuteStatement, BatchExecuteStatement and, as far as transactions are there,
	// ExecuteTransaction.
	PartiQL Feature = "partiql"
	// Transactions is TransactWriteItems, TransactGetItems and ExecuteTransaction.
	Transactions Feature = "transactions"
)

var features = map[Feature][]string{
	PartiQL:      {"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"},
	Transactions: {"TransactWriteItems", "TransactGetItems", "ExecuteTransaction"},
}

// WithoutFeatures leaves features out, as other servers of DynamoDB's protocol do: their operations
// answer UnknownOperationException. Opening fails if there is no such feature.
func WithoutFeatures(left ...Feature) Option {
	return func(o *options) { o.missing = append(o.missing, left...) }
}

// lacks reports whether the operation belongs to a feature that is left out.
func (o *options) lacks(operation string) bool {
	for _, feature := range o.missing {
		if slices.Contains(features[feature], operation) {
			return true
		}
	}
	return false
}

func (o *options) check() error {
	for _, feature := range o.missing {
		if _, known := features[feature]; !known {
			return fmt.Errorf("there is no feature %q to do without, only %s and %s", string(feature), PartiQL, Transactions)
		}
	}
	for _, f := range o.faults {
		if err := f.check(); err != nil {
			return fmt.Errorf("a fault: %w", err)
		}
	}
	return nil
}
