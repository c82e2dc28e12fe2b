package embedded

import (
	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/partiql"
)

type executeTransactionInput struct {
	statements   []*statementInput
	raw          []byte
	token        *string
	showCapacity *string
}

func (in *executeTransactionInput) read(name string, r *request) {
	switch name {
	case "TransactStatements":
		r.peek()
		start := r.pos
		in.statements = r.statements("ParameterizedStatement")
		in.raw = r.src[start:r.pos]
	case "ClientRequestToken":
		in.token = r.text()
	case "ReturnConsumedCapacity":
		in.showCapacity = r.text()
	default:
		r.skip()
	}
}

func (in *executeTransactionInput) check() error {
	var c constraints
	c.statements(in.statements, "transactStatements", maxActions)
	c.token(in.token, "clientRequestToken")
	c.consumedCapacity(in.showCapacity)
	return c.err()
}

// executeTransaction runs statements all or none; all of them read, or all write or check.
func (e *Engine) executeTransaction(c *call) error {
	var in executeTransactionInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	bound := make([]*partiql.Bound, len(in.statements))
	names := make([]string, len(in.statements))
	reading := 0
	for i, statement := range in.statements {
		var err error
		if bound[i], err = e.prepare(statement); err != nil {
			return err
		}
		names[i] = bound[i].Table
		if reads(bound[i]) {
			reading++
		}
	}
	if reading != 0 && reading != len(bound) {
		return invalid("ExecuteTransaction API does not support both read and write operations in the same request.")
	}
	tables, release, err := e.shareAll(names)
	if err != nil {
		return err
	}
	defer release()
	if reading > 0 {
		return e.readStatements(c, bound, tables, &in)
	}
	return e.writeStatements(c, bound, tables, &in)
}

func (e *Engine) readStatements(c *call, bound []*partiql.Bound, tables map[string]*table, in *executeTransactionInput) error {
	targets := make([]*change, len(bound))
	filters := make([]func(attribute.Item) bool, len(bound))
	for i, b := range bound {
		var err error
		if targets[i], filters[i], err = tables[b.Table].single(b, "ExecuteTransaction"); err != nil {
			return err
		}
	}
	if err := distinct(targets); err != nil {
		return err
	}
	used := doubledConsumption(tables)
	items, err := e.readTogether(targets, used)
	if err != nil {
		return err
	}
	for i, item := range items {
		switch {
		case item == nil || filters[i] != nil && !filters[i](item):
			items[i] = nil
		default:
			items[i] = bound[i].Project(item)
		}
	}
	c.answerStatements(items, used, in.showCapacity)
	return nil
}

func (e *Engine) writeStatements(c *call, bound []*partiql.Bound, tables map[string]*table, in *executeTransactionInput) error {
	token, err := newToken(in.token, in.raw)
	if err != nil {
		return err
	}
	changes := make([]*change, len(bound))
	why := newReasons(len(bound))
	for i, b := range bound {
		ch, err := tables[b.Table].stated(b, in.statements[i])
		if err == nil {
			changes[i] = ch
		} else if err = why.note(i, err); err != nil {
			return err
		}
	}
	used := doubledConsumption(tables)
	repeated, err := e.commitTransaction(changes, why, used, token)
	if err != nil {
		return err
	}
	if repeated {
		if used, err = e.readAgain(changes, doubledConsumption(tables)); err != nil {
			return err
		}
	}
	c.answerStatements(make([]attribute.Item, len(bound)), used, in.showCapacity)
	return nil
}

func (c *call) answerStatements(items []attribute.Item, used []consumption, show *string) {
	c.out = append(c.out, `{"Responses":[`...)
	for i, item := range items {
		c.out = separate(c.out, i)
		c.out = append(c.out, '{')
		if item != nil {
			c.out = appendName(c.out, "Item")
			c.out = attribute.AppendItem(c.out, item)
		}
		c.out = append(c.out, '}')
	}
	c.out = append(c.out, ']')
	c.appendCapacities(used, show)
	c.out = append(c.out, '}')
}
