package embedded

import (
	"errors"
	"strconv"

	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

// transactWriteItems makes up to 100 changes of different items, all or none.
//
// It checks, in this order:
//  1. the model: the number of actions, ClientRequestToken, ReturnConsumedCapacity,
//     ReturnItemCollectionMetrics, and the parameters of each action
//  2. for each action: that it is exactly one of Put, Update, Delete and ConditionCheck, the
//     placeholders, the update and the condition, the values of the item or key, and the size of an
//     item to put, at most 400 KB
//  3. the size of all items, keys and values, at most 4 MB
//  4. the tables, and that none is strongly consistent in several Regions
//  5. for each action: the keys, that an update changes no key, and that no path leads into a key
//     attribute. An empty key attribute is a ValidationException. Another violation cancels the
//     transaction, with a reason for that action only: later actions are not checked.
//  6. that no item is given twice
//  7. the token. A token that was used within 10 minutes for the same actions makes the request do
//     nothing. With other actions it is an IdempotentParameterMismatchException.
//  8. for each action: the throughput, the condition, and the update against the stored item. The
//     transaction is canceled with a reason for each action that fails.
//
// It ignores the legacy parameters. Transactions wait for each other, so they have conflicts only
// because of a fault.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
func (e *Engine) transactWriteItems(c *call) error {
	var in transactWriteItemsInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	token, err := newToken(in.token, in.raw)
	if err != nil {
		return err
	}
	bound := make([]boundAction, len(in.actions))
	names := make([]string, len(in.actions))
	size := 0
	for i, a := range in.actions {
		if bound[i], err = a.prepare(e); err != nil {
			return withOlderWording(err)
		}
		names[i] = *a.tableName
		size += a.size()
	}
	if size > maxTransaction {
		return invalid(requestTooLarge)
	}
	tables, release, err := e.sharedByTransaction(names)
	if err != nil {
		return err
	}
	defer release()
	changes := make([]*change, len(in.actions))
	reasons := newReasons(len(in.actions))
	for i, a := range in.actions {
		ch, err := a.change(tables[*a.tableName], bound[i])
		switch api, is := errors.AsType[*apiError](err); {
		case err == nil:
			changes[i] = ch
		case is && api.emptyKey:
			return err
		default:
			if err = reasons.note(i, err); err != nil {
				return err
			}
			// The actions after the first invalid one are not checked.
			return reasons.err()
		}
	}
	used, err := e.transact(changes, reasons, tables, token)
	if err != nil {
		return err
	}
	return e.respondTransaction(c, changes, used, &in)
}

func (e *Engine) transactWriteItemsTargets(c *call) []target {
	var in transactWriteItemsInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	var targets []target
	for _, a := range in.actions {
		targets = append(targets, e.itemTarget(a.tableName, a.item.item))
	}
	return targets
}

// writeAction is one action of TransactWriteItems.
type writeAction struct {
	writeInput

	// kind is Put, Update, Delete or ConditionCheck. kinds is the number of them that are given.
	kind   string
	kinds  int
	item   itemParameter
	update *string
}

func (a *writeAction) read(name string, r *decoder) {
	switch name {
	case "Item", "Key":
		a.item = r.item()
	case "UpdateExpression":
		a.update = r.text()
	default:
		a.writeInput.read(name, r)
	}
}

type transactWriteItemsInput struct {
	actions      []*writeAction
	raw          []byte
	token        *string
	showCapacity *string
	showMetrics  *string
}

func (in *transactWriteItemsInput) read(name string, r *decoder) {
	switch name {
	case "TransactItems":
		r.peek()
		start := r.pos
		actions := []*writeAction{}
		if r.list(func() { actions = append(actions, r.writeAction()) }) {
			in.actions = actions
			in.raw = r.src[start:r.pos]
		}
	case "ClientRequestToken":
		in.token = r.text()
	case "ReturnConsumedCapacity":
		in.showCapacity = r.text()
	case "ReturnItemCollectionMetrics":
		in.showMetrics = r.text()
	default:
		r.skip()
	}
}

func (r *decoder) writeAction() *writeAction {
	a := new(writeAction)
	r.structure("TransactWriteItem", func(kind string) {
		switch kind {
		case "Put", "Update", "Delete", "ConditionCheck":
			if r.structure(kind, func(name string) { a.read(name, r) }) {
				a.kind = kind
				a.kinds++
			}
		default:
			r.skip()
		}
	})
	return a
}

func (in *transactWriteItemsInput) check() error {
	var c constraints
	c.actions(in.actions != nil, len(in.actions), "transactItems")
	c.token(in.token, "clientRequestToken")
	c.consumedCapacity(in.showCapacity)
	c.collectionMetrics(in.showMetrics)
	for i, a := range in.actions {
		a.constrain(&c, "transactItems."+strconv.Itoa(i+1)+".member.")
	}
	return c.err()
}

func (a *writeAction) constrain(c *constraints, member string) {
	switch a.kind {
	case "":
		return
	case "Put":
		member += "put."
		c.required(a.item.given(), member+"item")
	case "Update":
		member += "update."
		c.required(a.item.given(), member+"key")
		c.required(has(a.update), member+"updateExpression")
	case "Delete":
		member += "delete."
		c.required(a.item.given(), member+"key")
	case "ConditionCheck":
		member += "conditionCheck."
		c.required(a.item.given(), member+"key")
		c.required(has(a.condition), member+"conditionExpression")
	}
	c.requiredName(a.tableName, member+"tableName")
	c.onConditionFailure(a.onFailure, member+"returnValuesOnConditionCheckFailure")
}

func (a *writeAction) check() error {
	if a.kinds != 1 {
		return invalid("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	expressions := []parameter{{"ConditionExpression", has(a.condition)}}
	if a.kind == "Update" {
		expressions = append([]parameter{{"UpdateExpression", has(a.update)}}, expressions...)
	}
	return a.allowed(expressions)
}

// checkItem checks the values of the item or its key.
func (a *writeAction) checkItem() error {
	switch {
	case a.item.invalid != nil:
		return a.item.invalid
	case a.kind == "Put" && a.item.item.Size() > maxItem:
		return invalid(itemTooLarge)
	}
	return nil
}

// size returns the size of the action, which counts towards the limit of the request.
func (a *writeAction) size() int { return a.item.item.Size() + a.values.item.Size() }

// boundAction is an action with its placeholders resolved.
type boundAction struct {
	condition *expression.BoundCondition
	update    *expression.BoundUpdate
}

// prepare checks the action and resolves its placeholders.
func (a *writeAction) prepare(e *Engine) (boundAction, error) {
	if err := a.check(); err != nil {
		return boundAction{}, err
	}
	b, err := a.bindAll(e)
	if err == nil {
		err = a.checkItem()
	}
	return b, err
}

func (a *writeAction) bindAll(e *Engine) (boundAction, error) {
	var b boundAction
	parameters, err := a.bind()
	if err != nil {
		return b, err
	}
	if a.kind == "Update" {
		if b.update, err = e.bindUpdate(a.update, parameters); err != nil {
			return b, err
		}
	}
	if b.condition, err = bindCondition(e.parser.Condition, a.condition, parameters); err != nil {
		return b, err
	}
	return b, parameters.Unused()
}

// change returns the change of the item.
func (a *writeAction) change(t *table, bound boundAction) (*change, error) {
	var ch *change
	var err error
	switch a.kind {
	case "Put":
		ch, err = t.putChange(a.item.item)
	case "Update":
		ch, err = t.updateChange(a.item.item, bound.update)
	case "Delete":
		ch, err = t.deleteChange(a.item.item)
	default:
		if err = t.checkKey(a.item.item); err == nil {
			ch = newChange(t, a.item.item)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := t.checkPaths(bound.condition); err != nil {
		return nil, err
	}
	ch.condition = evaluator(bound.condition)
	ch.showOld = or(a.onFailure, none) == allOld
	return ch, nil
}

func (e *Engine) respondTransaction(c *call, changes []*change, used []consumption, in *transactWriteItemsInput) error {
	c.out = append(c.out, '{')
	c.appendCapacities(used, in.showCapacity)
	if err := e.appendAllMetrics(c, changes, in.showMetrics); err != nil {
		return err
	}
	c.out = append(c.out, '}')
	return nil
}
