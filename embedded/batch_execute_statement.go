package embedded

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
	"github.com/dynajournal/dynajournal/embedded/internal/partiql"
)

const maxStatements = 25

// batchExecuteStatement runs up to 25 PartiQL statements. A statement that fails has an error in
// the response and does not affect the others.
//
// It checks, in this order:
//  1. the model: the number of statements, the parameters of each, ReturnConsumedCapacity
//  2. for each statement: its syntax and parameters
//  3. that the statements without an error do not both read and write
//  4. for each statement: the table, and that it names one item by its primary key. EXISTS is
//     refused.
//  5. that no item is given twice
//  6. for each statement: the throughput, the condition and the updated item
//
// 1, 3 and 5 refuse the whole request. Unlike in the service, all statements that write are
// committed together.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html
func (e *Engine) batchExecuteStatement(c *call) error {
	var in batchExecuteStatementInput
	if err := decode(c.body, in.read); err != nil {
		return err
	}
	var k constraints
	k.statements(in.statements, "statements", maxStatements)
	k.consumedCapacity(in.showCapacity)
	if err := k.err(); err != nil {
		return err
	}
	batch := make([]*batchStatement, len(in.statements))
	for i, statement := range in.statements {
		batch[i] = &batchStatement{in: statement}
		batch[i].bound, batch[i].err = e.prepare(statement)
	}
	if err := checkKinds(batch); err != nil {
		return err
	}
	release := e.shareTables(batch)
	defer release()
	for _, s := range batch {
		s.resolve()
	}
	if err := checkTargets(batch); err != nil {
		return err
	}
	c.failStatements(batch, false)
	if err := e.runBatch(c, batch); err != nil {
		return err
	}
	c.failStatements(batch, true)
	c.respondBatch(batch, in.showCapacity)
	return nil
}

func (e *Engine) batchExecuteStatementTargets(c *call) []target {
	var in batchExecuteStatementInput
	if decode(c.body, in.read) != nil {
		return nil
	}
	return e.statementTarget(in.statements)
}

type batchExecuteStatementInput struct {
	statements   []*statementInput
	showCapacity *string
}

func (in *batchExecuteStatementInput) read(name string, r *decoder) {
	switch name {
	case "Statements":
		in.statements = r.statements("BatchStatementRequest")
	case "ReturnConsumedCapacity":
		in.showCapacity = r.text()
	default:
		r.skip()
	}
}

// batchStatement is one statement of a batch, and its result.
type batchStatement struct {
	in    *statementInput
	bound *partiql.Bound
	table *table
	// target is the item that is read or changed. filter is the rest of the WHERE clause of a
	// SELECT.
	target *change
	filter func(attribute.Item) bool
	used   consumption
	item   attribute.Item
	err    error
}

// checkKinds refuses batches that read and write.
func checkKinds(batch []*batchStatement) error {
	var reading, writing bool
	for _, s := range batch {
		if s.err == nil {
			reading = reading || reads(s.bound)
			writing = writing || !reads(s.bound)
		}
	}
	if reading && writing {
		return invalid("Read and write requests together in the same batch is not supported.")
	}
	return nil
}

// shareTables looks up the tables of the statements and acquires their locks shared. A statement
// whose table does not exist gets an error.
func (e *Engine) shareTables(batch []*batchStatement) (release func()) {
	tables := map[string]*table{}
	for _, s := range batch {
		if s.err == nil {
			tables[tableName(s.bound.Table)] = nil
		}
	}
	var locked []*table
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if t, err := e.shared(name); err == nil {
			tables[name] = t
			locked = append(locked, t)
		}
	}
	for _, s := range batch {
		if s.err == nil {
			if s.table = tables[tableName(s.bound.Table)]; s.table == nil {
				s.err = notFound(tableNotFound)
			}
		}
	}
	return func() {
		for _, t := range locked {
			t.lock.RUnlock()
		}
	}
}

// resolve determines the item of the statement.
func (s *batchStatement) resolve() {
	if s.err != nil {
		return
	}
	s.used.table = s.table
	if reads(s.bound) {
		s.target, s.filter, s.err = s.table.singleRead(s.bound, "BatchExecuteStatement")
		return
	}
	if s.bound.Verb == partiql.Check {
		s.err = invalid("EXISTS is only supported in transactions")
		return
	}
	s.target, s.err = s.table.statementChange(s.bound, s.in)
}

// checkTargets refuses batches that name an item twice.
func checkTargets(batch []*batchStatement) error {
	seen := make(map[string]bool, len(batch))
	for _, s := range batch {
		if s.err != nil {
			continue
		}
		if seen[string(s.target.storageKey)] {
			return invalid("Provided list of item keys contains duplicates")
		}
		seen[string(s.target.storageKey)] = true
	}
	return nil
}

