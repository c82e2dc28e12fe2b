package dynamo

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// first makes the first attempt. It reports whether this request needs further attempts.
func (r *groupRequest) first() bool {
	if len(r.members) > 1 && !r.group.sharing.allowed() {
		r.group.work.Go(func() {
			r.sendSingly(r.members, r.attempts, nil)
			r.end()
		})
		return false
	}
	if r.attempt() {
		return true
	}
	r.end()
	return false
}

// end passes the request to the observers after its last attempt.
func (r *groupRequest) end() { r.attempts.end(r.attempts.explained(r.failure)) }

// further makes further attempts until every member has its outcome.
func (r *groupRequest) further() {
	defer r.end()
	for len(r.members) > 0 {
		if !r.attempts.pause(r.verdict()) {
			for i := range r.members {
				r.finish(&r.members[i], r.attempts.ended(r.members[i].err), r.members[i].err)
			}
			return
		}
		r.attempt()
	}
}

// verdict combines the verdicts on the members' failures, for the pause before the next attempt.
// One member that needs the longest pause is enough for it; the request counts as throttled only if
// all members were.
func (r *groupRequest) verdict() verdict {
	all := verdict{patient: true}
	for i := range r.members {
		v := judge(r.members[i].err)
		all.late, all.patient = all.late || v.late, all.patient && v.patient
	}
	return all
}

// all makes all attempts.
func (r *groupRequest) all() {
	if r.first() {
		r.further()
	}
}

// attempt makes one attempt. It reports whether this request needs a further one.
func (r *groupRequest) attempt() bool {
	r.attempts.timeout = r.timeout()
	shared := len(r.members) > 1
	failures, err := attempt(&r.attempts, nil, r.send)
	r.failure = err
	if isNotSent(err) {
		r.notSent(err)
		return false
	}
	if err != nil && r.attempts.timedOut {
		r.split(err)
		return false
	}
	if err != nil {
		failures = slices.Repeat([]error{err}, len(r.members))
		r.rejected(judge(err))
	}
	left, refused, accepted := r.reportOutcomes(failures)
	if shared && err == nil && anyInserted(failures) {
		r.group.accepted()
	}
	r.members = left
	if len(refused) > 0 {
		// A copy, because the remaining members continue concurrently.
		first, spent := refused[0], r.attempts
		r.group.work.Go(func() {
			r.sendSingly(refused, spent, func(taken bool) {
				if taken && !accepted { // so the service refuses PartiQL itself
					r.group.refused(first.reason, first.err)
				}
			})
		})
	}
	return len(left) > 0
}

// After AttemptTimeout/hangFraction, a shared attempt that hangs is split.
const hangFraction = 4

// timeout returns the timeout of the next attempt, or 0 for AttemptTimeout. An attempt that several
// writers share has a shorter one, so that they all wait less if it hangs.
func (r *groupRequest) timeout() time.Duration {
	opts := &r.group.client.opts
	if r.members[0].part == r.members[len(r.members)-1].part || r.attempts.used >= opts.Retries {
		return 0
	}
	return max(opts.AttemptTimeout/hangFraction, 1)
}

// rejected handles the failure of a whole request whose signature or token was rejected.
func (r *groupRequest) rejected(v verdict) {
	if v.renew {
		invalidate(r.group.client.opts.AWS.Credentials)
	}
	if errors.Is(v.reason, ErrDenied) {
		r.attempts.denials++
	}
}

// isRefusal reports whether the service refuses the kind of request, so that another kind may
// succeed.
func isRefusal(err error) bool { return errors.Is(err, ErrInvalidRequest) || errors.Is(err, ErrDenied) }

// anyInserted reports whether the service has accepted PartiQL: it has inserted an item, or found
// an item at its key.
func anyInserted(failures []error) bool {
	return len(failures) == 0 || slices.ContainsFunc(failures, func(err error) bool {
		return err == nil || errors.Is(judge(err).reason, ErrConditionFailed)
	})
}

