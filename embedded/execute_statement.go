package embedded

import "github.com/dynajournal/dynajournal/embedded/internal/attribute"

// executeStatement runs one PartiQL statement.
//
// It checks, in this order:
//  1. the model: Statement (1 to 8,192 bytes), Parameters, ReturnValuesOnConditionCheckFailure,
//     Limit, ReturnConsumedCapacity
//  2. the syntax of the statement
//  3. the parameters: their values, and that there is one for each question mark
//  4. the table
//  5. for SELECT: the index, the WHERE clause against the key schema, the attributes that the index
//     projects, the sizes of the key values, and NextToken, which must belong to the same statement
//     and parameters
//  6. for other statements: that there is no index, that the WHERE clause names the primary
//     key, and the keys
//  7. the throughput: for SELECT after the page is read
//  8. for other statements: the condition against the stored item, and the updated item
//
// A SELECT whose WHERE clause names a partition key is a query, any other SELECT is a scan.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteStatement.html
func (e *Engine) executeStatement(c *call) error {
	var in executeStatementInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	b, err := e.prepare(&in.statementInput)
	if err != nil {
		return err
	}
	t, err := e.shared(b.Table)
	if err != nil {
		return err
	}
	defer t.lock.RUnlock()
	if reads(b) {
		s, err := t.newSelection(b, or(in.consistent, false))
		if err != nil {
			return err
		}
		return e.respondSelection(c, s, &in)
	}
	ch, err := t.statementChange(b, &in.statementInput)
	if err != nil {
		return err
	}
	used := consumption{table: t}
	done, err := e.commitChange(ch, &used)
	used.charge()
	if err != nil {
		return err
	}
	c.out = append(c.out, `{"Items":[`...)
	if item := returned(b, done); item != nil {
		c.out = attribute.AppendItem(c.out, item)
	}
	c.out = append(c.out, ']')
	c.appendCapacity(&used, in.showCapacity)
	c.out = append(c.out, '}')
	return nil
}

func (e *Engine) executeStatementTargets(c *call) []target {
	var in executeStatementInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	return e.statementTarget([]*statementInput{&in.statementInput})
}

type executeStatementInput struct {
	statementInput

	limit        *int64
	token        *string
	showCapacity *string
}

func (in *executeStatementInput) read(name string, r *decoder) {
	switch name {
	case "Limit":
		in.limit = r.integer("Integer")
	case "NextToken":
		in.token = r.text()
	case "ReturnConsumedCapacity":
		in.showCapacity = r.text()
	default:
		if !in.statementInput.read(name, r) {
			r.skip()
		}
	}
}

func (in *executeStatementInput) check() error {
	var c constraints
	in.constrain(&c, "")
	c.atLeast(in.limit, "limit", 1)
	c.consumedCapacity(in.showCapacity)
	return c.err()
}

func (e *Engine) respondSelection(c *call, s *selection, in *executeStatementInput) error {
	at := continuation{}
	if in.token != nil {
		var err error
		if at, err = s.resume(*in.token, &in.statementInput); err != nil {
			return err
		}
	}
	used := consumption{table: s.read.table}
	c.out = append(c.out, `{"Items":[`...)
	project := projector{}
	if s.statement.Attributes() != nil {
		project.columns = s.statement
	}
	n := 0
	from := c.reader(e, s.read.table, s.read.consistent)
	end, err := s.run(from, at, int(or(in.limit, 0)), &used, func(shown storedItem) error {
		var err error
		c.out, err = shown.append(separate(c.out, n), project)
		n++
		return err
	})
	if err != nil {
		return err
	}
	used.charge()
	c.out = append(c.out, ']')
	if end != nil {
		end.Statement = statementHash(&in.statementInput)
		token, err := end.token()
		if err != nil {
			return err
		}
		c.out = appendName(c.out, "NextToken")
		c.out = attribute.AppendText(c.out, token)
		if end.Last != nil {
			c.out = appendName(c.out, "LastEvaluatedKey")
			c.out = attribute.AppendItem(c.out, end.Last)
		}
	}
	c.appendCapacity(&used, in.showCapacity)
	c.out = append(c.out, '}')
	return nil
}
