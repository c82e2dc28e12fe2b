package embedded

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Effect is what a fault does to the requests it hits.
type Effect string

// The effects of faults. Where Fault.Applied is mentioned, it chooses whether the request was done
// all the same.
const (
	// EffectThroughputExceeded refuses the request with ProvisionedThroughputExceededException.
	EffectThroughputExceeded Effect = "throughput-exceeded"
	// EffectThrottling refuses the request with ThrottlingException.
	EffectThrottling Effect = "throttling"
	// EffectRequestLimit refuses the request with RequestLimitExceeded.
	EffectRequestLimit Effect = "request-limit"
	// EffectExpiredToken refuses the request with ExpiredTokenException, as of credentials that
	// have expired.
	EffectExpiredToken Effect = "expired-token"
	// EffectInternalError answers InternalServerError, status 500. See Applied.
	EffectInternalError Effect = "internal-error"
	// EffectUnavailable answers ServiceUnavailable, status 503. See Applied.
	EffectUnavailable Effect = "unavailable"
	// EffectReset resets the connection instead of answering. See Applied.
	EffectReset Effect = "reset"
	// EffectTruncated does the request and ends the connection in the middle of the answer's body.
	EffectTruncated Effect = "truncated"
	// EffectGarbage does the request and answers random bytes with their right checksum.
	EffectGarbage Effect = "garbage"
	// EffectSlow takes Delay longer. A request that has come in is done even if its client has
	// given up meanwhile, unless the engine is closed first. With Applied the request is done at
	// once and the answer comes late.
	EffectSlow Effect = "slow"
	// EffectHang never answers: the request ends when its client gives up or the engine is closed.
	// See Applied.
	EffectHang Effect = "hang"
	// EffectUnprocessed leaves keys of a BatchGetItem or requests of a BatchWriteItem unprocessed:
	// those that match, or some of them (see Some).
	EffectUnprocessed Effect = "unprocessed"
	// EffectStatementErrors makes statements of a BatchExecuteStatement fail with Code: those that
	// match, or some of them (see Some and Applied).
	EffectStatementErrors Effect = "statement-errors"
	// EffectTransactionConflict cancels a transaction, with the reason TransactionConflict for the
	// items that match, or refuses a write of one item with TransactionConflictException.
	EffectTransactionConflict Effect = "transaction-conflict"
	// EffectStaleRead answers a read that is not strongly consistent from a past state: the one
	// Delay ago or, if Delay is 0 or the fault is younger than that, the one in which the fault was
	// injected. Of a batch, each read that is strongly consistent still is.
	EffectStaleRead Effect = "stale-read"
	// EffectIndexLag is EffectStaleRead for reads of global secondary indexes only (see Index).
	EffectIndexLag Effect = "index-lag"
)

// Fault says which requests go wrong, when, and how. Only Effect must be set: the other fields
// narrow the requests down, and a fault with nothing else hits every request that its effect can be
// had on.
//
// Patterns match the whole text; a * in them stands for any text, all else for itself. An empty
// pattern matches all.
type Fault struct {
	// Effect is what happens.
	Effect Effect

	// Operation is a pattern of operation names, as PutItem.
	Operation string
	// Table is a pattern of table names.
	Table string
	// Key is a pattern of partition keys: the text of a string, the normal form of a number, the
	// base64 of a binary. A request matches if an item of it does; a Scan has no key. A read of an
	// index matches by the index's keys.
	Key string
	// SortKey is a pattern of sort keys, written as Key is. A Query has no sort key.
	SortKey string
	// Index is, for EffectIndexLag, a pattern of index names.
	Index string

	// Nth, if not 0, is which of the matching requests is hit, the first being 1.
	Nth int
	// Every, if not 0, is which of the matching requests are hit: those whose number it divides.
	Every int
	// Probability, if not 0, is the chance with which each request is hit that is by the other
	// fields.
	Probability float64
	// Times, if not 0, is how many requests are hit at most.
	Times int

	// Applied has the request done although its answer does not tell so.
	Applied bool
	// Some has an effect on the items of a request hit some, chosen at random, of those that match:
	// at least one and, if there are several, not all.
	Some bool
	// Code is, for EffectStatementErrors, the error code, one of DynamoDB's
	// BatchStatementErrorCodeEnum. Defaults to ThrottlingError.
	Code string
	// Delay is, for EffectSlow, how long the request takes longer, and for stale answers, how old
	// they are.
	Delay time.Duration
}

