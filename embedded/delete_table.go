package embedded

import (
	"fmt"

	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// deleteTable drops a table with its items and indexes, at once, although the response has the
// status DELETING.
//
// It checks, in this order:
//  1. that TableName is given, its length, and the model
//  2. the table
//  3. that the table is not protected against deletion
//  4. that no index is backfilled
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteTable.html
func (e *Engine) deleteTable(c *call) error {
	name, err := c.decodeTable()
	if err != nil {
		return err
	}
	t, err := e.exclusive(name)
	if err != nil {
		return err
	}
	defer t.lock.Unlock()
	switch {
	case t.Protected:
		return invalid("Resource cannot be deleted as it is currently protected against deletion. " +
			"Disable deletion protection first.")
	case t.status() != statusActive:
		return inUse("Attempt to change a resource which is still in use: Table is being updated: " + t.Name)
	}
	err = e.disableStream(t, func(also ...func(*storage.Batch)) error {
		batch := e.store.NewBatch()
		batch.Delete(schemaKey(t.Name))
		batch.DeleteRange(itemPrefix(nil, t.ID, 0), itemPrefix(nil, t.ID+1, 0))
		for _, add := range also {
			add(batch)
		}
		return batch.Commit()
	})
	if err != nil {
		return fmt.Errorf("dropping %s: %w", t.Name, err)
	}
	t.dropped = true
	e.tablesLock.Lock()
	delete(e.tables, t.Name)
	e.tablesLock.Unlock()
	description := t.describe(statusDeleting, e.now().UnixMilli())
	for _, gone := range []string{
		"CreationDateTime", "KeySchema", "AttributeDefinitions", "LocalSecondaryIndexes", "GlobalSecondaryIndexes",
	} {
		delete(description, gone)
	}
	return c.respond(object{"TableDescription": description})
}
