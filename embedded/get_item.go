package embedded

import "fmt"

type getItemInput struct {
	tableName    *string
	key          itemParameter
	consistent   *bool
	showCapacity *string
	projectionInput
}

func (in *getItemInput) read(name string, r *decoder) {
	switch name {
	case "TableName":
		in.tableName = r.text()
	case "Key":
		in.key = r.item()
	case "ConsistentRead":
		in.consistent = r.boolean()
	case "ReturnConsumedCapacity":
		in.showCapacity = r.text()
	default:
		in.projectionInput.read(name, r)
	}
}

func (in *getItemInput) check() error {
	var c constraints
	c.consumedCapacity(in.showCapacity)
	in.constrain(&c, "attributesToGet")
	c.requiredName(in.tableName, "tableName")
	c.required(in.key.given(), "key")
	if err := c.err(); err != nil {
		return err
	}
	if err := in.checkParameters(); err != nil {
		return err
	}
	if in.key.invalid != nil {
		return in.key.invalid
	}
	return uniqueNames(in.attributesToGet)
}

func (e *Engine) getItem(c *call) error {
	var in getItemInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	project, err := in.bindProjection(e)
	if err != nil {
		return err
	}
	t, err := e.shared(*in.tableName)
	if err != nil {
		return err
	}
	defer t.lock.RUnlock()
	if err := t.checkKey(in.key.item); err != nil {
		return err
	}
	key := takeBuffer()
	defer giveBuffer(key)
	*key = t.appendItemKey((*key)[:0], in.key.item)
	var size int
	c.out, size, _, err = appendItemAt(append(c.out, '{'), `"Item":`, c.reader(e, t, or(in.consistent, false)), *key, project)
	if err != nil {
		return fmt.Errorf("reading from %s: %w", t.Name, err)
	}
	if err := t.takeRead(nil, *key, readUnits(size, or(in.consistent, false))); err != nil {
		return err
	}
	used := consumption{table: t}
	used.addRead(nil, readUnits(size, or(in.consistent, false)))
	used.charge()
	c.appendCapacity(&used, in.showCapacity)
	c.out = append(c.out, '}')
	return nil
}

// appendCapacity appends the member ConsumedCapacity if it is asked for.
func (c *call) appendCapacity(used *consumption, show *string) {
	if wanted(show) {
		c.out = appendName(c.out, "ConsumedCapacity")
		c.out = used.append(c.out, *show)
	}
}
