package dynamo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// groupRequest is a request of a group on its way: a PutItem for one item, else a BatchExecuteStatement.
type groupRequest struct {
	group *Group
	// parent is what the request ends with, besides its time, in tries. They are handed from the sender to whoever tries again.
	parent context.Context //nolint:containedctx // a request's own
	tries  tries
	// members are the items that have no outcome yet.
	members []member
	// outcome takes the outcome of a member; nil gives it to the member's writer.
	outcome func(m *member, err error)
}

// member is an item of a request.
type member struct {
	write *write
	// at is its place in the insertion.
	at int
	// maybe says that an earlier try may have inserted it, err is why the last one failed, reason what that means.
	maybe       bool
	reason, err error
}

func (m *member) item() Attributes { return m.write.Items[m.at] }

// request makes the request of some writes. One that serves one writer has the values of its context.
func (g *Group) request(writes []*write) *groupRequest {
	r := &groupRequest{group: g, parent: g.opts.Context}
	if len(writes) == 1 {
		r.parent = valued{g.opts.Context, writes[0].ctx}
	}
	r.tries = tries{client: g.client, request: request{table: g.opts.Table, write: true, before: r.before}}
	r.tries.within(r.parent)
	items := 0
	for _, w := range writes {
		items += w.to - w.from
	}
	r.members = make([]member, 0, items)
	for _, w := range writes {
		for i := w.from; i < w.to; i++ {
			r.members = append(r.members, member{write: w, at: i})
		}
	}
	return r
}

// valued is a group's context with the values of a writer's, which it does not end with.
type valued struct {
	context.Context //nolint:containedctx // it is a context

	values context.Context //nolint:containedctx // as above
}

// Value is the group's value of a key, else the writer's. The group's has none but those by which the package context finds
// what ends it, and these must not be the writer's.
func (v valued) Value(key any) any {
	if value := v.Context.Value(key); value != nil {
		return value
	}
	return v.values.Value(key)
}

// before calls the check of each writer before an attempt, and leaves out the members of those
// whose check fails. If none is left the attempt is not sent.
func (r *groupRequest) before() error {
	var asked *write
	var refusal error
	r.members = slices.DeleteFunc(r.members, func(m member) bool {
		if m.write != asked {
			asked, refusal = m.write, nil
			if m.write.Before != nil {
				refusal = m.write.Before()
			}
		}
		if refusal != nil && safeguard.TakenBack {
			r.finish(&m, refusal, cmp.Or(m.err, refusal))
		}
		return refusal != nil && safeguard.TakenBack
	})
	if len(r.members) == 0 {
		return errNotSent
	}
	return nil
}

// finish gives a member its outcome, an error if there is a reason for one.
func (r *groupRequest) finish(m *member, reason, err error) {
	if reason != nil {
		t := r.tries
		t.maybe = m.maybe
		err = t.ended(reason, err)
	}
	if r.outcome != nil {
		r.outcome(m, err)
		return
	}
	m.write.finish(m.at, err)
}

// first does the first try, and says whether some members are left for further ones.
func (r *groupRequest) first() bool {
	if len(r.members) > 1 && !r.group.sharing.allowed() {
		r.group.work.Go(func() {
			r.singly(r.members, r.tries, nil)
			r.tries.end()
		})
		return false
	}
	if r.try() {
		return true
	}
	r.tries.end()
	return false
}

// rest does the further tries, until every member has its outcome.
func (r *groupRequest) rest() {
	defer func() { r.tries.end() }()
	for len(r.members) > 0 {
		if !r.tries.pause() {
			for i := range r.members {
				r.finish(&r.members[i], contextReason(r.tries.ctx), r.members[i].err)
			}
			return
		}
		r.try()
	}
}

// hangsAfter is the part of AttemptTimeout after which a request that hangs is no longer shared.
const hangsAfter = 4

// patience bounds an attempt that several writers share, 0 if that is not bounded more than any:
// one that hangs must not hold up all of them as long as it would hold up one.
func (r *groupRequest) patience() time.Duration {
	opts := &r.group.client.opts
	if r.members[0].write == r.members[len(r.members)-1].write || r.tries.used >= opts.Retries {
		return 0
	}
	return max(opts.AttemptTimeout/hangsAfter, 1)
}

