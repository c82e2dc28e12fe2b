package embedded

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
)

// backfillStep is the number of items that are indexed in one commit.
const backfillStep = 100

// startBackfill fills a new index in the background. Once the index is in the schema, every write
// of an item updates the item's entry, so the backfill has to index each item only once, under the
// item's lock. The caller holds the table's lock exclusively, or nothing else uses the table.
func (e *Engine) startBackfill(t *table, i *index) {
	e.background.Go(func() {
		if err := e.backfill(t, i.ID); err != nil && e.Err() == nil {
			slog.Error("embedded DynamoDB: filling an index failed", "table", t.Name, "index", i.Name, "error", err)
		}
	})
}

// backfill indexes the items step by step, and then makes the index ACTIVE. It returns without an
// error when the engine closes (the next engine starts the backfill again) or the index was
// deleted.
func (e *Engine) backfill(t *table, id uint16) error {
	var after []byte
	for {
		select {
		case <-e.stop:
			return nil
		default:
		}
		next, err := e.backfillSome(t, id, after)
		if err != nil {
			return err
		}
		if next == nil {
			return e.activate(t, id)
		}
		after = next
	}
}

// creating returns the index with the id while it is being created, otherwise nil. The caller holds
// the table's lock.
func (t *table) creating(id uint16) *index {
	for _, i := range t.Indexes {
		if !t.dropped && i.ID == id && i.Status == statusCreating {
			return i
		}
	}
	return nil
}

// backfillSome indexes the next items with keys after the given one, and returns the last key, or
// nil at the end.
func (e *Engine) backfillSome(t *table, id uint16, after []byte) ([]byte, error) {
	t.lock.RLock()
	defer t.lock.RUnlock()
	i := t.creating(id)
	if i == nil {
		return nil, nil
	}
	keys, err := e.nextKeys(t, after)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	defer e.locks.lockAll(keys)()
	batch := e.store.NewBatch()
	for _, key := range keys {
		got, err := loadItem(e.store.Reader, key)
		if err != nil {
			return nil, joinClose(err, discarding{batch})
		}
		if t.indexes(i, got.item) {
			part := t.projection(i, got.item)
			batch.Set(t.entryKey(i, got.item), appendStoredItem(nil, part, part.Size()))
		}
	}
	if err := batch.Commit(); err != nil {
		return nil, fmt.Errorf("indexing items: %w", err)
	}
	return keys[len(keys)-1], nil
}

func (e *Engine) nextKeys(t *table, after []byte) ([][]byte, error) {
	lower := itemPrefix(nil, t.ID, 0)
	if after != nil {
		lower = append(bytes.Clone(after), 0)
	}
	it, err := e.store.Iterate(lower, itemPrefix(nil, t.ID, 1))
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	for ok := it.First(); ok && len(keys) < backfillStep; ok = it.Next() {
		keys = append(keys, bytes.Clone(it.Key()))
	}
	return keys, joinClose(nil, it)
}

// activate makes the index ACTIVE.
func (e *Engine) activate(t *table, id uint16) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	i := t.creating(id)
	if i == nil {
		return nil
	}
	return e.changeSchema(t, func(s *schema) {
		ready := *i
		ready.Status = statusActive
		s.Indexes = slices.Clone(s.Indexes)
		s.Indexes[slices.Index(s.Indexes, i)] = &ready
	})
}
