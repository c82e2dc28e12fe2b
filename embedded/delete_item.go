package embedded

import "github.com/dynajournal/dynajournal/embedded/internal/attribute"

// deleteItem removes the item with a key. The item need not exist.
//
// It checks, in this order:
//  1. the model. A request with a key and an empty table name is refused for the name alone.
//  2. that legacy parameters (Expected, ConditionalOperator) and expressions are not mixed,
//     and that names and values are given only with expressions
//  3. the values of the key
//  4. that ReturnValues is NONE or ALL_OLD
//  5. the placeholders and the condition
//  6. the table
//  7. the key against the key schema
//  8. that the condition has no path into a key attribute
//  9. the throughput
//  10. the condition against the stored item
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteItem.html
func (e *Engine) deleteItem(c *call) error {
	in := wholeInput{name: "Key", member: "key"}
	condition, err := in.prepare(e, c)
	if err != nil {
		return err
	}
	return in.write(e, c, condition, (*table).deleteChange)
}

func (e *Engine) deleteItemTargets(c *call) []target {
	return (&wholeInput{name: "Key", member: "key"}).targets(e, c)
}

// deleteChange returns the change that removes the item with the key.
func (t *table) deleteChange(key attribute.Item) (*change, error) {
	if err := t.checkKey(key); err != nil {
		return nil, err
	}
	ch := newChange(t, key)
	ch.apply = removeItem
	return ch, nil
}

// removeItem is the apply function of changes that remove an item.
func removeItem(attribute.Item) (attribute.Item, error) {
	return nil, nil //nolint:nilnil // no item is the aim
}
