package dynamo

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// statements gives the INSERT of an item. Items with the same attributes have the same text, with a parameter for each value,
// so that the service parses it once. It is safe for concurrent use.
type statements struct {
	table string

	mu    sync.RWMutex
	known []*statement
}

// statement is the INSERT of items with certain attributes.
type statement struct {
	names []string
	text  string
}

// maxKnown bounds how many statements are kept: events have few different sets of attributes.
const maxKnown = 32

// of gives an item's statement and its parameters.
func (s *statements) of(item Attributes) (*statement, []types.AttributeValue) {
	s.mu.RLock()
	known := s.known
	s.mu.RUnlock()
	for _, k := range known {
		if parameters := k.parameters(item); parameters != nil {
			return k, parameters
		}
	}
	k := newStatement(s.table, item)
	s.mu.Lock()
	if len(s.known) < maxKnown {
		s.known = append(slices.Clip(s.known), k)
	}
	s.mu.Unlock()
	return k, k.parameters(item)
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

// parameters are an item's values in the order of the statement, nil if it has other attributes.
func (k *statement) parameters(item Attributes) []types.AttributeValue {
	if len(item) != len(k.names) {
		return nil
	}
	for _, name := range k.names {
		if _, ok := item[name]; !ok {
			return nil
		}
	}
	values := make([]types.AttributeValue, len(k.names))
	for i, name := range k.names {
		values[i] = item[name]
	}
	return values
}
