package embedded

import (
	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/partiql"
)

// executeTransaction runs up to 100 PartiQL statements, all or none.
//
// It checks, in this order:
//  1. the model: the number of statements, the parameters of each, ClientRequestToken,
//     ReturnConsumedCapacity
//  2. for each statement: its syntax and parameters, and that it has no RETURNING
//  3. that all statements read, or that all write or check
//  4. the tables, and that none is strongly consistent in several Regions
//  5. for reads: that each statement names one item of a table by its primary key, that no item is
//     given twice, and the size of all items, at most 4 MB
//  6. for writes: the keys of each statement, that no item is given twice, the token, and then
//     throughput, condition and updated item of each statement, as TransactWriteItems does
//
// An error of a statement in 2 and 5, or in the keys of EXISTS in 6, is a ValidationException that
// names the statement. Errors in the keys of other statements, and in throughput, conditions and
// updated items, cancel the transaction, with a reason for each statement.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteTransaction.html
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
			if _, bad := statement.parameters.checked(); bad != nil && withOlderWording(bad).Error() == err.Error() {
				return err
			}
			return ofStatement(i, err)
		}
		if bound[i].Returning != partiql.ReturnNothing {
			return ofStatement(i, invalid("RETURNING clause is not supported in ExecuteTransaction."))
		}
		names[i] = bound[i].Table
		if reads(bound[i]) {
			reading++
		}
	}
	if reading != 0 && reading != len(bound) {
		return invalid("ExecuteTransaction API does not support both read and write operations in the same request.")
	}
	tables, release, err := e.sharedByTransaction(names)
	if err != nil {
		return err
	}
	defer release()
	if reading > 0 {
		return e.readStatements(c, bound, tables, &in)
	}
	return e.writeStatements(c, bound, tables, &in)
}

func (e *Engine) executeTransactionTargets(c *call) []target {
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

type executeTransactionInput struct {
	statements   []*statementInput
	raw          []byte
	token        *string
	showCapacity *string
}

func (in *executeTransactionInput) read(name string, r *decoder) {
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

func (e *Engine) readStatements(
	c *call, bound []*partiql.Bound, tables map[string]*table, in *executeTransactionInput,
) error {
	targets := make([]*change, len(bound))
	filters := make([]func(attribute.Item) bool, len(bound))
	for i, b := range bound {
		if b.Index != "" {
			return ofStatement(i, invalid("Reads on indices are not supported within transactions."))
		}
		var err error
		if targets[i], filters[i], err = tables[b.Table].singleRead(b, "ExecuteTransaction"); err != nil {
			return ofStatement(i, err)
		}
	}
	if err := distinct(targets); err != nil {
		return err
	}
	used := doubledConsumption(tables)
	items, err := e.readTogether(c, targets, used)
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
	c.respondItems(items, used, in.showCapacity)
	return nil
}

func (e *Engine) writeStatements(
	c *call, bound []*partiql.Bound, tables map[string]*table, in *executeTransactionInput,
) error {
	token, err := newToken(in.token, in.raw)
	if err != nil {
		return err
	}
	changes := make([]*change, len(bound))
	reasons := newReasons(len(bound))
	for i, b := range bound {
		ch, err := tables[b.Table].statementChange(b, in.statements[i])
		if err == nil {
			changes[i] = ch
		} else if b.Verb == partiql.Check {
			return ofStatement(i, err)
		} else if err = reasons.note(i, err); err != nil {
			return err
		}
	}
	used, err := e.transact(changes, reasons, tables, token)
	if err != nil {
		return err
	}
	c.respondItems(nil, used, in.showCapacity)
	return nil
}

// ofStatement adds the position of its statement to a validation error. It returns other errors
// unchanged.
func ofStatement(i int, err error) error {
	if api := asAPIError(err); api.name() == "ValidationException" {
		return invalid("Validation failed in TransactStatements[%d]: %s", i, api.message)
	}
	return err
}
