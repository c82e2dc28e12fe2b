package embedded

import (
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// The storage key of an entry has these parts: the prefix of its table or index, a hash of its hash
// key, the hash key, the range key if the schema has one, and in an index the primary key of the
// item. Entries with one hash key are together, in the order of their range keys. Hash keys are in
// the order of their hashes, as a Scan returns them. A segment of a parallel Scan is a range of
// hashes.
//
// A hash key and a range key are the encodings of their attributes, one after the other. The schema
// determines the types of the attributes, and within a type no encoding is a prefix of another one.
// So two keys are equal only if their attributes are equal, and range keys are ordered by their
// first attributes, then by their second ones, and so on.

const (
	maxHashKey  = 2048
	maxRangeKey = 1024
	// prefixBytes is the length of the prefix of a table or index. bucketBytes is the length of the
	// hash.
	prefixBytes = 1 + 4 + 2
	bucketBytes = 4
	// partitionBytes is the length of the first bytes of a storage key that all entries with one
	// hash key share: the prefix of the table or index, and the hash.
	partitionBytes = prefixBytes + bucketBytes
	// textEnd is the length of the terminator of a string or binary in a storage key.
	textEnd = 2
)

// bucket returns the hash of an encoded hash key. It is part of the storage format.
func bucket(encoded []byte) uint32 {
	h := fnv.New64a()
	_, _ = h.Write(encoded) // never fails
	mixed := h.Sum64() * 0x9e3779b97f4a7c15
	return uint32(mixed >> 32)
}

// appendHashKey appends the hash and the encoding of a hash key with the values.
func appendHashKey(dst []byte, values ...attribute.Value) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for _, value := range values {
		dst = attribute.AppendKey(dst, value)
	}
	binary.BigEndian.PutUint32(dst[at:], bucket(dst[at+bucketBytes:]))
	return dst
}

// appendItemKey appends the storage key of the item, whose primary key was checked.
func (s *schema) appendItemKey(dst []byte, item attribute.Item) []byte {
	return s.appendRangeKey(s.appendPartition(dst, item), item)
}

// appendPartition appends the part of an item's storage key that all items with its hash key share.
func (s *schema) appendPartition(dst []byte, item attribute.Item) []byte {
	return appendHashKey(itemPrefix(dst, s.ID, 0), item[s.Key.Hash])
}

// appendRangeKey appends the rest of the storage key.
func (s *schema) appendRangeKey(dst []byte, item attribute.Item) []byte {
	if s.Key.Range != "" {
		dst = attribute.AppendKey(dst, item[s.Key.Range])
	}
	return dst
}

// entryKey returns the storage key of the item's entry in the index, or in the table if i is nil.
// The item has all key attributes.
func (s *schema) entryKey(i *index, item attribute.Item) []byte {
	if i == nil {
		return s.appendItemKey(nil, item)
	}
	dst := itemPrefix(nil, s.ID, i.ID)
	dst = appendHashKey(dst, i.Key.hashOf(item)...)
	for _, name := range i.Key.Range {
		dst = attribute.AppendKey(dst, item[name])
	}
	for _, name := range s.Key.names() {
		if i.Local && name == s.Key.Hash {
			continue
		}
		dst = attribute.AppendKey(dst, item[name])
	}
	return dst
}

// prefixEnd returns the first key after all keys with the prefix.
func prefixEnd(prefix []byte) []byte {
	end := slices.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] != 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}

// keyAttributes returns the primary key of the item.
func (s *schema) keyAttributes(item attribute.Item) attribute.Item {
	key := attribute.Item{s.Key.Hash: item[s.Key.Hash]}
	if s.Key.Range != "" {
		key[s.Key.Range] = item[s.Key.Range]
	}
	return key
}

const keyMismatch = "The provided key element does not match the schema"

// checkKey checks a primary key against the key schema.
func (s *schema) checkKey(key attribute.Item) error {
	names := s.Key.names()
	if len(key) != len(names) {
		return invalid(keyMismatch)
	}
	for _, name := range names {
		value, ok := key[name]
		if !ok || value.Kind != s.Kinds[name] {
			return invalid(keyMismatch)
		}
	}
	return s.checkKeySizes(key)
}

// checkItemKeys checks the attributes of an item that are part of the primary key or the key of an
// index.
func (s *schema) checkItemKeys(item attribute.Item) error {
	for _, name := range s.Key.names() {
		value, ok := item[name]
		if !ok {
			return invalid(invalidParameters+"Missing the key %s in the item", name)
		}
		if value.Kind != s.Kinds[name] {
			return invalid(invalidParameters+"Type mismatch for key %s expected: %s actual: %s", name, s.Kinds[name], value.Kind)
		}
	}
	if err := s.checkIndexKeys(item, emptyIndexKey); err != nil {
		return err
	}
	return s.checkKeySizes(item)
}

func emptyIndexKey(i *index, name string, kind attribute.Kind) error {
	return invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
		"The AttributeValue for a key attribute cannot contain an empty %s value. IndexName: %s, IndexKey: %s",
		emptyKind(kind), i.Name, name)
}

func emptyUpdatedKey(_ *index, _ string, kind attribute.Kind) error {
	return invalid("One or more parameter values are not valid. The update expression attempted to update a secondary index key "+
		"to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty %s value.", emptyKind(kind))
}

// checkIndexKeys checks the attributes of an item that are part of the key of an index. They may be
// missing. empty returns the error for an empty value.
func (s *schema) checkIndexKeys(
	item attribute.Item, empty func(i *index, name string, kind attribute.Kind) error,
) error {
	for _, i := range s.Indexes {
		for _, name := range i.Key.names() {
			value, ok := item[name]
			if !ok || s.isKey(name) {
				continue
			}
			if value.Kind != s.Kinds[name] {
				return invalid(invalidParameters+"Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s",
					name, s.Kinds[name], value.Kind, i.Name)
			}
			if value.Text == "" {
				return empty(i, name, value.Kind)
			}
			if err := checkSize(value, slices.Contains(i.Key.Hash, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *schema) checkKeySizes(key attribute.Item) error {
	for _, name := range s.Key.names() {
		value := key[name]
		if value.Text == "" {
			return emptyKey(name, value.Kind)
		}
		if err := checkSize(value, name == s.Key.Hash); err != nil {
			return err
		}
	}
	return nil
}

// checkSize checks the size of one key attribute.
func checkSize(value attribute.Value, hash bool) error {
	switch size := value.Size(); {
	case hash && size > maxHashKey:
		return invalid(invalidParameters + "Size of hashkey has exceeded the maximum size limit of2048 bytes")
	case !hash && size > maxRangeKey:
		return invalid(invalidParameters + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
	}
	return nil
}

func emptyKey(name string, kind attribute.Kind) error {
	err := invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot "+
		"contain an empty %s value. Key: %s", emptyKind(kind), name)
	err.emptyKey = true
	return err
}

func emptyKind(kind attribute.Kind) string {
	if kind == attribute.B {
		return "binary"
	}
	return "string"
}