// runBatch runs the statements that have no error.
func (e *Engine) runBatch(c *call, batch []*batchStatement) error {
	rest := slices.DeleteFunc(slices.Clone(batch), func(s *batchStatement) bool { return s.err != nil })
	if len(rest) == 0 {
		return nil
	}
	if !reads(rest[0].bound) {
		return e.commitStatements(rest)
	}
	for _, s := range rest {
		if err := s.get(e, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *batchStatement) get(e *Engine, c *call) error {
	got, err := loadItem(c.reader(e, s.table, or(s.in.consistent, false)), s.target.storageKey)
	if err != nil {
		return fmt.Errorf("reading from %s: %w", s.table.Name, err)
	}
	units := readUnits(got.size, or(s.in.consistent, false))
	if s.err = s.table.takeRead(nil, s.target.storageKey, units); s.err != nil {
		return nil //nolint:nilerr // the statement fails alone
	}
	s.used.addRead(nil, units)
	s.used.charge()
	if got.item != nil && (s.filter == nil || s.filter(got.item)) {
		s.item = s.bound.Project(got.item)
	}
	return nil
}

// commitStatements makes the changes, which are of different items, in one commit. A change that
// fails sets the error of its statement and adds nothing to the batch.
func (e *Engine) commitStatements(statements []*batchStatement) error {
	keys := make([][]byte, len(statements))
	for i, s := range statements {
		keys[i] = s.target.storageKey
	}
	defer e.locks.lockAll(keys)()
	batch := e.store.NewBatch()
	changes, outcomes := make([]*change, len(statements)), make([]outcome, len(statements))
	for i, s := range statements {
		changes[i] = s.target
		outcomes[i], s.err = e.stage(batch, s.target, &s.used)
		if s.err != nil && !errors.As(s.err, new(*apiError)) && !errors.As(s.err, new(*attribute.ValidationError)) {
			return joinClose(s.err, discarding{batch})
		}
		if s.err != nil {
			changes[i] = nil
		}
		s.used.charge()
	}
	if err := e.commit(batch, changes, outcomes); err != nil {
		return fmt.Errorf("writing a batch: %w", err)
	}
	for i, s := range statements {
		if s.err == nil {
			s.item = returned(s.bound, outcomes[i])
		}
	}
	return nil
}

func (c *call) respondBatch(batch []*batchStatement, show *string) {
	c.out = append(c.out, `{"Responses":[`...)
	for i, s := range batch {
		c.out = s.append(separate(c.out, i))
	}
	c.out = append(c.out, ']')
	if _, each := c.form(EffectStatementCapacity); each {
		c.appendCapacities(capacityOfEach(batch), show)
	} else if used := capacityOfTables(batch); used != nil {
		c.appendCapacities(used, show)
	}
	c.out = append(c.out, '}')
}

// capacityOfTables returns the capacity that a batch consumed of each table, in the order in which
// the statements name the tables. The sum includes failed statements, which are charged for the
// stored item. If no statement succeeded, the service reports nothing, and capacityOfTables returns
// nil. All this was measured in nubo-db's dynoxide (tests/partiql_index_consumed_capacity.rs,
// August 2026). The API reference describes an order by statements.
func capacityOfTables(batch []*batchStatement) []consumption {
	if !slices.ContainsFunc(batch, func(s *batchStatement) bool { return s.err == nil }) {
		return nil
	}
	var used []consumption
	for _, s := range batch {
		read, write := s.used.total()
		if read+write == 0 {
			continue
		}
		of := consumptionOf(used, s.table)
		if of == nil {
			used = append(used, consumption{table: s.table})
			of = &used[len(used)-1]
		}
		if s.err != nil {
			of.failed += read + write
		} else {
			of.add(&s.used)
		}
	}
	return used
}

// capacityOfEach returns the consumption of each statement that has a table, in the order of the
// statements.
func capacityOfEach(batch []*batchStatement) []consumption {
	var used []consumption
	for _, s := range batch {
		if s.used.table != nil {
			used = append(used, s.used)
		}
	}
	return used
}

func (s *batchStatement) append(dst []byte) []byte {
	dst = append(dst, '{')
	if s.err != nil {
		dst = appendName(dst, "Error")
		dst = appendStatementError(dst, asAPIError(s.err))
	}
	if s.bound != nil {
		dst = appendName(dst, "TableName")
		dst = attribute.AppendText(dst, s.bound.Table)
	}
	if s.item != nil && s.err == nil {
		dst = appendName(dst, "Item")
		dst = attribute.AppendItem(dst, s.item)
	}
	return append(dst, '}')
}

// batchErrorCodes maps names of errors to their codes within a batch.
var batchErrorCodes = map[string]string{
	"ConditionalCheckFailedException": "ConditionalCheckFailed",
	"DuplicateItemException":          "DuplicateItem",
	"ValidationException":             "ValidationError",
	"ResourceNotFoundException":       "ResourceNotFound",
	"InternalServerError":             "InternalServerError",

	"ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
	"ThrottlingException":                    "ThrottlingError",
}

func appendStatementError(dst []byte, e *apiError) []byte {
	code, known := batchErrorCodes[e.name()]
	if !known {
		code = e.name()
	}
	dst = append(dst, `{"Code":`...)
	dst = attribute.AppendText(dst, code)
	dst = appendName(dst, "Message")
	dst = attribute.AppendText(dst, e.message)
	if e.item != nil {
		dst = appendName(dst, "Item")
		dst = attribute.AppendItem(dst, e.item)
	}
	return append(dst, '}')
}
