package embedded

import (
	"fmt"
	"strconv"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/storage"
)

// transactGetItems returns up to 100 items from one state of the store.
//
// It checks, in this order:
//  1. the model: the number of actions, ReturnConsumedCapacity, and for each action Get with its
//     Key and TableName
//  2. for each action: that names are given only with an expression, and the values of the key
//  3. for each action: the placeholders and the projection
//  4. the tables, and that none is strongly consistent in several Regions
//  5. for each action: that the projection has no path into a key attribute
//  6. the keys against the key schemas. An invalid key cancels the transaction, with a reason for
//     each action.
//  7. that no item is given twice
//  8. the size of all items, at most 4 MB
//
// Reads in transactions are not throttled, and have conflicts only because of a fault.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
func (e *Engine) transactGetItems(c *call) error {
	var in transactGetItemsInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	projectors := make([]projector, len(in.actions))
	names := make([]string, len(in.actions))
	for i, a := range in.actions {
		var err error
		if projectors[i], err = a.bindProjection(e); err != nil {
			return err
		}
		names[i] = *a.tableName
	}
	tables, release, err := e.sharedByTransaction(names)
	if err != nil {
		return err
	}
	defer release()
	for i, a := range in.actions {
		if err := tables[*a.tableName].checkPaths(projectors[i].expression); err != nil {
			return err
		}
	}
	reads, err := in.reads(tables)
	if err != nil {
		return err
	}
	used := doubledConsumption(tables)
	items, err := e.readTogether(c, reads, used)
	if err != nil {
		return err
	}
	for i, item := range items {
		if item != nil {
			items[i] = projectors[i].of(item)
		}
	}
	c.respondItems(items, used, in.showCapacity)
	return nil
}

func (e *Engine) transactGetItemsTargets(c *call) []target {
	var in transactGetItemsInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	var targets []target
	for _, a := range in.actions {
		targets = append(targets, e.itemTarget(a.tableName, a.key.item))
	}
	return targets
}

type getAction struct {
	projectionInput

	given     bool
	tableName *string
	key       itemParameter
}

func (a *getAction) read(name string, r *decoder) {
	switch name {
	case "TableName":
		a.tableName = r.text()
	case "Key":
		a.key = r.item()
	default:
		a.projectionInput.read(name, r)
	}
}

type transactGetItemsInput struct {
	actions      []*getAction
	showCapacity *string
}

func (in *transactGetItemsInput) read(name string, r *decoder) {
	switch name {
	case "TransactItems":
		actions := []*getAction{}
		given := r.list(func() {
			a := new(getAction)
			r.structure("TransactGetItem", func(kind string) {
				if kind != "Get" {
					r.skip()
					return
				}
				a.given = r.structure("Get", func(name string) { a.read(name, r) })
			})
			actions = append(actions, a)
		})
		if given {
			in.actions = actions
		}
	case "ReturnConsumedCapacity":
		in.showCapacity = r.text()
	default:
		r.skip()
	}
}

func (in *transactGetItemsInput) check() error {
	var c constraints
	c.actions(in.actions != nil, len(in.actions), "transactItems")
	c.consumedCapacity(in.showCapacity)
	for i, a := range in.actions {
		member := "transactItems." + strconv.Itoa(i+1) + ".member.get"
		c.required(a.given, member)
		if a.given {
			c.required(a.key.given(), member+".key")
			c.requiredName(a.tableName, member+".tableName")
		}
	}
	if err := c.err(); err != nil {
		return err
	}
	for _, a := range in.actions {
		if err := a.checkParameters(); err != nil {
			return err
		}
		if a.key.invalid != nil {
			return a.key.invalid.OlderWording()
		}
	}
	return nil
}

// reads returns the read of each action, as a change without an effect. An invalid key cancels the
// transaction.
func (in *transactGetItemsInput) reads(tables map[string]*table) ([]*change, error) {
	reads := make([]*change, len(in.actions))
	reasons := newReasons(len(in.actions))
	for i, a := range in.actions {
		t := tables[*a.tableName]
		if err := t.checkKey(a.key.item); err != nil {
			if err = reasons.note(i, err); err != nil {
				return nil, err
			}
			continue
		}
		reads[i] = newChange(t, a.key.item)
	}
	if err := reasons.err(); err != nil {
		return nil, err
	}
	return reads, distinct(reads)
}

// readTogether returns the items from one state of the store, with nil for items that do not exist.
func (e *Engine) readTogether(c *call, reads []*change, used []consumption) ([]attribute.Item, error) {
	c.reads = true
	snapshot := e.store.Snapshot()
	items, err := readFrom(snapshot.Reader, reads, used)
	if err = joinClose(err, snapshot); err != nil {
		return nil, fmt.Errorf("reading in a transaction: %w", err)
	}
	for i := range used {
		used[i].charge()
	}
	return items, nil
}

func readFrom(from storage.Reader, reads []*change, used []consumption) ([]attribute.Item, error) {
	items := make([]attribute.Item, len(reads))
	size := 0
	for i, read := range reads {
		got, err := loadItem(from, read.storageKey)
		if err != nil {
			return nil, err
		}
		consumptionOf(used, read.table).addRead(nil, readUnits(got.size, true))
		items[i] = got.item
		size += got.size
	}
	if size > maxTransaction {
		return nil, invalid(itemsTooLarge)
	}
	return items, nil
}