// reportOutcomes reports the outcome of each member that has one. left holds the members that need
// another attempt. refused holds the members of a shared request that were refused, possibly
// because they are PartiQL statements. accepted reports whether the service has accepted any
// statement.
func (r *groupRequest) reportOutcomes(failures []error) (left, refused []member, accepted bool) {
	shared := len(r.members) > 1
	spent := false
	for i := range r.members {
		m := &r.members[i]
		var failure error
		if i < len(failures) { // failures is nil if all have succeeded
			failure = failures[i]
		}
		if failure == nil {
			accepted = true
			r.finish(m, nil, nil)
			continue
		}
		v := judge(failure)
		m.maybeInserted = m.maybeInserted || v.ambiguous
		m.reason, m.err = v.reason, failure
		refusal := !v.retry && isRefusal(v.reason)
		accepted = accepted || !refusal
		ended := r.attempts.ended(failure)
		switch {
		case ended != nil && !errors.Is(v.reason, ErrConditionFailed):
			r.finish(m, ended, m.err)
		case v.retry && !r.attempts.exhausted(v):
			left, spent = append(left, *m), spent || !v.patient
		case refusal && shared:
			refused = append(refused, *m)
		default:
			r.finish(m, v.reason, m.err)
		}
	}
	if spent {
		r.attempts.used++
	}
	return left, refused, accepted
}

// notSent ends the members of an attempt that was not sent. Each gets the failure of its attempt
// before, if there was one.
func (r *groupRequest) notSent(err error) {
	for i := range r.members {
		m := &r.members[i]
		ended := r.attempts.ended(m.err)
		switch {
		case ended != nil:
			r.finish(m, ended, cmp.Or(m.err, err))
		case m.err != nil:
			r.finish(m, m.reason, m.err)
		default:
			r.finish(m, errNotSent, err)
		}
	}
	r.members = nil
}

// split sends the members of each writer in a separate request, after a shared request has hung.
// The shared request may have inserted any of them; a writer that finds its own item has succeeded.
func (r *groupRequest) split(err error) {
	v, spent := judge(err), r.attempts
	spent.used++
	for i := range r.members {
		m := &r.members[i]
		m.maybeInserted, m.reason, m.err = m.maybeInserted || v.ambiguous, v.reason, err
	}
	for len(r.members) > 0 {
		end := slices.IndexFunc(r.members, func(m member) bool { return m.part != r.members[0].part })
		if end < 0 {
			end = len(r.members)
		}
		own := r.derive(r.members[:end:end], spent)
		own.outcome = r.outcome
		r.members = r.members[end:]
		r.group.work.Go(own.all)
	}
}

// sendSingly sends each member in a separate request, at most MaxInFlight at a time. spent is the
// state of the attempts before. decided, if set, is called before the last member gets its outcome.
// taken is true if the service accepted at least one member and rejected none as invalid or denied.
func (r *groupRequest) sendSingly(members []member, spent attempts, decided func(taken bool)) {
	var refused, accepted atomic.Bool
	var left atomic.Int32
	left.Store(int32(len(members)))
	outcome := func(m *member, err error) {
		switch {
		case isRefusal(err):
			refused.Store(true)
		case err == nil, errors.Is(err, ErrConditionFailed):
			accepted.Store(true)
		}
		if left.Add(-1) == 0 && decided != nil {
			decided(accepted.Load() && !refused.Load())
		}
		m.part.finish(m.at, err)
	}
	slots := make(chan struct{}, r.group.client.opts.MaxInFlight)
	var all sync.WaitGroup
	for _, m := range members {
		slots <- struct{}{}
		all.Go(func() {
			single := r.derive([]member{m}, spent)
			single.outcome = outcome
			single.all()
			<-slots
		})
	}
	all.Wait()
}

// derive returns a request for some members, which continues the attempts of this one.
func (r *groupRequest) derive(members []member, spent attempts) *groupRequest {
	own := &groupRequest{group: r.group, attempts: spent, members: members}
	own.attempts.before = own.before
	own.attempts.observed = observed{}
	own.start(nil)
	return own
}
