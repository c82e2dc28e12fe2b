package embedded

import (
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

// smallUpdate is a size of requests in bytes. The update of a smaller request can't be charged more
// than maxItem, regardless of how often its expression names its values.
const smallUpdate = 300

// updateItem changes attributes of the item with a key, and creates the item if it does not exist,
// unless the update only removes attributes.
//
// It checks, in this order:
//  1. ReturnValues, whose violation is reported alone if the request has a table and a key
//  2. the model. A request with a key and an empty table name is refused for the name alone.
//  3. that legacy parameters (AttributeUpdates, Expected, ConditionalOperator) and expressions are
//     not mixed, and that names and values are given only with expressions
//  4. the values of the key
//  5. the placeholders, the update and the condition
//  6. the table
//  7. the key against the key schema
//  8. that the update changes no attribute of the key
//  9. that the update and the condition have no path into a key attribute
//  10. the size of the update, in which a value counts as often as the expression names it
//  11. the throughput
//  12. the condition against the stored item
//  13. the types of the operands in the stored item, and the attributes of index keys
//  14. the size of the updated item, at most 400 KB
//
// With WithThroughput, which charges the size of the updated item, 13 is checked before 11 for an
// item that meets the condition.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
func (e *Engine) updateItem(c *call) error {
	var in updateItemInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return asModelViolation(err)
	}
	update, condition, err := in.bindAll(e)
	if err != nil {
		return asModelViolation(err)
	}
	t, err := e.shared(*in.tableName)
	if err != nil {
		return err
	}
	defer t.lock.RUnlock()
	ch, err := t.updateChange(in.key.item, update)
	if err != nil {
		return err
	}
	if err := t.checkPaths(condition); err != nil {
		return err
	}
	if update != nil && len(c.body) > smallUpdate && update.Charge() > maxItem {
		return invalid(updateTooLarge)
	}
	return e.write(c, ch, condition, &in.writeInput, update)
}

func (e *Engine) updateItemTargets(c *call) []target {
	var in updateItemInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	return []target{e.itemTarget(in.tableName, in.key.item)}
}

type updateItemInput struct {
	writeInput

	key    itemParameter
	update *string
	legacy updatesParameter
}

func (in *updateItemInput) read(name string, r *decoder) {
	switch name {
	case "Key":
		in.key = r.item()
	case "UpdateExpression":
		in.update = r.text()
	case "AttributeUpdates":
		in.legacy = r.updates()
	default:
		in.writeInput.read(name, r)
	}
}

func (in *updateItemInput) check() error {
	var c constraints
	if in.key.given() && has(in.tableName) && in.unknownReturnValues() {
		// DynamoDB reports only ReturnValues, with a text of its own, if the required parameters
		// are given.
		return invalid("Failed to satisfy constraint: Member must satisfy enum value set: " +
			"[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]")
	}
	in.constrain(&c, "key", in.key)
	in.legacy.constrain(&c)
	if err := c.err(); err != nil {
		return err
	}
	err := in.checkParameters(
		[]parameter{{"UpdateExpression", has(in.update)}, {"ConditionExpression", has(in.condition)}},
		parameter{"AttributeUpdates", in.legacy != nil})
	if err != nil {
		return err
	}
	if in.key.invalid != nil {
		return in.key.invalid
	}
	return nil
}

func (in *updateItemInput) unknownReturnValues() bool {
	known := []string{allNew, updatedOld, allOld, none, updatedNew}
	return *in.tableName != "" && !slices.Contains(known, or(in.returnValues, none))
}

// bindAll returns the update and the condition with their placeholders resolved. Each is nil if it
// is not given.
func (in *updateItemInput) bindAll(e *Engine) (*expression.BoundUpdate, *expression.BoundCondition, error) {
	parameters, err := in.bind()
	if err != nil {
		return nil, nil, err
	}
	update, err := e.bindUpdate(in.update, parameters)
	if err == nil && in.legacy != nil {
		update, err = in.legacy.bind()
	}
	if err != nil {
		return nil, nil, err
	}
	condition, err := in.boundCondition(e, parameters)
	if err != nil {
		return nil, nil, err
	}
	return update, condition, parameters.Unused()
}

func (e *Engine) bindUpdate(text *string, p *expression.Parameters) (*expression.BoundUpdate, error) {
	if text == nil {
		return nil, nil //nolint:nilnil // no update is none
	}
	parsed, err := e.parser.Update(*text)
	if err != nil {
		return nil, err
	}
	return parsed.Bind(p)
}

// updateChange returns the change that updates or creates the item with the key. A nil update
// changes no attributes.
func (t *table) updateChange(key attribute.Item, update *expression.BoundUpdate) (*change, error) {
	if err := t.checkKey(key); err != nil {
		return nil, err
	}
	if update != nil {
		for _, name := range update.Attributes() {
			if t.isKey(name) {
				return nil, invalid(invalidParameters+"Cannot update attribute %s. This attribute is part of the key", name)
			}
		}
	}
	if err := t.checkPaths(update); err != nil {
		return nil, err
	}
	ch := newChange(t, key)
	ch.tooLarge = updateTooLarge
	ch.apply = func(old attribute.Item) (attribute.Item, error) {
		if old == nil && update != nil && update.OnlyRemoves() {
			return nil, nil //nolint:nilnil // there is nothing to remove
		}
		updated := old
		if old == nil {
			updated = t.keyAttributes(key) // an item that the update creates can read its own key
		}
		if update != nil {
			var err error
			if updated, err = update.Apply(updated); err != nil {
				return nil, err
			}
		}
		return updated, t.checkIndexKeys(updated, emptyUpdatedKey)
	}
	return ch, nil
}
