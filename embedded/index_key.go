package embedded

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

const (
	// maxKeyAttributes is the maximum number of HASH attributes, and of RANGE attributes, in the
	// key of a global index. A table and a local index have at most one of each.
	maxKeyAttributes = 4

	// maxSimpleKey is the maximum number of key attributes of a table or a local index. The model
	// does not limit the number for a global index (anyKey); globalKey checks it.
	maxSimpleKey = 2
	anyKey       = math.MaxInt

	roleHash  = "HASH"
	roleRange = "RANGE"
)

// indexKey has the key attributes of an index, in the order of its key schema. There is at least
// one HASH attribute.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.MultiAttributeKeys
type indexKey struct {
	Hash  keyNames `json:"hash"`
	Range keyNames `json:"range,omitempty"`
}

// keyNames are the names of key attributes. A single name is stored as a string, as in folders of
// older versions, which had only such keys.
type keyNames []string

// MarshalJSON returns the stored form.
func (k keyNames) MarshalJSON() ([]byte, error) {
	var form any = []string(k)
	if len(k) == 1 {
		form = k[0]
	}
	stored, err := json.Marshal(form)
	if err != nil {
		return nil, fmt.Errorf("encoding the names of key attributes: %w", err)
	}
	return stored, nil
}

// UnmarshalJSON decodes the stored form.
func (k *keyNames) UnmarshalJSON(stored []byte) error {
	var form any = (*[]string)(k)
	if stored[0] == '"' {
		*k = make(keyNames, 1)
		form = &(*k)[0]
	}
	if err := json.Unmarshal(stored, form); err != nil {
		return fmt.Errorf("decoding the names of key attributes: %w", err)
	}
	return nil
}

// asIndexKey returns the key of a table in the form of the key of an index.
func (k keySchema) asIndexKey() indexKey {
	key := indexKey{Hash: keyNames{k.Hash}}
	if k.Range != "" {
		key.Range = keyNames{k.Range}
	}
	return key
}

func (k indexKey) has(name string) bool {
	return slices.Contains(k.Hash, name) || slices.Contains(k.Range, name)
}

// names returns the key's attributes.
func (k indexKey) names() []string { return slices.Concat(k.Hash, k.Range) }

// hashOf returns the values of the HASH attributes of an item that has them all.
func (k indexKey) hashOf(item attribute.Item) []attribute.Value {
	values := make([]attribute.Value, len(k.Hash))
	for i, name := range k.Hash {
		values[i] = item[name]
	}
	return values
}