// try sends what is left. It says whether some is left even then.
func (r *groupRequest) try() bool {
	r.tries.patience = r.patience()
	together := len(r.members) > 1
	failures, err := attempt(&r.tries, nil, r.send)
	if isNotSent(err) {
		r.notSent(err)
		return false
	}
	if err != nil && r.tries.hung {
		r.part(err)
		return false
	}
	if err != nil {
		failures = slices.Repeat([]error{err}, len(r.members))
		r.note(judge(err))
	}
	left, refused, accepted := r.settle(failures)
	if together && err == nil && inserted(failures) {
		r.group.accepted()
	}
	r.members = left
	if len(refused) > 0 {
		first, spent := refused[0], r.tries // as they are now: the members that are left go on meanwhile
		r.group.work.Go(func() {
			r.singly(refused, spent, func(taken bool) {
				if taken && !accepted { // so what the service refuses is PartiQL
					r.group.refused(first.reason, first.err)
				}
			})
		})
	}
	return len(left) > 0
}

// part sends the members of each writer by a request of its own, after a shared one has hung: it
// may have inserted each of them, and a writer that meets its own item has succeeded.
func (r *groupRequest) part(err error) {
	v, spent := judge(err), r.tries
	spent.used++
	for i := range r.members {
		m := &r.members[i]
		m.maybe, m.reason, m.err = m.maybe || v.ambiguous, v.reason, err
	}
	for len(r.members) > 0 {
		end := slices.IndexFunc(r.members, func(m member) bool { return m.write != r.members[0].write })
		if end < 0 {
			end = len(r.members)
		}
		own := &groupRequest{group: r.group, parent: r.parent, tries: spent, members: r.members[:end:end], outcome: r.outcome}
		own.tries.before = own.before
		own.tries.within(r.parent)
		r.members = r.members[end:]
		r.group.work.Go(func() {
			if own.first() {
				own.rest()
			}
		})
	}
}

// inserted reports whether the service has taken PartiQL for what it is: it has inserted an item,
// or found one at its key.
func inserted(failures []error) bool {
	return len(failures) == 0 || slices.ContainsFunc(failures, func(err error) bool {
		return err == nil || errors.Is(judge(err).reason, ErrConditionFailed)
	})
}

// note takes note of what an answer says of the whole request.
func (r *groupRequest) note(v verdict) {
	if v.renew {
		invalidate(r.group.client.opts.AWS.Credentials)
	}
	if errors.Is(v.reason, ErrDenied) {
		r.tries.refused++
	}
}

// settle gives each member its outcome that has one. The others are left for a further try, or refused as what they are: a
// statement of PartiQL. It says whether the service has accepted any statement.
func (r *groupRequest) settle(failures []error) (left, refused []member, accepted bool) {
	together := len(r.members) > 1
	for i := range r.members {
		m := &r.members[i]
		var failure error
		if i < len(failures) { // there are none where nothing failed
			failure = failures[i]
		}
		if failure == nil {
			accepted = true
			r.finish(m, nil, nil)
			continue
		}
		v := judge(failure)
		m.maybe = safeguard.MemberMaybeStays && m.maybe || v.ambiguous
		m.reason, m.err = v.reason, failure
		refusal := !v.retry && isRefusal(v.reason)
		accepted = accepted || !refusal
		switch {
		case r.tries.ctx.Err() != nil && !errors.Is(v.reason, ErrConditionFailed):
			r.finish(m, contextReason(r.tries.ctx), m.err)
		case v.retry && r.tries.used < r.tries.client.opts.Retries && r.tries.refused < maxRefusals:
			left = append(left, *m)
		case refusal && together:
			refused = append(refused, *m)
		default:
			r.finish(m, v.reason, m.err)
		}
	}
	return left, refused, accepted
}

// notSent ends a request that was not to be sent any more: each member with the failure of its last try, if there was one.
func (r *groupRequest) notSent(err error) {
	for i := range r.members {
		m := &r.members[i]
		switch {
		case r.tries.ctx.Err() != nil:
			r.finish(m, contextReason(r.tries.ctx), err)
		case m.err != nil:
			r.finish(m, m.reason, m.err)
		default:
			r.finish(m, errNotSent, err)
		}
	}
	r.members = nil
}

