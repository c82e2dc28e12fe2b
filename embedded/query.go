package embedded

import (
	"bytes"
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
	"github.com/dynajournal/dynajournal/embedded/internal/legacyparams"
)

// query returns the items of one partition key in the order of their sort keys. The key condition
// has an equality for each HASH attribute and for the first RANGE attributes, and then at most one
// other condition, on the next RANGE attribute.
//
// It checks, in this order:
//  1. ConditionalOperator, whose violation is reported alone if QueryFilter has several
//     conditions
//  2. the model
//  3. that legacy parameters (AttributesToGet, QueryFilter, ConditionalOperator) and expressions
//     are not mixed. KeyConditions may be given with expressions other than
//     KeyConditionExpression.
//  4. that names and values are given only with expressions
//  5. that AttributesToGet names each attribute once
//  6. the values of ExclusiveStartKey
//  7. that there is a key condition
//  8. the placeholders, the key condition, the filter and the projection
//  9. the table and the index. Global indexes do not support consistent reads, and no reads at all
//     while they are backfilled.
//  10. ExclusiveStartKey against the key schema
//  11. the key condition against the key schema, and the sizes of its values
//  12. that the query selects ExclusiveStartKey. A query of a table without a sort key can't
//     have one, as it selects a single item.
//  13. that the projection has no path into a key attribute
//  14. that the filter has no attribute of the key
//  15. Select against the projection of the index
//  16. that the filter has no path into a key attribute
//  17. the throughput, after the page is read
//
// A page ends after 1 MB of items or Limit items, before the filter. Every read, including reads of
// indexes, sees all writes that were acknowledged before it.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
func (e *Engine) query(c *call) error {
	var in queryInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	bound, err := in.bindAll(e)
	if err != nil {
		return err
	}
	t, err := e.shared(*in.tableName)
	if err != nil {
		return err
	}
	defer t.lock.RUnlock()
	i, err := in.target(t)
	if err != nil {
		return err
	}
	if in.start.item != nil {
		if err := t.checkStart(i, in.start.item); err != nil {
			return err
		}
	}
	key, err := bound.selection(t.expressionSchema(i))
	if err != nil {
		return err
	}
	if err := checkQuerySizes(key); err != nil {
		return err
	}
	p := &pageRead{table: t, index: i, filter: evaluator(bound.filter), single: i == nil && t.Key.Range == ""}
	p.lower, p.upper = t.queryBounds(i, key)
	if in.start.item != nil {
		if p.start, err = t.queryStart(p, key, in.start.item); err != nil {
			return err
		}
	}
	if err := t.checkPaths(bound.project.expression); err != nil {
		return err
	}
	if err := in.checkFilter(bound.filter, t.keySchemaOf(i)); err != nil {
		return err
	}
	if p.fetchItems, err = in.checkSelect(t, i, bound.project); err != nil {
		return err
	}
	if err := t.checkPaths(bound.filter); err != nil {
		return err
	}
	p.backward = !or(in.forward, true)
	p.limit, p.consistent = int(or(in.limit, 0)), or(in.consistent, false)
	return e.respondPage(c, p, &in.readInput, bound.project)
}

func (e *Engine) queryTargets(c *call) []target {
	var in queryInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	t, i, s := e.readTarget(&in.readInput)
	if s == nil {
		return []target{t}
	}
	if bound, err := in.bindAll(e); err == nil {
		if key, err := bound.selection(s.expressionSchema(i)); err == nil {
			t.key = keyText(key.Hash...)
		}
	}
	return []target{t}
}

type queryInput struct {
	readInput

	keyCondition  *string
	keyConditions conditionsParameter
	forward       *bool
}

func (in *queryInput) read(name string, r *decoder) {
	switch name {
	case "KeyConditionExpression":
		in.keyCondition = r.text()
	case "KeyConditions":
		in.keyConditions = r.conditions("Condition")
	case "ScanIndexForward":
		in.forward = r.boolean()
	default:
		in.readInput.read(name, r)
	}
}

