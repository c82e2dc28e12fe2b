package embedded

import (
	"fmt"
	"sync"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// getItem returns the item with a key.
//
// It checks, in this order:
//  1. the model
//  2. that AttributesToGet and ProjectionExpression are not mixed, and that names are given only
//     with an expression
//  3. the values of the key
//  4. that AttributesToGet names each attribute once
//  5. the placeholders and the projection
//  6. the table
//  7. the key against the key schema
//  8. that the projection has no path into a key attribute
//  9. the throughput
//
// Every read sees all writes that were acknowledged before it. A read without ConsistentRead only
// consumes less capacity, and a fault can make it return a past state.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetItem.html
func (e *Engine) getItem(c *call) error {
	var in getItemInput
	if len(c.body) <= largestReadKey {
		in.space = readKeys.Get().(attribute.Item) //nolint:forcetypeassert // the pool holds nothing else
		defer readKeys.Put(in.space)
	}
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
	if err := t.checkPaths(project.expression); err != nil {
		return err
	}
	key := takeBuffer()
	defer giveBuffer(key)
	*key = t.appendItemKey((*key)[:0], in.key.item)
	var size int
	consistent := or(in.consistent, false)
	c.out, size, _, err = appendItemAt(append(c.out, '{'), `"Item":`, c.reader(e, t, consistent), *key, project)
	if err != nil {
		return fmt.Errorf("reading from %s: %w", t.Name, err)
	}
	units := readUnits(size, consistent)
	if err := t.takeRead(nil, *key, units); err != nil {
		return err
	}
	used := consumption{table: t}
	used.addRead(nil, units)
	used.charge()
	c.appendCapacity(&used, in.showCapacity)
	c.out = append(c.out, '}')
	return nil
}

func (e *Engine) getItemTargets(c *call) []target {
	var in getItemInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	return []target{e.itemTarget(in.tableName, in.key.item).asRead(in.consistent)}
}

// readKeys is a pool of maps for the keys of GetItem. A map takes a kilobyte, a fifth of the memory
// that a small GetItem allocates. Nothing refers to the key after its request.
var readKeys = sync.Pool{New: func() any { return attribute.Item{} }}

// largestReadKey is the largest body size whose key is decoded into a map of readKeys, so that
// these maps remain small.
const largestReadKey = 4 << 10

type getItemInput struct {
	tableName *string
	key       itemParameter
	// space is a map for the key, or nil to create one.
	space        attribute.Item
	consistent   *bool
	showCapacity *string
	projectionInput
}

func (in *getItemInput) read(name string, r *decoder) {
	switch name {
	case "TableName":
		in.tableName = r.text()
	case "Key":
		clear(in.space) // of another request, or another Key of this one
		in.key = r.itemInto(in.space)
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
