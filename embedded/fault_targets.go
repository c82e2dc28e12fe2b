package embedded

import (
	"encoding/base64"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/expression"
	"github.com/dynajournal/dynajournal/embedded/internal/partiql"
)

// subject is what a request is about, as far as faults look at it. It is found out before the request is checked, so
// there may be anything in it, or nothing.
type subject struct {
	operation string
	// targets are the items in the order in which the operation goes through them, or the one table.
	targets []target
}

// target is an item, a part of a table or index, or a table.
type target struct {
	table string
	// index is the global secondary index that is read; empty for everything else.
	index string
	// key and sortKey are empty where the request does not name them; no key is.
	key, sortKey string
	// reads is set for a read that is no part of a transaction, eventually besides if it is not strongly consistent.
	reads, eventually bool
}

// targets are the targets of the request that the fault matches, and whether it matches the request at all.
func (f *Fault) targets(s subject) (hit []int, matching bool) {
	if !matches(f.Operation, s.operation) || !f.possible(s.operation) {
		return nil, false
	}
	for i, t := range s.targets {
		if f.matchesTarget(t) {
			hit = append(hit, i)
		}
	}
	if len(hit) > 0 {
		return hit, true
	}
	anything := f.Table == "" && f.Key == "" && f.SortKey == ""
	return nil, anything && len(s.targets) == 0 && f.Effect != EffectStaleRead && f.Effect != EffectIndexLag
}

// possible tells whether the effect can be had on the operation.
func (f *Fault) possible(operation string) bool {
	switch f.Effect {
	case EffectUnprocessed:
		return operation == "BatchGetItem" || operation == "BatchWriteItem"
	case EffectStatementErrors:
		return operation == "BatchExecuteStatement"
	case EffectTransactionConflict:
		switch operation {
		case "PutItem", "UpdateItem", "DeleteItem", "ExecuteStatement",
			"TransactWriteItems", "TransactGetItems", "ExecuteTransaction":
			return true
		}
		return false
	}
	return true
}

func (f *Fault) matchesTarget(t target) bool {
	switch {
	case f.Table != "" && !matches(f.Table, t.table),
		f.Key != "" && (t.key == "" || !matches(f.Key, t.key)),
		f.SortKey != "" && (t.sortKey == "" || !matches(f.SortKey, t.sortKey)):
		return false
	case f.Effect == EffectTransactionConflict:
		return !t.reads
	case f.Effect == EffectStaleRead:
		return t.eventually
	case f.Effect == EffectIndexLag:
		return t.eventually && t.index != "" && matches(f.Index, t.index)
	}
	return true
}

// subjects find the targets of operations that are about items.
var subjects = map[string]func(*Engine, *call) []target{
	"BatchExecuteStatement": (*Engine).batchStatementTargets,
	"BatchGetItem":          (*Engine).batchGetTargets,
	"BatchWriteItem":        (*Engine).batchWriteTargets,
	"DeleteItem":            (*Engine).deleteTargets,
	"ExecuteStatement":      (*Engine).statementTargets,
	"ExecuteTransaction":    (*Engine).transactedStatementTargets,
	"GetItem":               (*Engine).getTargets,
	"PutItem":               (*Engine).putTargets,
	"Query":                 (*Engine).queryTargets,
	"Scan":                  (*Engine).scanTargets,
	"TransactGetItems":      (*Engine).transactGetTargets,
	"TransactWriteItems":    (*Engine).transactWriteTargets,
	"UpdateItem":            (*Engine).updateTargets,
}

// subject finds out what the request is about. A body that cannot be read has no targets.
func (e *Engine) subject(operation string, c *call) subject {
	find, found := subjects[operation]
	if !found {
		find = (*Engine).tableTargets
	}
	return subject{operation: operation, targets: find(e, c)}
}

// of is the target of an item, or of its key.
func (e *Engine) itemTarget(table *string, item attribute.Item) target {
	t := target{table: tableName(or(table, ""))}
	if s := e.schemaOf(t.table); s != nil {
		t.key, t.sortKey = keyText(item[s.Key.Hash]), keyText(item[s.Key.Range])
	}
	return t
}

func (e *Engine) schemaOf(name string) *schema {
	t, err := e.shared(name)
	if err != nil {
		return nil
	}
	defer t.lock.RUnlock()
	return t.schema
}

// keyText is a value as the patterns of faults see it.
func keyText(v attribute.Value) string {
	if v.Kind == attribute.B {
		return base64.StdEncoding.EncodeToString([]byte(v.Text))
	}
	return v.Text
}

func (t target) asRead(consistent *bool) target {
	t.reads, t.eventually = true, !or(consistent, false)
	return t
}

func (e *Engine) tableTargets(c *call) []target {
	var name *string
	err := decode(c.body, func(member string, r *decoder) {
		if member == "TableName" {
			name = r.text()
			return
		}
		r.skip()
	})
	if err != nil || name == nil {
		return nil
	}
	return []target{{table: tableName(*name)}}
}

func (e *Engine) putTargets(c *call) []target {
	var in putItemInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	return []target{e.itemTarget(in.tableName, in.item.item)}
}

func (e *Engine) updateTargets(c *call) []target {
	var in updateItemInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	return []target{e.itemTarget(in.tableName, in.key.item)}
}

func (e *Engine) deleteTargets(c *call) []target {
	var in deleteItemInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	return []target{e.itemTarget(in.tableName, in.key.item)}
}

func (e *Engine) getTargets(c *call) []target {
	var in getItemInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	return []target{e.itemTarget(in.tableName, in.key.item).asRead(in.consistent)}
}

func (e *Engine) batchGetTargets(c *call) []target {
	var in batchGetItemInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	var targets []target
	for _, name := range in.names() {
		for _, key := range in.tables[name].keys {
			targets = append(targets, e.itemTarget(&name, key.item).asRead(in.tables[name].consistent))
		}
	}
	return targets
}

func (e *Engine) batchWriteTargets(c *call) []target {
	var in batchWriteItemInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	var targets []target
	for _, name := range in.names() {
		for _, w := range in.tables[name] {
			item := w.item.item
			if w.deletes {
				item = w.key.item
			}
			targets = append(targets, e.itemTarget(&name, item))
		}
	}
	return targets
}

func (e *Engine) transactWriteTargets(c *call) []target {
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

func (e *Engine) transactGetTargets(c *call) []target {
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
			t.key = keyText(key.Hash)
		}
	}
	return []target{t}
}

func (e *Engine) scanTargets(c *call) []target {
	var in scanInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	t, _, _ := e.readTarget(&in.readInput)
	return []target{t}
}

// readTarget is the table or index that is read, without a key.
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

func (e *Engine) statementTargets(c *call) []target {
	var in executeStatementInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	return e.statementTarget([]*statementInput{&in.statementInput})
}

func (e *Engine) batchStatementTargets(c *call) []target {
	var in batchExecuteStatementInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	return e.statementTarget(in.statements)
}

func (e *Engine) transactedStatementTargets(c *call) []target {
	var in executeTransactionInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	targets := e.statementTarget(in.statements)
	for i := range targets {
		targets[i].reads, targets[i].eventually = false, false
	}
	return targets
}

// statementTarget has a target for each statement; the empty one for a statement that makes no sense.
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

// selected adds what the WHERE of a statement tells: the key, if it is one.
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
	path, err := b.Selection(s.expressionSchema(i))
	if err != nil || len(path.Keys) != 1 {
		return
	}
	t.key = keyText(path.Keys[0].Hash)
	if path.Keys[0].Range == expression.RangeEqual {
		t.sortKey = keyText(path.Keys[0].Low)
	}
}