func (in *queryInput) check() error {
	if len(in.legacyFilter) > 1 && !slices.Contains([]string{"AND", "OR"}, or(in.operator, "AND")) {
		return invalid("Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]")
	}
	var c constraints
	in.constrain(&c, "queryFilter")
	if or(in.limit, 1) < 1 {
		c.brokenMember("Limit", "Member must have value greater than or equal to 1")
	}
	in.keyConditions.constrain(&c, "keyConditions", true)
	if err := c.err(); err != nil {
		return err
	}
	projection := parameter{"ProjectionExpression", has(in.projection)}
	filter := parameter{"FilterExpression", has(in.filter)}
	key := parameter{"KeyConditionExpression", has(in.keyCondition)}
	legacy := givenNames(parameter{"AttributesToGet", in.attributesToGet != nil},
		parameter{"QueryFilter", in.legacyFilter != nil}, parameter{"ConditionalOperator", has(in.operator)},
		// KeyConditions may be given with any expression but KeyConditionExpression.
		parameter{"KeyConditions", in.keyConditions != nil && has(in.keyCondition)})
	err := exclusive(legacy, givenNames(projection, filter, key))
	if err != nil {
		return err
	}
	if err := in.allowed([]parameter{filter, key}, projection); err != nil {
		return err
	}
	if err := uniqueNames(in.attributesToGet); err != nil {
		return err
	}
	if in.start.invalid != nil {
		return in.start.invalid
	}
	if in.keyCondition == nil && in.keyConditions == nil {
		return invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	return nil
}

// selection returns the selection of KeyConditionExpression or KeyConditions.
func (b boundRead) selection(schema expression.KeySchema) (expression.KeyCondition, error) {
	if b.expressed {
		return expression.KeyOf(b.keys, schema)
	}
	return expression.NewKeyCondition(b.keys, schema)
}

func (in *queryInput) bindAll(e *Engine) (boundRead, error) {
	var b boundRead
	parameters, err := in.bind()
	if err != nil {
		return b, err
	}
	if b.keys, err = in.bindKeys(e, parameters); err != nil {
		return b, err
	}
	b.expressed = in.keyCondition != nil
	err = in.bindRest(e, parameters, &b)
	return b, err
}

func (in *queryInput) bindKeys(e *Engine, parameters *expression.Parameters) ([]expression.KeyTest, error) {
	if in.keyCondition != nil {
		condition, err := bindCondition(e.parser.KeyCondition, in.keyCondition, parameters)
		if err != nil {
			return nil, err
		}
		return condition.KeyTests()
	}
	conditions, err := in.keyConditions.conditions()
	if err != nil {
		return nil, err
	}
	return legacyparams.KeyConditions(conditions)
}

// expressionSchema returns the key schema in the form of package expression.
func (s *schema) expressionSchema(i *index) expression.KeySchema {
	typed := func(names keyNames) []expression.KeyAttribute {
		attributes := make([]expression.KeyAttribute, len(names))
		for n, name := range names {
			attributes[n] = expression.KeyAttribute{Name: name, Kind: s.Kinds[name]}
		}
		return attributes
	}
	key := s.keySchemaOf(i)
	return expression.KeySchema{Hash: typed(key.Hash), Range: typed(key.Range)}
}

// checkFilter refuses filters on key attributes.
func (in *queryInput) checkFilter(filter *expression.BoundCondition, key indexKey) error {
	if filter == nil {
		return nil
	}
	parameter := "Filter Expression"
	if in.filter == nil {
		parameter = "QueryFilter"
	}
	for _, name := range filter.Attributes() {
		if key.has(name) {
			return invalid("%s can only contain non-primary key attributes: Primary key attribute: %s", parameter, name)
		}
	}
	return nil
}

func checkQuerySizes(key expression.KeyCondition) error {
	for _, value := range key.Hash {
		if err := checkSize(value, true); err != nil {
			return err
		}
	}
	for _, value := range key.Equal {
		if err := checkSize(value, false); err != nil {
			return err
		}
	}
	if key.Range == expression.AnyRange {
		return nil
	}
	return checkSize(key.Low, false)
}

// queryBounds returns the first storage key that the condition selects, and the key after the last
// one. A range that ends before it starts selects nothing.
func (s *schema) queryBounds(i *index, key expression.KeyCondition) (lower, upper []byte) {
	prefix := appendHashKey(s.entriesPrefix(i), key.Hash...)
	for _, value := range key.Equal {
		prefix = attribute.AppendKey(prefix, value)
	}
	bound := func(v attribute.Value) []byte { return attribute.AppendKey(slices.Clone(prefix), v) }
	lower, upper = prefix, prefixEnd(prefix)
	switch key.Range {
	case expression.AnyRange:
	case expression.RangeEqual:
		lower = bound(key.Low)
		upper = prefixEnd(lower)
	case expression.RangeLess:
		upper = bound(key.Low)
	case expression.RangeLessOrEqual:
		upper = prefixEnd(bound(key.Low))
	case expression.RangeGreater:
		lower = prefixEnd(bound(key.Low))
	case expression.RangeGreaterOrEqual:
		lower = bound(key.Low)
	case expression.RangeBetween:
		lower, upper = bound(key.Low), prefixEnd(bound(key.High))
	case expression.RangeBeginsWith:
		whole := bound(key.Low)
		lower = whole[:len(whole)-textEnd]
		upper = prefixEnd(lower)
	}
	if bytes.Compare(lower, upper) > 0 {
		upper = lower
	}
	return lower, upper
}
