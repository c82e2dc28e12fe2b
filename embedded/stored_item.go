package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// An item is stored as its size in DynamoDB's units, as a uvarint, followed by its binary form. The
// size of a stored item is known without decoding it.

var errStoredItem = errors.New("a stored item is damaged")

func appendStoredItem(dst []byte, item attribute.Item, size int) []byte {
	dst = binary.AppendUvarint(dst, uint64(size))
	return attribute.AppendBinaryItem(dst, item)
}

// splitStoredItem returns the size and the binary form of a stored item.
func splitStoredItem(stored []byte) (size int, encoded []byte, err error) {
	n, width := binary.Uvarint(stored)
	if width <= 0 || n > maxItem {
		return 0, nil, errStoredItem
	}
	return int(n), stored[width:], nil
}

func decodeStoredItem(stored []byte) (attribute.Item, int, error) {
	size, encoded, err := splitStoredItem(stored)
	if err != nil {
		return nil, 0, err
	}
	item, err := attribute.DecodeBinaryItem(encoded)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errStoredItem, err)
	}
	return item, size, nil
}

// appendItemAt appends the prefix and the projection of the item at a storage key, or nothing if
// the item does not exist. It returns the item's size, and whether the item exists.
func appendItemAt(
	dst []byte, prefix string, from storage.Getter, key []byte, project projector,
) (appended []byte, size int, exists bool, err error) {
	exists, err = from.Get(key, func(stored []byte) error {
		var encoded []byte
		var err error
		if size, encoded, err = splitStoredItem(stored); err != nil {
			return err
		}
		dst, err = storedItem{encoded: encoded}.append(append(dst, prefix...), project)
		return err
	})
	return dst, size, exists, err
}

// sizedItem is an item and its size. The item is nil if it does not exist.
type sizedItem struct {
	item attribute.Item
	size int
}

// loadItem reads the item of a storage key.
func loadItem(from storage.Reader, key []byte) (sizedItem, error) {
	var f sizedItem
	_, err := from.Get(key, func(stored []byte) error {
		var err error
		f.item, f.size, err = decodeStoredItem(stored)
		return err
	})
	return f, err
}

// projection returns the attributes of an item that the index contains.
func (s *schema) projection(i *index, item attribute.Item) attribute.Item {
	if i.Projection == projectAll {
		return item
	}
	part := make(attribute.Item, len(i.Include)+len(i.Key.Hash)+len(i.Key.Range)+2)
	for _, names := range [...][]string{s.Key.names(), i.Key.names(), i.Include} {
		for _, name := range names {
			if value, ok := item[name]; ok {
				part[name] = value
			}
		}
	}
	return part
}

// indexes reports whether the item has an entry in the index: it has all key attributes of the
// index, with valid types and values. An item that was written before the index was created can
// have invalid key attributes. It is left out of the index.
func (s *schema) indexes(i *index, item attribute.Item) bool {
	if item == nil {
		return false
	}
	for _, name := range i.Key.names() {
		value, ok := item[name]
		if !ok || value.Kind != s.Kinds[name] || value.Text == "" || checkSize(value, slices.Contains(i.Key.Hash, name)) != nil {
			return false
		}
	}
	return true
}
