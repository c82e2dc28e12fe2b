package embedded

import "github.com/dynajournal/dynajournal/embedded/internal/attribute"

// putItem stores an item, and replaces the item with the same key if one exists.
//
// It checks, in this order:
//  1. the model. A request with an item and an empty table name is refused for the name alone.
//  2. that legacy parameters (Expected, ConditionalOperator) and expressions are not mixed,
//     and that names and values are given only with expressions
//  3. the values of the item
//  4. that ReturnValues is NONE or ALL_OLD
//  5. the placeholders and the condition
//  6. the size of the item, at most 400 KB
//  7. the table
//  8. the attributes of the primary key and of index keys: types, sizes, and that none is empty
//  9. that the condition has no path into a key attribute
//  10. the throughput
//  11. the condition against the stored item
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
func (e *Engine) putItem(c *call) error {
	in := wholeInput{name: "Item", member: "item"}
	condition, err := in.prepare(e, c)
	if err != nil {
		return err
	}
	if in.item.item.Size() > maxItem {
		return invalid(itemTooLarge)
	}
	return in.write(e, c, condition, (*table).putChange)
}

func (e *Engine) putItemTargets(c *call) []target {
	return (&wholeInput{name: "Item", member: "item"}).targets(e, c)
}

// putChange returns the change that stores the item, and replaces the item with its key.
func (t *table) putChange(item attribute.Item) (*change, error) {
	if err := t.checkItemKeys(item); err != nil {
		return nil, err
	}
	ch := newChange(t, item)
	ch.apply = func(attribute.Item) (attribute.Item, error) { return item, nil }
	return ch, nil
}
