package embedded

import (
	"bytes"
	"fmt"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// maxItem is the size limit of an item in bytes, including its attribute names.
const maxItem = 400 << 10

const (
	itemTooLarge   = "Item size has exceeded the maximum allowed size"
	updateTooLarge = "Item size to update has exceeded the maximum allowed size"
)

// change is a change of one item that a request asks for.
type change struct {
	table *table
	// key is the primary key, which was checked. storageKey is the storage key of the item.
	key        attribute.Item
	storageKey []byte
	// condition must hold for the stored item, which is nil if it does not exist. A nil condition
	// always holds.
	condition func(old attribute.Item) bool
	// showOld adds the stored item to the error if the condition fails.
	showOld bool
	// apply returns the new item, made from the stored one, which it must not modify. Nil removes
	// the item. A change without apply only checks the condition.
	apply func(old attribute.Item) (attribute.Item, error)
	// inserts is set for a PartiQL INSERT, whose failed condition has an error of its own.
	inserts bool
	// tooLarge is the error text if the new item is larger than maxItem.
	tooLarge string
	// uncharged changes consume no capacity.
	uncharged bool
	// expires is set for the deletion of an expired item by the engine.
	expires bool
	// unprocessed is set if the change is left out of its batch and returned as unprocessed.
	unprocessed bool
}

func newChange(t *table, key attribute.Item) *change {
	return &change{table: t, key: key, storageKey: t.appendItemKey(nil, key), tooLarge: itemTooLarge}
}

// outcome is the effect of a change.
type outcome struct {
	old, new         attribute.Item
	oldSize, newSize int
}

// commitChange makes one change durable.
func (e *Engine) commitChange(ch *change, used *consumption) (outcome, error) {
	stripe := e.locks.stripe(ch.storageKey)
	stripe.Lock()
	defer stripe.Unlock()
	batch := e.store.NewBatch()
	done, err := e.stage(batch, ch, used)
	if err != nil {
		return done, joinClose(err, discarding{batch})
	}
	var reserved []*pendingRecord
	if ch.table.stream != nil {
		reserved = e.record(batch, []*change{ch}, []outcome{done})
	}
	err = batch.Commit()
	endAll(reserved)
	if err != nil {
		return done, fmt.Errorf("writing to %s: %w", ch.table.Name, err)
	}
	ch.table.resize(done)
	return done, nil
}

// commit makes the staged changes of a batch durable, with the records of their streams, and adds
// them to the sizes of their tables. A nil change has failed or was left out.
func (e *Engine) commit(batch *storage.Batch, changes []*change, done []outcome) error {
	reserved := e.record(batch, changes, done)
	err := batch.Commit()
	endAll(reserved)
	if err != nil {
		return err
	}
	for i, ch := range changes {
		if ch != nil {
			ch.table.resize(done[i])
		}
	}
	return nil
}

// discarding is a batch that Close discards.
type discarding struct{ *storage.Batch }

// Close discards the batch.
func (d discarding) Close() error { return d.Discard() }

// stage adds a change and its index entries to the batch, and its consumption to used. The caller
// holds the lock of the item until the batch is committed. No two changes of a batch are of the
// same item. A change that fails leaves the batch as it was.
func (e *Engine) stage(batch *storage.Batch, ch *change, used *consumption) (outcome, error) {
	if err := e.takeChange(ch, used); err != nil {
		return outcome{}, err
	}
	old, err := loadItem(e.store.Reader, ch.storageKey)
	if err != nil {
		return outcome{}, fmt.Errorf("reading from %s: %w", ch.table.Name, err)
	}
	done := outcome{old: old.item, oldSize: old.size}
	if ch.condition != nil && !ch.condition(old.item) {
		used.addWrite(nil, writeUnits(old.size))
		return done, ch.conditionError(old.item)
	}
	if ch.apply == nil {
		used.addWrite(nil, writeUnits(old.size))
		done.new, done.newSize = done.old, done.oldSize
		return done, nil
	}
	if done.new, err = ch.apply(old.item); err != nil {
		return done, err
	}
	scratch := takeBuffer()
	defer giveBuffer(scratch)
	stored := (*scratch)[:0]
	if done.new != nil {
		done.newSize = done.new.Size()
		if done.newSize > maxItem {
			return done, invalid("%s", ch.tooLarge)
		}
		stored = appendStoredItem(stored, done.new, done.newSize)
		batch.Set(ch.storageKey, stored)
	} else if done.old != nil {
		batch.Delete(ch.storageKey)
	}
	used.addWrite(nil, writeUnits(max(done.oldSize, done.newSize)))
	for _, i := range ch.table.Indexes {
		stored = ch.table.stageIndex(batch, i, done, stored, used)
	}
	*scratch = stored
	return done, nil
}

func (ch *change) conditionError(old attribute.Item) error {
	err := dynamoError("ConditionalCheckFailedException", conditionFailed)
	if ch.inserts {
		err = dynamoError("DuplicateItemException", "Duplicate primary key exists in table")
	}
	if ch.showOld {
		err.item = old
	}
	return err
}

// stageIndex adds the change of an index's entries to the batch. If no entry changes, it adds
// nothing and consumes nothing.
func (s *schema) stageIndex(batch *storage.Batch, i *index, done outcome, scratch []byte, used *consumption) []byte {
	var oldKey, newKey []byte
	var oldPart, newPart attribute.Item
	var oldSize, newSize int
	if s.indexes(i, done.old) {
		oldKey, oldPart = s.entryKey(i, done.old), s.projection(i, done.old)
		oldSize = oldPart.Size()
	}
	if s.indexes(i, done.new) {
		newKey, newPart = s.entryKey(i, done.new), s.projection(i, done.new)
		newSize = newPart.Size()
	}
	same := bytes.Equal(oldKey, newKey)
	if same && (newKey == nil || attribute.EqualItems(oldPart, newPart)) {
		return scratch
	}
	if oldKey != nil && !same {
		batch.Delete(oldKey)
		used.addWrite(i, writeUnits(oldSize))
		oldSize = 0
	}
	if newKey != nil {
		scratch = appendStoredItem(scratch[:0], newPart, newSize)
		batch.Set(newKey, scratch)
		used.addWrite(i, writeUnits(max(oldSize, newSize)))
	}
	return scratch
}

// resize updates the size of the table after a change was committed.
func (t *table) resize(done outcome) {
	switch {
	case done.old == nil && done.new != nil:
		t.items.Add(1)
	case done.old != nil && done.new == nil:
		t.items.Add(-1)
	}
	t.bytes.Add(int64(done.newSize - done.oldSize))
}
