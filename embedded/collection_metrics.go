package embedded

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

const gigabyte = 1 << 30

func (s *schema) hasLocalIndex() bool {
	for _, i := range s.Indexes {
		if i.Local {
			return true
		}
	}
	return false
}

// appendMetrics appends the size of the item collection with the hash key of key, in the table and
// its local indexes, as a range of gigabytes.
func (e *Engine) appendMetrics(dst []byte, t *table, key attribute.Item) ([]byte, error) {
	hash := key[t.Key.Hash]
	size, err := e.collectionSize(t, hash)
	if err != nil {
		return dst, fmt.Errorf("measuring an item collection of %s: %w", t.Name, err)
	}
	low := int64(size / gigabyte)
	dst = append(dst, `{"ItemCollectionKey":`...)
	dst = attribute.AppendItem(dst, attribute.Item{t.Key.Hash: hash})
	dst = appendName(dst, "SizeEstimateRangeGB")
	dst = append(dst, '[')
	dst = strconv.AppendInt(dst, low, 10)
	dst = append(dst, ".0,"...)
	dst = strconv.AppendInt(dst, low+1, 10)
	return append(dst, ".0]}"...), nil
}

func (e *Engine) collectionSize(t *table, hash attribute.Value) (int, error) {
	total := 0
	ids := []uint16{0}
	for _, i := range t.Indexes {
		if i.Local {
			ids = append(ids, i.ID)
		}
	}
	for _, id := range ids {
		lower := appendHashKey(itemPrefix(nil, t.ID, id), hash)
		it, err := e.store.Iterate(lower, prefixEnd(lower))
		if err != nil {
			return 0, err
		}
		for ok := it.First(); ok && err == nil; ok = it.Next() {
			var stored []byte
			if stored, err = it.Value(); err == nil {
				var size int
				size, _, err = splitStoredItem(stored)
				total += size
			}
		}
		if err = joinClose(err, it); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// appendAllMetrics appends the member ItemCollectionMetrics with the changed collections by table,
// if show asks for it.
func (e *Engine) appendAllMetrics(c *call, changes []*change, show *string) error {
	if or(show, none) != "SIZE" {
		return nil
	}
	byTable := map[string][]*change{}
	for _, ch := range changes {
		if ch != nil && ch.table.hasLocalIndex() {
			byTable[ch.table.Name] = append(byTable[ch.table.Name], ch)
		}
	}
	c.out = appendName(c.out, "ItemCollectionMetrics")
	c.out = append(c.out, '{')
	for i, name := range slices.Sorted(maps.Keys(byTable)) {
		c.out = separate(c.out, i)
		c.out = attribute.AppendText(c.out, name)
		c.out = append(c.out, ':', '[')
		for j, ch := range byTable[name] {
			c.out = separate(c.out, j)
			var err error
			if c.out, err = e.appendMetrics(c.out, ch.table, ch.key); err != nil {
				return err
			}
		}
		c.out = append(c.out, ']')
	}
	c.out = append(c.out, '}')
	return nil
}
