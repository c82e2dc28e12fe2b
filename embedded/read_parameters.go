package embedded

import "github.com/dynajournal/dynajournal/embedded/internal/expression"

// boundRead is a Query or Scan with its placeholders resolved.
type boundRead struct {
	// keys are the conditions on the key. expressed is set if they are from a
	// KeyConditionExpression.
	keys      []expression.KeyTest
	expressed bool
	filter    *expression.BoundCondition
	project   projector
}

// readInput has the parameters that Query and Scan share.
type readInput struct {
	projectionInput

	tableName  *string
	indexName  *string
	choose     *string
	limit      *int64
	start      itemParameter
	consistent *bool
	filter     *string
	// legacyFilter is QueryFilter or ScanFilter. operator is ConditionalOperator.
	legacyFilter conditionsParameter
	operator     *string
	showCapacity *string
}

func (in *readInput) read(name string, r *decoder) {
	switch name {
	case "TableName":
		in.tableName = r.text()
	case "IndexName":
		in.indexName = r.text()
	case "Select":
		in.choose = r.text()
	case "Limit":
		in.limit = r.integer("Integer")
	case "ExclusiveStartKey":
		in.start = r.item()
	case "ConsistentRead":
		in.consistent = r.boolean()
	case "FilterExpression":
		in.filter = r.text()
	case "QueryFilter", "ScanFilter":
		in.legacyFilter = r.conditions("Condition")
	case "ConditionalOperator":
		in.operator = r.text()
	case "ExpressionAttributeValues":
		in.values = r.values()
	case "ReturnConsumedCapacity":
		in.showCapacity = r.text()
	default:
		in.projectionInput.read(name, r)
	}
}

const (
	selectAll       = "ALL_ATTRIBUTES"
	selectProjected = "ALL_PROJECTED_ATTRIBUTES"
	selectSpecific  = "SPECIFIC_ATTRIBUTES"
	selectCount     = "COUNT"
)

func (in *readInput) constrain(c *constraints, filterMember string) {
	c.oneOf(in.choose, "select", selectSpecific, selectCount, selectAll, selectProjected)
	c.name(in.indexName, "indexName")
	c.consumedCapacity(in.showCapacity)
	in.legacyFilter.constrain(c, filterMember, true)
	c.requiredName(in.tableName, "tableName")
	c.conditionalOperator(in.operator)
	in.projectionInput.constrain(c, "attributesToGet")
}

// bindRest binds the filter and the projection, the last expressions of a read.
func (in *readInput) bindRest(e *Engine, parameters *expression.Parameters, b *boundRead) error {
	var err error
	if b.filter, err = in.bindFilter(e, parameters); err != nil {
		return err
	}
	if b.project, err = in.projector(e, parameters); err != nil {
		return err
	}
	return parameters.Unused()
}

// bindFilter returns the filter with its placeholders resolved, or nil without a filter.
func (in *readInput) bindFilter(e *Engine, p *expression.Parameters) (*expression.BoundCondition, error) {
	if in.filter == nil {
		return in.legacyFilter.filter(in.operator)
	}
	return bindCondition(e.parser.Filter, in.filter, p)
}

// target returns the index to read, or nil for the table.
func (in *readInput) target(t *table) (*index, error) {
	if in.indexName == nil {
		return nil, nil //nolint:nilnil // no index means the table
	}
	i := t.index(*in.indexName)
	switch {
	case i == nil:
		return nil, invalid("The table does not have the specified index: %s", *in.indexName)
	case !i.Local && or(in.consistent, false):
		return nil, invalid("Consistent reads are not supported on global secondary indexes")
	case !i.Local && i.Status != statusActive:
		return nil, invalid("Cannot read from backfilling global secondary index: %s", i.Name)
	}
	return i, nil
}

// checkSelect checks Select against the other parameters and the index, and reports whether whole
// items must be read.
func (in *readInput) checkSelect(t *table, i *index, p projector) (whole bool, err error) {
	specific := in.projection != nil || in.attributesToGet != nil
	choose := or(in.choose, "")
	switch {
	case specific && choose != "" && choose != selectSpecific:
		return false, invalid("Cannot specify the %s when choosing to get %s", in.projectionName(), selectPhrase(choose))
	case !specific && choose == selectSpecific:
		return false, invalid("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
	case choose == selectProjected && i == nil:
		return false, invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
	case i == nil || i.Projection == projectAll:
		return false, nil
	case choose == selectAll && !i.Local:
		return false, invalid(invalidParameters+"Select type ALL_ATTRIBUTES is not supported for global secondary index %s "+
			"because its projection type is not ALL", i.Name)
	case choose == selectAll:
		return true, nil
	case !specific:
		return false, nil
	}
	return t.needsWhole(i, p.attributes())
}

// needsWhole reports whether some attributes are missing in the index, so that whole items must be
// read. Only local indexes support that.
func (t *table) needsWhole(i *index, attributes []string) (bool, error) {
	var missing []string
	for _, name := range attributes {
		if !t.projected(i, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 && !i.Local {
		return false, invalid(invalidParameters+"Global secondary index %s does not project %s", i.Name, listed(missing))
	}
	return len(missing) > 0, nil
}

func (in *readInput) projectionName() string {
	if in.projection != nil {
		return "ProjectionExpression"
	}
	return "AttributesToGet"
}

func selectPhrase(choose string) string {
	if choose == selectCount {
		return "only the Count"
	}
	return choose
}

// readTarget returns the fault target of a read, without a key, and the index and schema that it
// reads.
func (e *Engine) readTarget(in *readInput) (target, *index, *schema) {
	t := target{table: tableName(or(in.tableName, ""))}.asRead(in.consistent)
	s := e.schemaOf(t.table)
	if s == nil || in.indexName == nil {
		return t, nil, s
	}
	i := s.index(*in.indexName)
	if i != nil && !i.Local {
		t.index = i.Name
	}
	return t, i, s
}
