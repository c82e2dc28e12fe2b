package dynamo

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// statements caches the INSERT statements of items. Items with the same attributes have the same
// text, with a parameter for each value, so that the service parses it once. It is safe for
// concurrent use.
type statements struct {
	table string

	mu    sync.RWMutex
	known []*statement
}

// statement is the INSERT of items with the same attribute names.
type statement struct {
	names []string
	text  string
}

// maxCachedStatements bounds the cached statements. Events have few different sets of attributes.
const maxCachedStatements = 32

// of returns the statement of an item, and values with the item's parameters appended.
func (s *statements) of(item Attributes, values []types.AttributeValue) (*statement, []types.AttributeValue) {
	s.mu.RLock()
	known := s.known
	s.mu.RUnlock()
	for _, k := range known {
		if parameters := k.parameters(item, values); parameters != nil {
			return k, parameters
		}
	}
	k := newStatement(s.table, item)
	s.mu.Lock()
	if len(s.known) < maxCachedStatements {
		s.known = append(slices.Clip(s.known), k)
	}
	s.mu.Unlock()
	return k, k.parameters(item, values)
}

func newStatement(table string, item Attributes) *statement {
	k := &statement{names: slices.Sorted(maps.Keys(item))}
	var text strings.Builder
	text.WriteString(`INSERT INTO "` + strings.ReplaceAll(table, `"`, `""`) + `" VALUE {`)
	for i, name := range k.names {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(`'` + strings.ReplaceAll(name, `'`, `''`) + `':?`)
	}
	text.WriteByte('}')
	k.text = text.String()
	return k
}

// parameters appends the values of an item in the order of the statement. It returns nil if the
// item has other attributes.
func (k *statement) parameters(item Attributes, values []types.AttributeValue) []types.AttributeValue {
	if len(item) != len(k.names) {
		return nil
	}
	for _, name := range k.names {
		value, ok := item[name]
		if !ok {
			return nil
		}
		values = append(values, value)
	}
	return values
}
