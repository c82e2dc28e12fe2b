package embedded

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"time"
)

const (
	throughputExceeded = "The level of configured provisioned throughput for the table was exceeded. Consider increasing " +
		"your provisioning level with the UpdateTable API."
	requestLimitExceeded = "Throughput exceeds the current throughput limit for your account. Please contact AWS Support at " +
		"https://aws.amazon.com/support to request a limit increase"
	onDemandExceeded = "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling " +
		"your table or index so please try again shortly. If exceptions persist, check if you have a hot key."
	transactionConflict = "Transaction is ongoing for the item"
)

// perform runs the request, or applies the fault that hits it.
func (e *Engine) perform(name string, c *call) error {
	if !e.faults.active.Load() {
		return c.in.run(e, c)
	}
	c.fault, c.forms = e.faults.match(name, c.op.targets(e, c))
	if err := c.checkSignedAt(e.now()); err != nil {
		return err
	}
	if c.fault == nil {
		return c.in.run(e, c)
	}
	defer c.fault.stale.release()
	switch c.fault.Effect {
	case EffectSlow:
		return e.slow(name, c)
	case EffectHang, EffectReset:
		var err error
		if c.fault.Applied {
			err = c.in.run(e, c)
		}
		if c.fault.Effect == EffectHang {
			select {
			case <-c.ctx.Done():
			case <-e.faults.ending:
			}
		}
		c.damage = damageReset
		return err
	case EffectTruncated:
		c.damage = damageTruncated
		return c.in.run(e, c)
	case EffectGarbage:
		c.damage = damageGarbage
		return c.in.run(e, c)
	case EffectUnprocessed, EffectStatementErrors, EffectStaleRead, EffectIndexLag, EffectStaleDescription,
		EffectStreamLag, EffectHalfPage, EffectExpiredIterator, EffectTrimmed, EffectLateShards, EffectLateLatest:
		return c.in.run(e, c)
	}
	if c.fault.Applied {
		if err := c.in.run(e, c); err != nil {
			slog.Debug("embedded DynamoDB: a request failed, and a fault replaces its response", "operation", name, "error", err)
		}
	}
	return c.fault.err(name)
}

// err returns the error of the effect.
func (s *requestFault) err(operation string) error {
	switch s.Effect {
	case EffectThroughputExceeded:
		return s.throttled(operation, "ProvisionedThroughputExceededException", throughputExceeded, provisionedLimit)
	case EffectThrottling:
		return s.throttled(operation, "ThrottlingException", onDemandExceeded, keyRangeLimit)
	case EffectRequestLimit:
		return s.throttled(operation, "RequestLimitExceeded", requestLimitExceeded, accountLimit)
	case EffectExpiredToken:
		return serviceError("ExpiredTokenException", "The security token included in the request is expired")
	case EffectAccessDenied:
		return s.denial(operation)
	case EffectUnavailable:
		return busy()
	case EffectTransactionConflict:
		return s.conflict(operation)
	case EffectReaderLimit:
		return tooManyReaders()
	}
	return internalError()
}

// denial returns the error of a request that no policy allows.
func (s *requestFault) denial(operation string) error {
	action, resource := "dynamodb:"+operation, "*"
	if s.first.table != "" {
		resource = tableARN(s.first.table)
	}
	return serviceError("AccessDeniedException", "User: arn:aws:iam::"+accountID+":user/denied is not authorized to perform: "+
		action+" on resource: "+resource+" because no identity-based policy allows the "+action+" action")
}

// throttled returns an error with the reason for which the service would throttle the first target.
// A request that neither reads nor writes items has no reason.
func (s *requestFault) throttled(operation, kind, message, limit string) error {
	err := dynamoError(kind, message)
	if s.first.key != "" || s.first.reads {
		reads := s.first.reads || operation == "TransactGetItems"
		err.throttling = newThrottlingReason(s.first.table, s.first.index, reads, limit)
	}
	return err
}

func (s *requestFault) conflict(operation string) error {
	switch operation {
	case "TransactWriteItems", "TransactGetItems", "ExecuteTransaction":
		reasons := newReasons(max(1, s.targets))
		for i := range reasons {
			if slices.Contains(s.hit, i) || s.targets == 0 {
				reasons[i] = cancellationReason{code: "TransactionConflict", message: transactionConflict}
			}
		}
		return reasons.err()
	}
	return dynamoError("TransactionConflictException", transactionConflict)
}

// slow runs the request late, or sends its response late. A request that has not run yet runs even
// if its client goes away.
func (e *Engine) slow(name string, c *call) error {
	var err error
	if c.fault.Applied {
		err = c.in.run(e, c)
	}
	slept := make(chan error, 1)
	ctx, wake := context.WithCancel(context.WithoutCancel(c.ctx))
	e.background.Go(func() {
		select {
		case <-e.faults.ending:
			wake()
		case <-ctx.Done():
		}
	})
	delay := c.fault.Delay
	e.background.Go(func() { slept <- e.options.sleep(ctx, delay) })
	select {
	case failed := <-slept:
		wake()
		if failed != nil {
			c.damage = damageReset
			return err
		}
		if !c.fault.Applied {
			return c.in.run(e, c)
		}
		return err
	case <-c.ctx.Done():
	}
	c.damage = damageReset
	if c.fault.Applied {
		wake()
		return err
	}
	late := &call{ctx: ctx, op: c.op, in: c.in, host: c.host, body: bytes.Clone(c.body)}
	e.background.Go(func() {
		defer wake()
		defer late.in.release()
		if <-slept != nil {
			return
		}
		if err := recoverPanic(name, func() error { return late.in.run(e, late) }); err != nil {
			slog.Debug("embedded DynamoDB: a late request failed", "operation", name, "error", err)
		}
	})
	return nil
}

// failStatements sets the error of the statements that the fault hits. It is called before the
// statements run, with applied false, and again after they run, with applied true.
func (c *call) failStatements(batch []*batchStatement, applied bool) {
	if c.fault == nil || c.fault.Applied != applied {
		return
	}
	for _, s := range batch {
		if !c.fault.hits(EffectStatementErrors) {
			continue
		}
		code := c.fault.Code
		if code == "" {
			code = defaultStatementCode
		}
		s.err = serviceError(code, injectedCodes[code])
	}
}

// withoutLate removes the shards that EffectLateShards leaves out of the response.
func (c *call) withoutLate(shards []shard, now time.Time) []shard {
	if !c.faulty(EffectLateShards) {
		return shards
	}
	since := now.Add(-c.fault.Delay).UnixMilli()
	late := []uint32{}
	for _, s := range shards {
		if s.Parent != "" && s.OpenedAt > since {
			late = append(late, s.Number)
		}
	}
	if c.fault.Some && len(late) > 1 {
		c.fault.random.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
		late = late[:1+c.fault.random.IntN(len(late)-1)]
	}
	return slices.DeleteFunc(shards, func(s shard) bool { return slices.Contains(late, s.Number) })
}
