package embedded

import (
	"slices"
	"strconv"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
	"github.com/dynajournal/dynajournal/embedded/internal/partiql"
)

// maxCachedStatements is the number of parsed PartiQL statements that are cached.
const maxCachedStatements = 1000

// statementInput has the parameters of one PartiQL statement.
type statementInput struct {
	text       *string
	parameters valuesParameter
	consistent *bool
	onFailure  *string
}

// read reads a member of the statement, and reports whether it is one.
func (in *statementInput) read(name string, r *decoder) bool {
	switch name {
	case "Statement":
		in.text = r.text()
	case "Parameters":
		in.parameters = r.valueList()
	case "ConsistentRead":
		in.consistent = r.boolean()
	case "ReturnValuesOnConditionCheckFailure":
		in.onFailure = r.text()
	default:
		return false
	}
	return true
}

// statements reads a list of statements. It returns nil if the parameter is not given.
func (r *decoder) statements(structType string) []*statementInput {
	statements := []*statementInput{}
	given := r.list(func() {
		in := new(statementInput)
		r.structure(structType, func(name string) {
			if !in.read(name, r) {
				r.skip()
			}
		})
		statements = append(statements, in)
	})
	if !given {
		return nil
	}
	return statements
}

func (in *statementInput) constrain(c *constraints, member string) {
	c.required(has(in.text), member+"statement")
	if in.text != nil {
		c.length(len(*in.text), *in.text, member+"statement", 1, partiql.MaxLength)
	}
	if in.parameters.values != nil && len(in.parameters.values) == 0 {
		c.length(0, "[]", member+"parameters", 1, 1)
	}
	c.onConditionFailure(in.onFailure, member+"returnValuesOnConditionCheckFailure")
}

func (c *constraints) statements(statements []*statementInput, member string, most int) {
	c.required(statements != nil, member)
	if statements == nil {
		return
	}
	c.length(len(statements), counted(len(statements), "statements"), member, 1, most)
	for i, in := range statements {
		in.constrain(c, member+"."+strconv.Itoa(i+1)+".member.")
	}
}

// prepare returns the parsed statement, from the cache if possible, with its parameters.
func (e *Engine) prepare(in *statementInput) (*partiql.Bound, error) {
	parsed, err := e.statements.Get(*in.text)
	if err != nil {
		return nil, err
	}
	values, err := in.parameters.checked()
	if err != nil {
		return nil, withOlderWording(err)
	}
	return parsed.Bind(values)
}

// reads reports whether the statement is a SELECT.
func reads(b *partiql.Bound) bool { return b.Verb == partiql.Select }

// statementChange returns the change that a statement other than SELECT makes.
func (t *table) statementChange(b *partiql.Bound, in *statementInput) (*change, error) {
	if b.Index != "" {
		return nil, invalid("Statement wasn't well formed, can't be processed: %s is not supported on an index", verbName(b.Verb))
	}
	if b.Verb == partiql.Insert {
		ch, err := t.putChange(b.Item)
		if err != nil {
			return nil, err
		}
		ch.condition = func(old attribute.Item) bool { return old == nil }
		ch.inserts = true
		ch.showOld = or(in.onFailure, none) == allOld
		return ch, nil
	}
	key, condition, err := b.Target(t.expressionSchema(nil))
	if err != nil {
		return nil, err
	}
	var ch *change
	switch b.Verb {
	case partiql.Update:
		ch, err = t.updateChange(key, b.Change)
	case partiql.Delete:
		ch, err = t.deleteChange(key)
	default:
		if err = t.checkKey(key); err == nil {
			ch = newChange(t, key)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := t.checkPaths(condition); err != nil {
		return nil, err
	}
	ch.condition = evaluator(condition)
	ch.showOld = or(in.onFailure, none) == allOld
	return ch, nil
}

func verbName(verb partiql.Verb) string {
	return [...]string{
		partiql.Select: "SELECT", partiql.Insert: "INSERT", partiql.Update: "UPDATE", partiql.Delete: "DELETE", partiql.Check: "EXISTS",
	}[verb]
}

// returned returns the attributes that RETURNING asks for, or nil.
func returned(b *partiql.Bound, done outcome) attribute.Item {
	which := ""
	switch b.Returning {
	case partiql.ReturnNothing:
	case partiql.ReturnAllOld:
		which = allOld
	case partiql.ReturnModifiedOld:
		which = updatedOld
	case partiql.ReturnAllNew:
		which = allNew
	case partiql.ReturnModifiedNew:
		which = updatedNew
	}
	return done.shown(which, b.Change)
}

// statementTarget returns a fault target for each statement. The target of an invalid statement is
// empty.
func (e *Engine) statementTarget(statements []*statementInput) []target {
	targets := make([]target, len(statements))
	for n, in := range statements {
		if in.text == nil {
			continue
		}
		b, err := e.prepare(in)
		if err != nil {
			continue
		}
		targets[n].table = tableName(b.Table)
		if b.Verb == partiql.Insert {
			targets[n] = e.itemTarget(&b.Table, b.Item)
			continue
		}
		if reads(b) {
			targets[n] = targets[n].asRead(in.consistent)
		}
		e.addKeyOf(&targets[n], b)
	}
	return targets
}

// addKeyOf adds the index and the key of the WHERE clause to the target, if it names a single key.
func (e *Engine) addKeyOf(t *target, b *partiql.Bound) {
	s := e.schemaOf(t.table)
	if s == nil {
		return
	}
	var i *index
	if b.Index != "" {
		if i = s.index(b.Index); i != nil && !i.Local {
			t.index = i.Name
		}
	}
	schema := s.expressionSchema(i)
	path, err := b.Selection(schema)
	if err != nil || len(path.Keys) != 1 {
		return
	}
	key := path.Keys[0]
	t.key = keyText(key.Hash...)
	if key.Range == expression.RangeEqual && len(key.Equal)+1 == len(schema.Range) {
		t.sortKey = keyText(slices.Concat(key.Equal, []attribute.Value{key.Low})...)
	}
}
