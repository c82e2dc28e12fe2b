package embedded

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
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

// perform does the request, unless a fault has something else happen.
func (e *Engine) perform(name string, operation func(*Engine, *call) error, c *call) error {
	if !e.faults.armed.Load() {
		return operation(e, c)
	}
	c.shot = e.faults.aim(e.subject(name, c))
	if c.shot == nil {
		return operation(e, c)
	}
	defer c.shot.past.release()
	switch c.shot.Effect {
	case EffectSlow:
		return e.slow(name, operation, c)
	case EffectHang, EffectReset:
		var err error
		if c.shot.Applied {
			err = operation(e, c)
		}
		if c.shot.Effect == EffectHang {
			select {
			case <-c.ctx.Done():
			case <-e.faults.ending:
			}
		}
		c.damage = damageReset
		return err
	case EffectTruncated:
		c.damage = damageTruncated
		return operation(e, c)
	case EffectGarbage:
		c.damage = damageGarbage
		return operation(e, c)
	case EffectLeftOvers, EffectStatementErrors, EffectStaleRead, EffectIndexLag:
		return operation(e, c)
	}
	if c.shot.Applied {
		if err := operation(e, c); err != nil {
			slog.Debug("embedded DynamoDB: a request failed whose answer is a fault", "operation", name, "error", err)
		}
	}
	return c.shot.err(name)
}

// err is the error that the effect answers.
func (s *shot) err(operation string) error {
	switch s.Effect {
	case EffectThroughputExceeded:
		return dynamoError("ProvisionedThroughputExceededException", throughputExceeded)
	case EffectThrottling:
		return dynamoError("ThrottlingException", onDemandExceeded)
	case EffectRequestLimit:
		return dynamoError("RequestLimitExceeded", requestLimitExceeded)
	case EffectExpiredToken:
		return serviceError("ExpiredTokenException", "The security token included in the request is expired")
	case EffectUnavailable:
		return busy()
	case EffectTransactionConflict:
		return s.conflict(operation)
	}
	return internalError()
}

func (s *shot) conflict(operation string) error {
	switch operation {
	case "TransactWriteItems", "TransactGetItems", "ExecuteTransaction":
		why := newReasons(max(1, s.targets))
		for i := range why {
			if slices.Contains(s.hit, i) || s.targets == 0 {
				why[i] = cancellationReason{code: "TransactionConflict", message: transactionConflict}
			}
		}
		return why.err()
	}
	return dynamoError("TransactionConflictException", transactionConflict)
}

// slow does the request late, or answers late. The sleep of a request that is still to be done outlives its client.
func (e *Engine) slow(name string, operation func(*Engine, *call) error, c *call) error {
	var err error
	if c.shot.Applied {
		err = operation(e, c)
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
	delay := c.shot.Delay
	e.background.Go(func() { slept <- e.options.sleep(ctx, delay) })
	select {
	case failed := <-slept:
		wake()
		if failed != nil {
			c.damage = damageReset
			return err
		}
		if !c.shot.Applied {
			return operation(e, c)
		}
		return err
	case <-c.ctx.Done():
	}
	c.damage = damageReset
	if c.shot.Applied {
		wake()
		return err
	}
	late := &call{ctx: ctx, host: c.host, body: bytes.Clone(c.body)}
	e.background.Go(func() {
		defer wake()
		if <-slept != nil {
			return
		}
		if err := protect(name, func() error { return operation(e, late) }); err != nil {
			slog.Debug("embedded DynamoDB: a late request failed", "operation", name, "error", err)
		}
	})
	return nil
}

// failStatements makes the statements hit fail that are not applied, or those that are.
func (c *call) failStatements(batch []*batchStatement, applied bool) {
	if c.shot == nil || c.shot.Applied != applied {
		return
	}
	for _, s := range batch {
		if !c.shot.picked(EffectStatementErrors) {
			continue
		}
		code := c.shot.Code
		if code == "" {
			code = defaultStatementCode
		}
		s.err = serviceError(code, injectedCodes[code])
	}
}
