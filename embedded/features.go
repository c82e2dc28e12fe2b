package embedded

import (
	"fmt"
	"slices"
)

// Feature is a part of DynamoDB that an engine can lack.
type Feature string

const (
	// PartiQL is ExecuteStatement, BatchExecuteStatement and, together with Transactions,
	// ExecuteTransaction.
	PartiQL Feature = "partiql"
	// Transactions is TransactWriteItems, TransactGetItems and ExecuteTransaction.
	Transactions Feature = "transactions"
)

var features = map[Feature][]string{
	PartiQL:      {"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"},
	Transactions: {"TransactWriteItems", "TransactGetItems", "ExecuteTransaction"},
}

// WithoutFeatures disables features that other servers with DynamoDB's protocol lack. Their
// operations fail with UnknownOperationException. Opening fails if a feature is unknown.
func WithoutFeatures(left ...Feature) Option {
	return func(o *options) { o.missing = append(o.missing, left...) }
}

// lacks reports whether the operation belongs to a disabled feature.
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
			return fmt.Errorf("unknown feature %q: the features are %s and %s", string(feature), PartiQL, Transactions)
		}
	}
	for _, f := range o.faults {
		if err := f.check(); err != nil {
			return fmt.Errorf("invalid fault: %w", err)
		}
	}
	return nil
}