// effectRules is what may be set for an effect.
type effectRules struct {
	applied, some, code, delay, index bool
}

var effects = map[Effect]effectRules{
	EffectThroughputExceeded:  {},
	EffectThrottling:          {},
	EffectRequestLimit:        {},
	EffectExpiredToken:        {},
	EffectInternalError:       {applied: true},
	EffectUnavailable:         {applied: true},
	EffectReset:               {applied: true},
	EffectTruncated:           {},
	EffectGarbage:             {},
	EffectSlow:                {applied: true, delay: true},
	EffectHang:                {applied: true},
	EffectUnprocessed:         {some: true},
	EffectStatementErrors:     {applied: true, some: true, code: true},
	EffectTransactionConflict: {},
	EffectStaleRead:           {delay: true},
	EffectIndexLag:            {delay: true, index: true},
}

// injectedCodes are the error codes that a statement can be made to fail with, and what stands
// beside them.
var injectedCodes = map[string]string{
	"AccessDenied":                    "You don't have access to the resource",
	"ConditionalCheckFailed":          conditionFailed,
	"DuplicateItem":                   "Duplicate primary key exists in table",
	"InternalServerError":             "Internal server error",
	"ItemCollectionSizeLimitExceeded": "Collection size exceeded.",
	"ProvisionedThroughputExceeded":   throughputExceeded,
	"RequestLimitExceeded":            requestLimitExceeded,
	"ResourceNotFound":                tableNotFound,
	"ThrottlingError":                 "Request is throttled",
	"TransactionConflict":             transactionConflict,
	"ValidationError":                 "The statement is not valid",
}

const defaultStatementCode = "ThrottlingError"

// check says what is wrong with the fault.
func (f Fault) check() error {
	rules, known := effects[f.Effect]
	switch {
	case f.Effect == "":
		return errors.New("a fault needs an effect: " + effectNames())
	case !known:
		return fmt.Errorf("there is no effect %q, only %s", string(f.Effect), effectNames())
	case f.Nth < 0 || f.Every < 0 || f.Times < 0:
		return errors.New("nth, every and times are not negative")
	case f.Nth > 0 && f.Every > 0:
		return errors.New("a fault has either nth or every")
	case !(f.Probability >= 0 && f.Probability <= 1): // NaN is neither.
		return fmt.Errorf("the probability %v is not from 0 to 1", f.Probability)
	case f.Delay < 0:
		return fmt.Errorf("the delay %v is negative", f.Delay)
	case f.Effect == EffectSlow && f.Delay == 0:
		return errors.New("the effect slow needs a delay")
	}
	for _, field := range []struct {
		name         string
		set, allowed bool
	}{
		{"applied", f.Applied, rules.applied},
		{"some", f.Some, rules.some},
		{"code", f.Code != "", rules.code},
		{"delay", f.Delay != 0, rules.delay},
		{"index", f.Index != "", rules.index},
	} {
		if field.set && !field.allowed {
			return fmt.Errorf("the effect %s has no %s", f.Effect, field.name)
		}
	}
	if _, known := injectedCodes[f.Code]; f.Code != "" && !known {
		return fmt.Errorf("there is no error code %q of statements", f.Code)
	}
	return nil
}

func effectNames() string {
	names := make([]string, 0, len(effects))
	for effect := range effects {
		names = append(names, string(effect))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// matches reports whether a pattern of a Fault matches the whole text.
func matches(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, last)
}
