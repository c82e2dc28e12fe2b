package dynamo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynajournal/dynajournal/internal/dynamo/direct"
)

// groupRequest is a request of a group: a PutItem for one item, otherwise a BatchExecuteStatement.
type groupRequest struct {
	group    *Group
	attempts attempts
	// members are the items without an outcome.
	members []member
	// failure is the failure of the last attempt as a whole, or nil.
	failure error
	// outcome receives the outcome of each member. If it is nil, the member's insertion does.
	outcome func(m *member, err error)
}

// member is an item of a request.
type member struct {
	part *part
	at   int // its index in the insertion
	// maybeInserted is true if an earlier attempt may have inserted the item. err is the failure of
	// the last attempt. reason is the reason of a [RequestError] with that failure.
	maybeInserted bool
	reason, err   error
}

func (m *member) item() Attributes { return m.part.Items[m.at] }

// request returns the request for some parts.
func (g *Group) request(parts []*part) *groupRequest {
	r := &groupRequest{group: g}
	r.attempts = attempts{
		client: g.client, request: request{table: g.opts.Table, write: true, before: r.before}, ctx: g.contextOf(parts),
	}
	items := 0
	for _, p := range parts {
		items += p.to - p.from
	}
	r.members = make([]member, 0, items)
	for _, p := range parts {
		for i := p.from; i < p.to; i++ {
			r.members = append(r.members, member{part: p, at: i})
		}
	}
	r.start(parts)
	return r
}

// start passes the request to the observers. parts are nil if the request continues another one.
func (r *groupRequest) start(parts []*part) {
	if !r.group.client.Observes() {
		return
	}
	r.setOperation()
	var writers []context.Context
	for _, p := range parts {
		writers = append(writers, p.ctx)
	}
	if len(parts) > 0 { // the oldest part is the first one
		r.attempts.observed.gathered = time.Since(parts[0].added)
	}
	if len(writers) > 0 {
		r.attempts.purpose = purposeOf(writers[0])
	}
	if len(writers) < 2 { // the context of the request has the values of its only writer
		writers = nil
	}
	r.attempts.start(writers)
}

// setOperation sets the operation of the next attempt.
func (r *groupRequest) setOperation() {
	r.attempts.operation, r.attempts.statements = "PutItem", 0
	if len(r.members) > 1 {
		r.attempts.operation, r.attempts.statements = "BatchExecuteStatement", len(r.members)
	}
}

// contextOf returns the context of a request for some parts. A request of one part has the values
// of the writer's context.
func (g *Group) contextOf(parts []*part) context.Context {
	if len(parts) == 1 {
		return WithValues(g.opts.Context, parts[0].ctx)
	}
	return g.opts.Context
}

// WithValues returns ctx with the values of another context. It does not end with the other
// context.
func WithValues(ctx, values context.Context) context.Context { return withValues{ctx, values} }

type withValues struct {
	context.Context //nolint:containedctx // it is a context

	values context.Context //nolint:containedctx // as above
}

// Value returns ctx's value of a key, otherwise the other context's. Package context itself uses
// values to find the parent that cancels a context; these must be ctx's, not the other context's.
func (v withValues) Value(key any) any {
	if value := v.Context.Value(key); value != nil {
		return value
	}
	return v.values.Value(key)
}

// before calls the check of each writer before an attempt, and ends the members whose check fails.
// If no member remains, the attempt is not sent.
func (r *groupRequest) before() error {
	var checked *part
	var failure error
	left := r.members[:0]
	for i := range r.members {
		m := &r.members[i]
		if m.part != checked {
			checked, failure = m.part, nil
			if m.part.Before != nil {
				failure = m.part.Before(r.attempts.checked)
			}
		}
		if failure != nil {
			r.finish(m, failure, cmp.Or(m.err, failure))
		} else {
			left = append(left, *m)
		}
	}
	clear(r.members[len(left):])
	r.members = left
	if len(r.members) == 0 {
		return errNotSent
	}
	return nil
}

// finish reports the outcome of a member: success if reason is nil, otherwise an error.
func (r *groupRequest) finish(m *member, reason, err error) {
	if reason != nil {
		a := r.attempts
		a.maybeApplied = m.maybeInserted
		err = a.fail(reason, err)
	}
	if r.outcome != nil {
		r.outcome(m, err)
		return
	}
	m.part.finish(m.at, err)
}

var errWrongNumber = errors.New("the number of responses is not the number of statements")

