package embedded

import (
	"encoding/base64"
	"strings"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// target names an item, a part of a table or index, or a table that a request reads or writes.
type target struct {
	table string
	// index is the global secondary index that is read. It is empty for any other target.
	index string
	// key and sortKey are the values of the key. They are empty where the request does not name
	// them. A key value is never empty.
	key, sortKey string
	// reads is set for a read outside of transactions. eventually is also set if it is not strongly
	// consistent.
	reads, eventually bool
}

// targets returns the positions of the targets that the fault matches, and whether it matches the
// request.
func (f *Fault) targets(operation string, targets []target) (hit []int, matching bool) {
	if !matches(f.Operation, operation) || !f.possible(operation) {
		return nil, false
	}
	for i, t := range targets {
		if f.matchesTarget(t) {
			hit = append(hit, i)
		}
	}
	if len(hit) > 0 {
		return hit, true
	}
	anything := f.Table == "" && f.Key == "" && f.SortKey == ""
	return nil, anything && len(targets) == 0 && f.Effect != EffectStaleRead && f.Effect != EffectIndexLag
}

// possible reports whether the operation can have the effect.
func (f *Fault) possible(operation string) bool {
	switch f.Effect {
	case EffectUnprocessed:
		return operation == "BatchGetItem" || operation == "BatchWriteItem"
	case EffectStatementErrors, EffectStatementCapacity:
		return operation == "BatchExecuteStatement"
	case EffectTransactionConflict:
		switch operation {
		case "PutItem", "UpdateItem", "DeleteItem", "ExecuteStatement",
			"TransactWriteItems", "TransactGetItems", "ExecuteTransaction":
			return true
		}
		return false
	case EffectStreamLag, EffectHalfPage, EffectExpiredIterator, EffectTrimmed:
		return operation == "GetRecords"
	case EffectStaleDescription:
		return operation == "DescribeTable" || operation == "DescribeTimeToLive"
	case EffectLateShards:
		return operation == "DescribeStream"
	case EffectLateLatest:
		return operation == "GetShardIterator"
	case EffectReaderLimit:
		return operations[operation].ofStreams
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

// itemTarget returns the target of an item or its key.
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

// keyText returns the text of a key's values, as fault patterns match it and messages show it.
func keyText(values ...attribute.Value) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = v.Text
		if v.Kind == attribute.B {
			texts[i] = base64.StdEncoding.EncodeToString([]byte(v.Text))
		}
	}
	return strings.Join(texts, "|")
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
