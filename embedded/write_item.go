package embedded

import (
	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
)

const (
	allOld     = "ALL_OLD"
	allNew     = "ALL_NEW"
	updatedOld = "UPDATED_OLD"
	updatedNew = "UPDATED_NEW"
)

// writeInput has the parameters that PutItem, UpdateItem and DeleteItem share.
type writeInput struct {
	placeholders

	tableName    *string
	condition    *string
	expected     conditionsParameter
	operator     *string
	returnValues *string
	onFailure    *string
	showCapacity *string
	showMetrics  *string
}

func (in *writeInput) read(name string, r *decoder) {
	switch name {
	case "TableName":
		in.tableName = r.text()
	case "ConditionExpression":
		in.condition = r.text()
	case "Expected":
		in.expected = r.conditions("ExpectedAttributeValue")
	case "ConditionalOperator":
		in.operator = r.text()
	case "ExpressionAttributeNames":
		in.names = r.names()
	case "ExpressionAttributeValues":
		in.values = r.values()
	case "ReturnValues":
		in.returnValues = r.text()
	case "ReturnValuesOnConditionCheckFailure":
		in.onFailure = r.text()
	case "ReturnConsumedCapacity":
		in.showCapacity = r.text()
	case "ReturnItemCollectionMetrics":
		in.showMetrics = r.text()
	default:
		r.skip()
	}
}

// constrain checks the parameters against the model. item is the parameter that has the item or its
// key.
func (in *writeInput) constrain(c *constraints, member string, item itemParameter) {
	if item.given() && or(in.tableName, "-") == "" {
		// DynamoDB reports only the table name if the required parameters are given.
		c.name(in.tableName, "tableName")
		return
	}
	c.consumedCapacity(in.showCapacity)
	c.requiredName(in.tableName, "tableName")
	c.required(item.given(), member)
	c.conditionalOperator(in.operator)
	in.expected.constrain(c, "expected", false)
	c.oneOf(in.returnValues, "returnValues", allNew, updatedOld, allOld, none, updatedNew)
	c.onConditionFailure(in.onFailure, "returnValuesOnConditionCheckFailure")
	c.collectionMetrics(in.showMetrics)
}

// checkParameters checks that expressions and legacy parameters are not mixed. legacy has the
// legacy parameters that only some operations have.
func (in *writeInput) checkParameters(expressions []parameter, legacy ...parameter) error {
	legacy = append(legacy, parameter{"Expected", in.expected != nil}, parameter{"ConditionalOperator", has(in.operator)})
	if err := exclusive(givenNames(legacy...), givenNames(expressions...)); err != nil {
		return err
	}
	return in.allowedInWrite(expressions)
}

// checkReturnValues refuses values that only UpdateItem accepts.
func (in *writeInput) checkReturnValues() error {
	if show := or(in.returnValues, none); show != none && show != allOld {
		return invalid("ReturnValues can only be ALL_OLD or NONE")
	}
	return nil
}

// bindCondition returns the condition with its placeholders resolved, or nil without a condition.
func (in *writeInput) bindCondition(e *Engine) (*expression.BoundCondition, error) {
	parameters, err := in.bind()
	if err != nil {
		return nil, err
	}
	condition, err := in.boundCondition(e, parameters)
	if err != nil {
		return nil, err
	}
	return condition, parameters.Unused()
}

func (in *writeInput) boundCondition(e *Engine, p *expression.Parameters) (*expression.BoundCondition, error) {
	if in.condition == nil {
		return in.expected.expected(in.operator)
	}
	return bindCondition(e.parser.Condition, in.condition, p)
}

// wholeInput has the parameters of PutItem and DeleteItem, which replace and remove whole items.
type wholeInput struct {
	writeInput

	// name is the name of the parameter that has the item or its key. member is its name in
	// messages.
	name, member string
	item         itemParameter
}

func (in *wholeInput) read(name string, r *decoder) {
	if name == in.name {
		in.item = r.item()
		return
	}
	in.writeInput.read(name, r)
}

func (in *wholeInput) check() error {
	var c constraints
	in.constrain(&c, in.member, in.item)
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

// prepare decodes and checks the parameters, and returns the condition, or nil without a condition.
func (in *wholeInput) prepare(e *Engine, c *call) (*expression.BoundCondition, error) {
	if err := decode(c.body, in.read); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, asModelViolation(err)
	}
	condition, err := in.bindCondition(e)
	return condition, asModelViolation(err)
}

// targets returns the fault target of the request.
func (in *wholeInput) targets(e *Engine, c *call) []target {
	if decode(c.body, in.read) != nil {
		return nil
	}
	return []target{e.itemTarget(in.tableName, in.item.item)}
}

// write makes the change of the item under the condition, and appends the response.
func (in *wholeInput) write(
	e *Engine, c *call, condition *expression.BoundCondition,
	newChange func(*table, attribute.Item) (*change, error),
) error {
	t, err := e.shared(*in.tableName)
	if err != nil {
		return err
	}
	defer t.lock.RUnlock()
	ch, err := newChange(t, in.item.item)
	if err != nil {
		return err
	}
	if err := t.checkPaths(condition); err != nil {
		return err
	}
	return e.write(c, ch, condition, &in.writeInput, nil)
}

// write makes the change under the condition, and appends the response. update determines which
// attributes are the updated ones. It may be nil.
func (e *Engine) write(
	c *call, ch *change, condition *expression.BoundCondition, in *writeInput, update *expression.BoundUpdate,
) error {
	ch.condition = evaluator(condition)
	ch.showOld = or(in.onFailure, none) == allOld
	used := consumption{table: ch.table}
	done, err := e.commitChange(ch, &used)
	used.charge()
	if err != nil {
		return err
	}
	c.out = append(c.out, '{')
	if shown := done.shown(or(in.returnValues, none), update); len(shown) > 0 {
		c.out = appendName(c.out, "Attributes")
		c.out = attribute.AppendItem(c.out, shown)
	}
	c.appendCapacity(&used, in.showCapacity)
	if or(in.showMetrics, none) == "SIZE" && ch.table.hasLocalIndex() {
		c.out = appendName(c.out, "ItemCollectionMetrics")
		if c.out, err = e.appendMetrics(c.out, ch.table, ch.key); err != nil {
			return err
		}
	}
	c.out = append(c.out, '}')
	return nil
}

// shown returns the attributes that ReturnValues asks for, or nil.
func (o outcome) shown(values string, update *expression.BoundUpdate) attribute.Item {
	switch {
	case values == allOld:
		return o.old
	case values == allNew:
		return o.new
	case values == updatedOld && o.old != nil && update != nil:
		return update.Updated(o.old)
	case values == updatedNew && update != nil:
		return update.Updated(o.new)
	}
	return nil
}
