package embedded

import (
	"cmp"
	"fmt"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// maxPage is the number of bytes of items, before the filter, that end a page.
const maxPage = 1 << 20

// pageRead is the read of one page of a Query or Scan: the entries of a table or an index between
// two storage keys.
type pageRead struct {
	table *table
	// index is nil for the table itself.
	index *index
	// lower is the first storage key. upper is the key after the last one. The page starts after
	// start, if it is set.
	lower, upper, start []byte
	backward            bool
	// single is set if there is at most one entry. No page starts after it.
	single bool
	// limit is the maximum number of entries to read, or 0 for no limit.
	limit int
	// budget is the number of bytes of entries that end the page, or 0 for maxPage.
	budget     int
	consistent bool
	// fetchItems is set to read the item of each entry of a local index, for attributes that the
	// index does not contain.
	fetchItems bool
	// filter reports whether an item is returned. Nil returns all.
	filter func(attribute.Item) bool
}

// page is the result of reading a page.
type page struct {
	count, scanned, size int
	// last is LastEvaluatedKey, or nil at the end.
	last attribute.Item
}

// storedItem is an item that a page returns. It is valid only during the call of emit that receives
// it.
type storedItem struct {
	// encoded is the item in its binary form. item is the decoded item, or nil if it was not
	// decoded.
	encoded []byte
	item    attribute.Item
}

// append appends the attributes that the projector selects.
func (en storedItem) append(dst []byte, project projector) ([]byte, error) {
	if en.item == nil && !project.narrows() {
		return appendEncoded(dst, en.encoded)
	}
	item := en.item
	if item == nil {
		var err error
		if item, err = attribute.DecodeBinaryItem(en.encoded); err != nil {
			return dst, fmt.Errorf("%w: %w", errStoredItem, err)
		}
	}
	return attribute.AppendItem(dst, project.of(item)), nil
}

// read passes the items of the page to emit, in order, and adds the consumption to used.
func (p *pageRead) read(from storage.Reader, used *consumption, emit func(storedItem) error) (page, error) {
	lower, upper := p.lower, p.upper
	if p.start != nil && !p.backward {
		// No storage key is the prefix of another one, so this is the next possible key.
		lower = append(p.start, 0)
	}
	if p.start != nil && p.backward {
		upper = p.start
	}
	it, err := from.Iterate(lower, upper)
	if err != nil {
		return page{}, fmt.Errorf("reading %s: %w", p.table.Name, err)
	}
	result, err := p.walk(it, from, used, emit)
	if err = joinClose(err, it); err != nil {
		return page{}, fmt.Errorf("reading %s: %w", p.table.Name, err)
	}
	return result, nil
}

func (p *pageRead) walk(
	it *storage.Iterator, from storage.Reader, used *consumption, emit func(storedItem) error,
) (page, error) {
	var result page
	first, next := it.First, it.Next
	if p.backward {
		first, next = it.Last, it.Prev
	}
	budget := cmp.Or(p.budget, maxPage)
	for ok := first(); ok; ok = next() {
		stored, err := it.Value()
		if err != nil {
			return result, err
		}
		entrySize, encoded, err := splitStoredItem(stored)
		if err != nil {
			return result, err
		}
		result.scanned++
		result.size += entrySize
		shown, chosen, err := p.choose(encoded, from, used)
		if err != nil {
			return result, err
		}
		if chosen {
			result.count++
			if err := emit(shown); err != nil {
				return result, err
			}
		}
		if result.scanned == p.limit || result.size >= budget {
			if result.last, err = p.lastKey(stored); err != nil {
				return result, err
			}
			break
		}
	}
	units := readUnits(result.size, p.consistent)
	used.addRead(p.index, units)
	return result, p.takeRead(units)
}

// lastKey returns LastEvaluatedKey of a page that ends with the stored entry.
func (p *pageRead) lastKey(stored []byte) (attribute.Item, error) {
	item, _, err := decodeStoredItem(stored)
	if err != nil || p.single {
		return nil, err
	}
	return p.table.entryAttributes(p.index, item), nil
}

// choose returns the item of an entry, and reports whether the filter accepts it. It decodes the
// item only if necessary.
func (p *pageRead) choose(encoded []byte, from storage.Reader, used *consumption) (storedItem, bool, error) {
	shown := storedItem{encoded: encoded}
	if !p.fetchItems && p.filter == nil {
		return shown, true, nil
	}
	var err error
	if shown.item, err = attribute.DecodeBinaryItem(encoded); err != nil {
		return shown, false, fmt.Errorf("%w: %w", errStoredItem, err)
	}
	if p.fetchItems {
		if shown.item, err = p.fetch(from, shown.item, used); err != nil {
			return shown, false, err
		}
	}
	return shown, p.filter == nil || p.filter(shown.item), nil
}

// fetch returns the item of an index entry.
func (p *pageRead) fetch(from storage.Reader, entry attribute.Item, used *consumption) (attribute.Item, error) {
	item, err := loadItem(from, p.table.appendItemKey(nil, entry))
	if err != nil {
		return nil, err
	}
	used.addRead(nil, readUnits(item.size, p.consistent))
	if item.item == nil {
		return entry, nil
	}
	return item.item, nil
}

// entryAttributes returns the attributes that identify an entry: the primary key and the key of the
// index.
func (s *schema) entryAttributes(i *index, item attribute.Item) attribute.Item {
	key := s.keyAttributes(item)
	if i != nil {
		for _, name := range i.Key.names() {
			key[name] = item[name]
		}
	}
	return key
}

// keySchemaOf returns the key schema of the index, or of the table if i is nil.
func (s *schema) keySchemaOf(i *index) indexKey {
	if i == nil {
		return s.Key.asIndexKey()
	}
	return i.Key
}

// respondPage reads the page and appends the response.
func (e *Engine) respondPage(c *call, p *pageRead, in *readInput, project projector) error {
	used := consumption{table: p.table}
	c.out = append(c.out, '{')
	emit := func(storedItem) error { return nil }
	n := 0
	if or(in.choose, "") != selectCount {
		c.out = append(c.out, `"Items":[`...)
		emit = func(shown storedItem) error {
			var err error
			c.out, err = shown.append(separate(c.out, n), project)
			n++
			return err
		}
	}
	result, err := p.read(c.reader(e, p.table, p.consistent), &used, emit)
	if err != nil {
		return err
	}
	used.charge()
	if or(in.choose, "") != selectCount {
		c.out = append(c.out, ']')
	}
	c.out = appendName(c.out, "Count")
	c.out = appendInt(c.out, result.count)
	c.out = appendName(c.out, "ScannedCount")
	c.out = appendInt(c.out, result.scanned)
	if result.last != nil {
		c.out = appendName(c.out, "LastEvaluatedKey")
		c.out = attribute.AppendItem(c.out, result.last)
	}
	c.appendCapacity(&used, in.showCapacity)
	c.out = append(c.out, '}')
	return nil
}
