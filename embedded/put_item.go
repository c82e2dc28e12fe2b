package embedded

import "github.com/dynajournal/dynajournal/embedded/internal/attribute"

type putItemInput struct {
	writeInput

	item itemParameter
}

func (in *putItemInput) read(name string, r *decoder) {
	if name == "Item" {
		in.item = r.item()
		return
	}
	in.writeInput.read(name, r)
}

func (in *putItemInput) check() error {
	var c constraints
	in.constrain(&c, "item", in.item)
	if err := c.err(); err != nil {
		return err
	}
	if err := in.checkParameters([]parameter{{"ConditionExpression", has(in.condition)}}); err != nil {
		return err
	}
	if in.item.invalid != nil {
		return in.item.invalid
	}
	return in.checkReturnValues()
}

func (e *Engine) putItem(c *call) error {
	var in putItemInput
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
	if in.item.item.Size() > maxItem {
		return invalid(itemTooLarge)
	}
	t, err := e.shared(*in.tableName)
	if err != nil {
		return err
	}
	defer t.lock.RUnlock()
	ch, err := t.putChange(in.item.item)
	if err != nil {
		return err
	}
	return e.write(c, ch, condition, &in.writeInput, nil)
}

// putting is the change that puts the item in the place of the one there is.
func (t *table) putChange(item attribute.Item) (*change, error) {
	if err := t.checkItemKeys(item); err != nil {
		return nil, err
	}
	ch := newChange(t, item)
	ch.apply = func(attribute.Item) (attribute.Item, error) { return item, nil }
	return ch, nil
}