// send makes one attempt. It returns the failure of each member, or nil if all have succeeded. The
// request is charged to the first member, the units of each item to its own member.
func (r *groupRequest) send(ctx context.Context) ([]error, Cost, error) {
	first, start := r.members[0].part.meter, time.Now()
	first.add(Cost{Requests: 1})
	r.setOperation()
	if len(r.members) == 1 {
		put := Put{Table: r.group.opts.Table, Item: r.members[0].item(), Condition: r.members[0].part.Condition}
		cost, err := r.group.client.putItem(ctx, &put)
		first.add(cost.units())
		if err == nil {
			r.group.took(time.Since(start))
		}
		return nil, cost, err
	}
	c, memory := r.group.client, r.inserts()
	if c.sender.Alone() {
		defer memory.release()
	}
	in := &dynamodb.BatchExecuteStatementInput{
		Statements: memory.statements, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	op := direct.Operation{Name: "BatchExecuteStatement", Table: r.group.opts.Table}
	out, err := direct.Call(ctx, c.sender, op, in, nil, c.api.BatchExecuteStatement)
	if err != nil {
		return nil, Cost{}, err
	}
	r.group.took(time.Since(start))
	cost := consumed(true, out.ConsumedCapacity...)
	failures := statementFailures(out.Responses)
	r.charge(out.ConsumedCapacity, cost, failures)
	if len(out.Responses) != len(r.members) {
		return nil, cost, fmt.Errorf("%w: %d of %d", errWrongNumber, len(out.Responses), len(r.members))
	}
	if slices.Contains(failures, nil) || failures == nil { // otherwise the cost may be zero
		err = c.endpoint.consumed("BatchExecuteStatement", len(out.ConsumedCapacity) > 0)
	}
	return failures, cost, err
}

// inserts returns the statements of the members.
func (r *groupRequest) inserts() *statementMemory {
	m := takeStatementMemory(len(r.members), len(r.members)*len(r.members[0].item()))
	for i := range r.members {
		s, all := r.group.statements.of(r.members[i].item(), m.parameters)
		own := all[len(m.parameters):len(all):len(all)]
		m.statements[i] = types.BatchStatementRequest{Statement: &s.text, Parameters: own}
		m.parameters = all
	}
	return m
}

// charge charges each member the consumption of its statement. DynamoDB reports one sum for the
// table (measured in nubo-db/dynoxide, tests/partiql_index_consumed_capacity.rs, August 2026).
// Other servers report each statement, in order; DynamoDB's API reference can be read that way.
func (r *groupRequest) charge(capacity []types.ConsumedCapacity, all Cost, failures []error) {
	if len(capacity) == len(r.members) {
		for i := range capacity {
			r.members[i].part.meter.add(consumed(true, capacity[i]).units())
		}
		return
	}
	for i, units := range r.parts(all.WriteUnits, failures) {
		if units != 0 {
			r.members[i].part.meter.add(Cost{WriteUnits: units})
		}
	}
}

// parts divides a sum of write units among the members.
//
// A statement that succeeded costs as much as a put of its item, which is known. A statement whose
// key was taken costs as much as a put of the stored item, which is not known: such statements
// share the rest of the sum, in proportion to their own items. Any other failure costs nothing. If
// the sum does not fit these rules, as with an index that the journal does not know, it is divided
// in proportion to the items.
func (r *groupRequest) parts(sum float64, failures []error) []float64 {
	done, taken := make([]int, len(r.members)), make([]int, len(r.members))
	doneUnits, takenItems := 0, 0
	for i := range r.members {
		m := &r.members[i]
		switch {
		case i >= len(failures) || failures[i] == nil:
			done[i] = r.group.writeUnits(m)
			doneUnits += done[i]
		case errors.Is(judge(failures[i]).reason, ErrConditionFailed):
			taken[i] = writeUnits(m.part.Sizes[m.at])
			takenItems++
		}
	}
	if rest := sum - float64(doneUnits); takenItems > 0 && rest >= float64(takenItems) {
		parts := apportion(rest, taken)
		for i := range done {
			parts[i] += float64(done[i])
		}
		return parts
	}
	weights := done
	for i := range taken {
		weights[i] += taken[i]
	}
	if doneUnits+takenItems == 0 {
		weights[0] = 1 // no member should have a cost, but the sum must not be lost
	}
	return apportion(sum, weights)
}

// unitBytes is the number of bytes that a write unit covers.
const unitBytes = 1 << 10

// writeUnits returns the write units of an item or an index entry of size bytes.
func writeUnits(size int) int { return (size + unitBytes - 1) / unitBytes }

// writeUnits returns the cost of a put of a member.
func (g *Group) writeUnits(m *member) int {
	units := writeUnits(m.part.Sizes[m.at])
	if g.opts.IndexBytes != nil {
		units += writeUnits(g.opts.IndexBytes(m.item()))
	}
	return units
}

// statementError is the error of one statement in a response with status 200.
type statementError struct {
	smithy.GenericAPIError

	item Attributes
}

// statementFailures returns the error of each statement, or nil if all succeeded.
func statementFailures(responses []types.BatchStatementResponse) []error {
	var failures []error
	for i := range responses {
		if failed := responses[i].Error; failed != nil {
			if failures == nil {
				failures = make([]error, len(responses))
			}
			api := smithy.GenericAPIError{Code: string(failed.Code), Message: aws.ToString(failed.Message)}
			failures[i] = &statementError{GenericAPIError: api, item: failed.Item}
		}
	}
	return failures
}
