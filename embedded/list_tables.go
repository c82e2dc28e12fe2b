package embedded

import (
	"maps"
	"slices"
)

const maxListed = 100

// listTables returns the names of the tables, sorted, up to 100 at a time. It checks the model.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListTables.html
func (e *Engine) listTables(c *call) error {
	var in listTablesInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	e.tablesLock.RLock()
	names := slices.Sorted(maps.Keys(e.tables))
	e.tablesLock.RUnlock()
	if in.start != nil {
		at, found := slices.BinarySearch(names, *in.start)
		if found {
			at++
		}
		names = names[at:]
	}
	response := object{}
	if limit := int(or(in.limit, maxListed)); len(names) > limit {
		names = names[:limit]
		response["LastEvaluatedTableName"] = names[limit-1]
	}
	if names == nil {
		names = []string{}
	}
	response["TableNames"] = names
	return c.respond(response)
}

type listTablesInput struct {
	start *string
	limit *int64
}

func (in *listTablesInput) read(name string, r *decoder) {
	switch name {
	case "ExclusiveStartTableName":
		in.start = r.text()
	case "Limit":
		in.limit = r.integer("Integer")
	default:
		r.skip()
	}
}

func (in *listTablesInput) check() error {
	var c constraints
	c.name(in.start, "exclusiveStartTableName")
	c.atLeast(in.limit, "limit", 1)
	c.atMost(in.limit, "limit", maxListed)
	return c.err()
}
