package embedded

import (
	"bytes"
	"fmt"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// maxItem is the largest item, names included.
const maxItem = 400 << 10

const (
	itemTooLarge   = "Item size has exceeded the maximum allowed size"
	updateTooLarge = "Item size to update has exceeded the maximum allowed size"
)

// change is what a request wants done to one item.
type change struct {
	table *table
	// key is the primary key, checked, and storageKey where the item is stored.
	key        attribute.Item
	storageKey []byte
	// condition must hold for the item there is (nil if there is none); nil always does.
	condition func(old attribute.Item) bool
	// showOld puts the item there is into the error if the condition fails.
	showOld bool
	// apply makes the new item out of the one there is, which it does not touch; nil means that
	// there is none any more. A change without apply only checks the condition.
	apply func(old attribute.Item) (attribute.Item, error)
	// inserts marks a change whose condition is that there is no item, with an error of its own.
	inserts bool
	// tooLarge is what to say if the new item is larger than items may be.
	tooLarge string
	// uncharged changes consume nothing.
	uncharged bool
	// unprocessed is set if the change was left out of a batch, for it to be asked for again.
	unprocessed bool
}

func newChange(t *table, key attribute.Item) *change {
	return &change{table: t, key: key, storageKey: t.appendItemKey(nil, key), tooLarge: itemTooLarge}
}

// outcome is what a change did.
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
	if err := batch.Commit(); err != nil {
		return done, fmt.Errorf("writing to %s: %w", ch.table.Name, err)
	}
	ch.table.resize(done)
	return done, nil
}

// discarding gives a batch up when it is closed.
type discarding struct{ *storage.Batch }

// Close is Discard.
func (d discarding) Close() error { return d.Discard() }

// stage adds a change to the batch, with the entries of the indexes that it touches, and to what is
// consumed. The caller holds the item's lock until the batch is committed, and no two changes of a
// batch are of the same item. A change that fails leaves the batch as it was.
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

// stageIndex brings one index in line with a change: the entry moves, changes, appears, vanishes,
// or nothing that the index holds has changed, which costs nothing.
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

// resize counts a committed change to the size of the table.
func (t *table) resize(done outcome) {
	switch {
	case done.old == nil && done.new != nil:
		t.items.Add(1)
	case done.old != nil && done.new == nil:
		t.items.Add(-1)
	}
	t.bytes.Add(int64(done.newSize - done.oldSize))
}
