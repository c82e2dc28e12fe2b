package dynamo

import (
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// statementMemory is memory for the statements of a request, which is used again for those of
// another, so that the garbage collector runs more rarely.
//
// Invariant: it is given back only when nobody reads the statements any more. The request has
// returned then, and no code of the caller's took part in it, which could keep them.
type statementMemory struct {
	statements []types.BatchStatementRequest
	parameters []types.AttributeValue
}

var statementMemories = sync.Pool{New: func() any { return new(statementMemory) }}

// takeStatementMemory returns memory with so many empty statements, and space for so many
// parameters.
func takeStatementMemory(statements, parameters int) *statementMemory {
	m := statementMemories.Get().(*statementMemory) //nolint:forcetypeassert // the pool has nothing else
	m.statements = slices.Grow(m.statements, statements)[:statements]
	m.parameters = slices.Grow(m.parameters, parameters)
	return m
}

// give gives the memory back, without what was in it: the pool must not hold payloads. There can be
// parameters after the last, of an item that turned out to be for another statement.
func (m *statementMemory) give() {
	clear(m.statements)
	clear(m.parameters[:cap(m.parameters)])
	m.statements, m.parameters = m.statements[:0], m.parameters[:0]
	statementMemories.Put(m)
}
