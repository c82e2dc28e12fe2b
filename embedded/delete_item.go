package embedded

import "github.com/dynajournal/dynajournal/embedded/internal/attribute"

type deleteItemInput struct {
	writeInput

	key itemParameter
}

func (in *deleteItemInput) read(name string, r *decoder) {
	if name == "Key" {
		in.key = r.item()
		return
	}
	in.writeInput.read(name, r)
}

func (in *deleteItemInput) check() error {
	var c constraints
	in.constrain(&c, "key", in.key)
	if err := c.err(); err != nil {
		return err
	}
	if err := in.checkParameters([]parameter{{"ConditionExpression", has(in.condition)}}); err != nil {
		return err
	}
	if in.key.invalid != nil {
		return in.key.invalid
	}
	return in.checkReturnValues()
}

func (e *Engine) deleteItem(c *call) error {
	var in deleteItemInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return asModelViolation(err)
	}
	condition, err := in.bindCondition(e)
	if err != nil {
		return asModelViolation(err)
	}
	t, err := e.shared(*in.tableName)
	if err != nil {
		return err
	}
	defer t.lock.RUnlock()
	ch, err := t.deleteChange(in.key.item)
	if err != nil {
		return err
	}
	return e.write(c, ch, condition, &in.writeInput, nil)
}

// deleting is the change that removes the item with the key.
func (t *table) deleteChange(key attribute.Item) (*change, error) {
	if err := t.checkKey(key); err != nil {
		return nil, err
	}
	ch := newChange(t, key)
	ch.apply = func(attribute.Item) (attribute.Item, error) { return nil, nil } //nolint:nilnil // no item is the aim
	return ch, nil
}
