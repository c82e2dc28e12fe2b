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

// groupRequest is a request of a group: a PutItem for one item, else a BatchExecuteStatement.
type groupRequest struct {
	group    *Group
	attempts attempts
	// members are the items without an outcome.
	members []member
	// outcome gets the outcome of a member; nil gives it to the member's insertion.
	outcome func(m *member, err error)
}

// member is an item of a request.
type member struct {
	part *part
	at   int // its index in the insertion
	// maybeInserted is true if an earlier attempt may have inserted the item. err is why the last
	// one failed, reason what that means.
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
	return r
}

// contextOf returns the context of a request for some parts. For a single writer it has the values
// of the writer's context.
func (g *Group) contextOf(parts []*part) context.Context {
	if len(parts) == 1 {
		return withValues{g.opts.Context, parts[0].ctx}
	}
	return g.opts.Context
}

// withValues is the group's context with the values of a writer's. It does not end with the
// writer's.
type withValues struct {
	context.Context //nolint:containedctx // it is a context

	values context.Context //nolint:containedctx // as above
}

// Value returns the group's value of a key, else the writer's. The group's only values are those by
// which package context finds what ends it; these must not be the writer's.
func (v withValues) Value(key any) any {
	if value := v.Context.Value(key); value != nil {
		return value
	}
	return v.values.Value(key)
}

// before calls the check of each writer before an attempt, and ends the members whose check fails.
// If none is left the attempt is not sent.
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

// finish gives a member its outcome: an error if there is a reason for one.
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

var errWrongNumber = errors.New("the response has another number of responses than the request has statements")

// send makes one attempt. It returns the failure of each member, nil if all have succeeded. The
// request is charged to its first member, the units of an item to its own.
func (r *groupRequest) send(ctx context.Context) ([]error, Cost, error) {
	first, began := r.members[0].part.meter, time.Now()
	first.add(Cost{Requests: 1})
	if len(r.members) == 1 {
		r.attempts.operation, r.attempts.statements = "PutItem", 0
		put := Put{Table: r.group.opts.Table, Item: r.members[0].item(), Condition: r.members[0].part.Condition}
		cost, err := r.group.client.putItem(ctx, &put)
		first.add(cost.units())
		if err == nil {
			r.group.took(time.Since(began))
		}
		return nil, cost, err
	}
	r.attempts.operation, r.attempts.statements = "BatchExecuteStatement", len(r.members)
	c, memory := r.group.client, r.inserts()
	if c.sender.Alone() {
		defer memory.give()
	}
	in := &dynamodb.BatchExecuteStatementInput{
		Statements: memory.statements, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	op := direct.Operation{Name: "BatchExecuteStatement", Table: r.group.opts.Table}
	out, err := direct.Call(ctx, c.sender, op, in, nil, c.api.BatchExecuteStatement)
	if err != nil {
		return nil, Cost{}, err
	}
	r.group.took(time.Since(began))
	cost := consumed(true, out.ConsumedCapacity...)
	failures := statementFailures(out.Responses)
	r.charge(out.ConsumedCapacity, cost, failures)
	if len(out.Responses) != len(r.members) {
		return nil, cost, fmt.Errorf("%w: %d of %d", errWrongNumber, len(out.Responses), len(r.members))
	}
	if slices.Contains(failures, nil) || failures == nil { // else nothing need have been consumed
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

// charge charges each member what its statement has consumed. DynamoDB reports one sum for the
// table (measured in nubo-db/dynoxide, tests/partiql_index_consumed_capacity.rs, August 2026).
// Other servers report each statement, in their order, as DynamoDB's API reference can be read.
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

// parts returns the part of each member in a sum of write units.
//
// A statement that succeeded costs what a put of its item does, which is known. One whose key was
// taken costs what a put of the stored item would, which is not known: these statements share what
// the others leave of the sum, in the proportion of their own items. Any other failure costs
// nothing. If the sum is another than that allows, as with an index that the journal does not know,
// it is divided in the proportion of the items.
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
		weights[0] = 1 // nothing can have cost anything: the sum must not be lost
	}
	return apportion(sum, weights)
}

// unitBytes is how much of an item a write unit is for.
const unitBytes = 1 << 10

// writeUnits returns the write units of an item or an entry of an index of so many bytes.
func writeUnits(size int) int { return (size + unitBytes - 1) / unitBytes }

// writeUnits returns what the put of a member costs.
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

// statementFailures returns the error of each statement, nil if there is none at all.
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
