package embedded

import (
	"bytes"
	"maps"
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

// An ExclusiveStartKey has the attributes of the primary key and, for an index, the attributes of
// the index's key. It need not be the key of an item.

const badStart = "The provided starting key is invalid"

// checkStart checks the number of attributes of an ExclusiveStartKey, and the attributes of the key
// of the index, or of the table if i is nil. For an index, checkStartItem must be called
// afterwards.
func (s *schema) checkStart(i *index, start attribute.Item) error {
	key := s.keySchemaOf(i)
	names := map[string]struct{}{}
	for _, name := range append(s.Key.names(), key.names()...) {
		names[name] = struct{}{}
	}
	if len(start) != len(names) {
		return invalid(badStart)
	}
	for _, name := range key.names() {
		value, found := start[name]
		switch {
		case !found:
			return invalid(badStart)
		case value.Kind != s.Kinds[name]:
			return invalid(keyMismatch)
		case value.Text == "":
			return emptyKey(name, value.Kind)
		}
		if err := checkSize(value, slices.Contains(key.Hash, name)); err != nil {
			return err
		}
	}
	return nil
}

// checkStartItem checks the primary key in an ExclusiveStartKey.
func (s *schema) checkStartItem(key attribute.Item) error {
	if err := s.checkKey(key); err != nil {
		return invalid("%s", badStart+": "+asAPIError(err).message)
	}
	return nil
}

// queryStart returns the storage key of an ExclusiveStartKey that checkStart has checked. It must
// be within the query, and the query must be able to return more than one item.
func (s *schema) queryStart(p *pageRead, key expression.KeyCondition, start attribute.Item) ([]byte, error) {
	if err := s.checkStartItem(s.keyAttributes(start)); err != nil {
		return nil, err
	}
	hash := s.keySchemaOf(p.index).Hash
	sameHash, moved := true, maps.Clone(start)
	for n, name := range hash {
		sameHash = sameHash && attribute.Equal(start[name], key.Hash[n])
		moved[name] = key.Hash[n]
	}
	within := s.entryKey(p.index, moved)
	switch {
	case !sameHash && key.Range == expression.AnyRange && len(key.Equal) == 0:
		return nil, invalid("The provided starting key is outside query boundaries based on provided conditions")
	case bytes.Compare(within, p.lower) < 0 || bytes.Compare(within, p.upper) >= 0:
		return nil, invalid("The provided starting key does not match the range key predicate")
	case !sameHash:
		return nil, invalid("The query can return at most one row and cannot be restarted")
	case p.single:
		return nil, invalid("The provided exclusive start key is invalid: ExclusiveStartKey: {%s=AttributeValue: {%s:%s}}",
			hash[0], key.Hash[0].Kind, keyText(key.Hash[0]))
	}
	return within, nil
}
