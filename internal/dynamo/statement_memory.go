package dynamo

import (
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// statementMemory is reusable memory for the statements of a request. It lets the garbage collector
// run less often.
//
// Invariant: the memory is returned to the pool only when its statements cannot be read any more.
// The request has returned by then, and no code of the caller, which could retain the statements,
// took part in it.
type statementMemory struct {
	statements []types.BatchStatementRequest
	parameters []types.AttributeValue
}

var statementMemories = sync.Pool{New: func() any { return new(statementMemory) }}

// takeStatementMemory returns memory with the given number of empty statements, and space for the
// given number of parameters.
func takeStatementMemory(statements, parameters int) *statementMemory {
	m := statementMemories.Get().(*statementMemory) //nolint:forcetypeassert // the pool has nothing else
	m.statements = slices.Grow(m.statements, statements)[:statements]
	m.parameters = slices.Grow(m.parameters, parameters)
	return m
}

// release clears the memory and returns it to the pool, which must not retain payloads. Parameters
// may also be stored after the last one, from an item that turned out to need another statement.
func (m *statementMemory) release() {
	clear(m.statements)
	clear(m.parameters[:cap(m.parameters)])
	m.statements, m.parameters = m.statements[:0], m.parameters[:0]
	statementMemories.Put(m)
}
