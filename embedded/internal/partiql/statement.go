// Package partiql implements DynamoDB's part of PartiQL: INSERT, UPDATE, DELETE and SELECT
// statements, and EXISTS checks in transactions.
//
// Parsing returns a Statement, which depends only on the text, is immutable and can be cached.
// Binding it to the parameters of a request returns a Bound, with conditions and updates of package
// expression.
//
// Errors are *attribute.ValidationError with DynamoDB's messages. MaxLength limits the recursion of
// parsing.
package partiql

import (
	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

// MaxLength is the length limit of a statement in bytes.
const MaxLength = 8192

// Verb is the operation of a statement.
type Verb uint8

// The verbs of statements.
const (
	Select Verb = iota + 1
	Insert
	Update
	Delete
	// Check is EXISTS(SELECT …), a condition check in a transaction.
	Check
)

// Returning is the RETURNING clause of an UPDATE or DELETE.
type Returning uint8

// The values of RETURNING.
const (
	ReturnNothing Returning = iota
	ReturnAllOld
	ReturnModifiedOld
	ReturnAllNew
	ReturnModifiedNew
)

// Order is one attribute of an ORDER BY.
type Order struct {
	Attribute  string
	Descending bool
}

// Statement is a parsed statement. It is immutable.
type Statement struct {
	Verb         Verb
	Table, Index string
	Returning    Returning
	// Parameters is the number of parameters of the statement.
	Parameters int

	// item is the item of an INSERT.
	item template
	// columns are the columns of a SELECT, or nil for all attributes.
	columns []column
	// where is the condition of the WHERE clause, or nil without one.
	where   expression.Test
	actions []expression.Action
	order   []Order
	// slots are the values that depend on the parameters. In the tree, expression.Parameter(n)
	// refers to slots[n].
	slots []template
}

// column is a path of a SELECT, and the name of its value in the response.
type column struct {
	path expression.Path
	name string
}

// Bound is a statement with its parameters.
type Bound struct {
	*Statement

	// Item is the item of an INSERT.
	Item attribute.Item
	// Change is the update of an UPDATE.
	Change *expression.BoundUpdate

	values []attribute.Value
}

// Bind returns the statement with its parameters. A wrong number of parameters is an error.
func (s *Statement) Bind(parameters []attribute.Value) (*Bound, error) {
	if len(parameters) != s.Parameters {
		return nil, attribute.Invalid("Number of parameters in request and statement don't match.")
	}
	bound := &Bound{Statement: s}
	if len(s.slots) > 0 {
		bound.values = make([]attribute.Value, len(s.slots))
	}
	var err error
	for i, slot := range s.slots {
		if bound.values[i], err = slot.value(parameters); err != nil {
			return nil, err
		}
		if err := bound.values[i].CheckDepth(0); err != nil {
			return nil, err
		}
	}
	if err := expression.CheckOrder(s.where, bound.values); err != nil {
		return nil, err
	}
	switch s.Verb {
	case Insert:
		v, err := s.item.value(parameters)
		if err != nil {
			return nil, err
		}
		if err := v.CheckDepth(-1); err != nil {
			return nil, err
		}
		bound.Item = v.Map
	case Update:
		if bound.Change, err = expression.NewUpdate(s.actions, bound.values, nil); err != nil {
			return nil, err
		}
	case Select, Delete, Check:
	}
	return bound, nil
}

// Project returns the columns of a SELECT for an item. The name of a column is the last name in its
// path.
func (s *Statement) Project(item attribute.Item) attribute.Item {
	if s.columns == nil {
		return item
	}
	selected := make(attribute.Item, len(s.columns))
	for _, column := range s.columns {
		if v, found := column.path.In(item); found {
			selected[column.name] = v
		}
	}
	return selected
}

// Attributes returns the top-level attributes of the columns of a SELECT, or nil for all
// attributes.
func (s *Statement) Attributes() []string {
	if s.columns == nil {
		return nil
	}
	names := make([]string, len(s.columns))
	for i, column := range s.columns {
		names[i] = column.path.Attribute()
	}
	return names
}
