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

// writeInput are the parameters that PutItem, UpdateItem and DeleteItem share.
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

// constrain checks the parameters one by one, with the one that holds the item or its key.
func (in *writeInput) constrain(c *constraints, member string, item itemParameter) {
	if item.given() && or(in.tableName, "-") == "" {
		// With nothing missing, the other parameters are not looked at.
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

// checkParameters checks that the parameters go together: the expressions of the request, and what of plain there is
// besides Expected.
func (in *writeInput) checkParameters(expressions []parameter, legacy ...parameter) error {
	legacy = append(legacy, parameter{"Expected", in.expected != nil}, parameter{"ConditionalOperator", has(in.operator)})
	if err := exclusive(givenNames(legacy...), givenNames(expressions...)); err != nil {
		return err
	}
	return in.allowedInWrite(expressions)
}

// checkReturnValues refuses what only UpdateItem can return.
func (in *writeInput) checkReturnValues() error {
	if show := or(in.returnValues, none); show != none && show != allOld {
		return invalid("ReturnValues can only be ALL_OLD or NONE")
	}
	return nil
}

// bindCondition makes the condition ready; nil if there is none.
func (in *writeInput) bindCondition(e *Engine) (func(attribute.Item) bool, error) {
	parameters, err := in.bind()
	if err != nil {
		return nil, err
	}
	condition, err := in.boundCondition(e, parameters)
	if err != nil {
		return nil, err
	}
	return evaluator(condition), parameters.Unused()
}

func (in *writeInput) boundCondition(e *Engine, p *expression.Parameters) (*expression.BoundCondition, error) {
	if in.condition == nil {
		return in.expected.expected(in.operator)
	}
	return bindCondition(e.parser.Condition, in.condition, p)
}

// write makes the change under the condition and answers with what is asked for. The update, nil if it is none, says
// which attributes are updated ones.
func (e *Engine) write(
	c *call, ch *change, condition func(attribute.Item) bool, in *writeInput, update *expression.BoundUpdate,
) error {
	ch.condition = condition
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

// shown is what a ReturnValues asks for, nil for nothing.
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