// singly sends members by a request each, as many at the same time as can be under way. Before the
// last one has its outcome, decide is told whether the service accepted some of them and refused
// none for what it is. spent is what the request has used of its tries.
func (r *groupRequest) singly(members []member, spent tries, decide func(taken bool)) {
	var refusals, accepted atomic.Bool
	var left atomic.Int32
	left.Store(int32(len(members)))
	outcome := func(m *member, err error) {
		switch {
		case isRefusal(err):
			refusals.Store(true)
		case err == nil, errors.Is(err, ErrConditionFailed):
			accepted.Store(true)
		}
		if left.Add(-1) == 0 && decide != nil {
			decide(accepted.Load() && !refusals.Load())
		}
		m.write.finish(m.at, err)
	}
	slots := make(chan struct{}, r.group.client.opts.MaxInFlight)
	var all sync.WaitGroup
	for _, m := range members {
		slots <- struct{}{}
		all.Go(func() {
			single := &groupRequest{group: r.group, parent: r.parent, tries: spent, members: []member{m}, outcome: outcome}
			single.tries.before = single.before
			single.tries.within(r.parent)
			if single.first() {
				single.rest()
			}
			<-slots
		})
	}
	all.Wait()
}

var errWrongNumber = errors.New("the answer does not have as many responses as the request has statements")

// send sends one try. The request is charged to its first member; what each consumed, to its own.
func (r *groupRequest) send(ctx context.Context) ([]error, Cost, error) {
	first := r.members[0].write.meter
	first.add(Cost{Requests: 1})
	if len(r.members) == 1 {
		r.tries.operation, r.tries.statements = "PutItem", 0
		cost, err := r.group.client.putItem(ctx, &Put{Table: r.group.opts.Table, Item: r.members[0].item(), Condition: r.members[0].write.Condition})
		first.add(cost.units())
		return nil, cost, err
	}
	r.tries.operation, r.tries.statements = "BatchExecuteStatement", len(r.members)
	in := &dynamodb.BatchExecuteStatementInput{
		Statements:             make([]types.BatchStatementRequest, len(r.members)),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	for i := range r.members {
		k, parameters := r.group.statements.of(r.members[i].item())
		in.Statements[i] = types.BatchStatementRequest{Statement: &k.text, Parameters: parameters}
	}
	c := r.group.client
	out, err := ask(ctx, c, examined{"BatchExecuteStatement", r.group.opts.Table}, in, c.api.BatchExecuteStatement)
	if err != nil {
		return nil, Cost{}, err
	}
	cost := consumed(true, out.ConsumedCapacity...)
	r.charge(out.ConsumedCapacity, cost)
	if safeguard.AnswerOfEach && len(out.Responses) != len(r.members) {
		return nil, cost, fmt.Errorf("%w: %d of %d", errWrongNumber, len(out.Responses), len(r.members))
	}
	failures := failuresOf(out.Responses)
	if slices.Contains(failures, nil) || failures == nil { // where nothing was written nothing need have been consumed
		err = c.endpoint.consumed("BatchExecuteStatement", len(out.ConsumedCapacity) > 0)
	}
	return failures, cost, err
}

// charge charges each member what its statement consumed; all of it to the first, where the answer does not say it of each.
func (r *groupRequest) charge(capacity []types.ConsumedCapacity, all Cost) {
	if len(capacity) != len(r.members) {
		r.members[0].write.meter.add(all.units())
		return
	}
	for i := range capacity {
		r.members[i].write.meter.add(consumed(true, capacity[i]).units())
	}
}

// failuresOf are the errors of statements, nil if there is none.
func failuresOf(responses []types.BatchStatementResponse) []error {
	var failures []error
	for i := range responses {
		if failed := responses[i].Error; failed != nil {
			if failures == nil {
				failures = make([]error, len(responses))
			}
			failures[i] = &statementError{
				GenericAPIError: smithy.GenericAPIError{Code: string(failed.Code), Message: aws.ToString(failed.Message)},
				item:            failed.Item,
			}
		}
	}
	return failures
}

// statementError is the error of one statement inside an answer with status 200.
type statementError struct {
	smithy.GenericAPIError

	item Attributes
}
