package embedded

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Effect is the effect of a fault on the requests that it hits.
type Effect string

// The effects of faults. With some of them, Fault.Applied determines whether the request is
// performed.
const (
	// EffectThroughputExceeded refuses the request with ProvisionedThroughputExceededException.
	EffectThroughputExceeded Effect = "throughput-exceeded"
	// EffectThrottling refuses the request with ThrottlingException.
	EffectThrottling Effect = "throttling"
	// EffectRequestLimit refuses the request with RequestLimitExceeded.
	EffectRequestLimit Effect = "request-limit"
	// EffectExpiredToken refuses the request with ExpiredTokenException, as after credentials have
	// expired.
	EffectExpiredToken Effect = "expired-token"
	// EffectAccessDenied refuses the request with AccessDeniedException, as if no policy allowed
	// it.
	EffectAccessDenied Effect = "access-denied"
	// EffectInternalError responds with InternalServerError, status 500. See Applied.
	EffectInternalError Effect = "internal-error"
	// EffectUnavailable responds with ServiceUnavailable, status 503. See Applied.
	EffectUnavailable Effect = "unavailable"
	// EffectReset resets the connection instead of sending the response. See Applied.
	EffectReset Effect = "reset"
	// EffectTruncated performs the request, and closes the connection in the middle of the
	// response's body.
	EffectTruncated Effect = "truncated"
	// EffectGarbage performs the request, and responds with random bytes and their correct
	// checksum.
	EffectGarbage Effect = "garbage"
	// EffectSlow performs the request after Delay, even if its client has given up, unless the
	// engine is closed first. With Applied it performs the request at once, and responds after
	// Delay.
	EffectSlow Effect = "slow"
	// EffectHang never responds. The request ends when its client gives up or the engine is closed.
	// See Applied.
	EffectHang Effect = "hang"
	// EffectUnprocessed leaves keys of a BatchGetItem or requests of a BatchWriteItem unprocessed:
	// all that match, or some of them (see Some).
	EffectUnprocessed Effect = "unprocessed"
	// EffectStatementErrors makes statements of a BatchExecuteStatement fail with Code: all that
	// match, or some of them (see Some and Applied).
	EffectStatementErrors Effect = "statement-errors"
	// EffectTransactionConflict cancels a transaction, with the reason TransactionConflict for the
	// items that match, or refuses a write of a single item with TransactionConflictException.
	EffectTransactionConflict Effect = "transaction-conflict"
	// EffectStaleRead makes a read that is not strongly consistent return a past state: the state
	// of Delay ago or, if Delay is 0 or longer than the age of the fault, the state at the
	// injection. In a batch, strongly consistent reads return the present state.
	EffectStaleRead Effect = "stale-read"
	// EffectIndexLag is EffectStaleRead for reads of global secondary indexes (see Index).
	EffectIndexLag Effect = "index-lag"
	// EffectStaleDescription makes DescribeTable and DescribeTimeToLive describe a past state of a
	// table, with the same age as for EffectStaleRead: a younger table is not found, a table that
	// was deleted since then is described, and younger indexes, streams and statuses are not shown.
	EffectStaleDescription Effect = "stale-description"
	// EffectStreamLag makes GetRecords leave out the records that are younger than Delay, and all
	// records after them.
	EffectStreamLag Effect = "stream-lag"
	// EffectHalfPage makes GetRecords return at most half as many records as requested.
	EffectHalfPage Effect = "half-page"
	// EffectExpiredIterator refuses a GetRecords with ExpiredIteratorException.
	EffectExpiredIterator Effect = "expired-iterator"
	// EffectTrimmed refuses a GetRecords with TrimmedDataAccessException.
	EffectTrimmed Effect = "trimmed"
	// EffectReaderLimit refuses an operation on a stream with LimitExceededException, as if too
	// many consumers read the shard.
	EffectReaderLimit Effect = "reader-limit"
	// EffectWrongClock makes the engine's responses show a clock that is wrong by Delay, which may
	// be negative. A request that was signed more than 15 minutes before or after that time is
	// refused with InvalidSignatureException. The effect applies in addition to any other fault
	// that hits the request.
	EffectWrongClock Effect = "wrong-clock"
	// EffectLateShards makes DescribeStream leave out the shards that replaced others less than
	// Delay ago: all of them, or some of them in each request (see Some).
	EffectLateShards Effect = "late-shards"
	// EffectLateLatest makes GetShardIterator return an iterator for LATEST without a position. The
	// first GetRecords with the iterator determines the position, and so skips records that were
	// written in between.
	EffectLateLatest Effect = "late-latest"
	// EffectNoErrorChecksum leaves X-Amz-Crc32 out of the response if it is an error, as DynamoDB
	// Local does. The effect applies in addition to any other fault that hits the request.
	EffectNoErrorChecksum Effect = "no-error-checksum"
	// EffectStatementCapacity makes a BatchExecuteStatement return the consumed capacity of each
	// statement, in the order of the statements, instead of one sum for each table. The effect
	// applies in addition to any other fault that hits the request.
	EffectStatementCapacity Effect = "statement-capacity"
)

// Fault describes which requests go wrong, when, and how. Only Effect is required. The other fields
// restrict the requests: a fault without them hits every request that can have the effect.
//
// A pattern matches a whole text. A * matches any text, and any other character matches itself. An
// empty pattern matches everything.
type Fault struct {
	// Effect is the effect on a request that is hit.
	Effect Effect

	// Operation is a pattern of operation names, such as PutItem.
	Operation string
	// Table is a pattern of table names.
	Table string
	// Key is a pattern of partition keys: the text of a string, the normal form of a number, the
	// base64 encoding of a binary value. A request matches if one of its items matches. A Scan has
	// no key. A read of an index has the keys of the index. If a key has several attributes, their
	// texts are joined with a vertical bar.
	Key string
	// SortKey is a pattern of sort keys, in the form of Key. A Query has no sort key.
	SortKey string
	// Index is a pattern of index names, for EffectIndexLag.
	Index string

	// Nth, if not 0, hits only the nth of the matching requests.
	Nth int
	// Every, if not 0, hits every nth of the matching requests.
	Every int
	// Probability, if not 0, is the probability that a request selected by the other fields is hit.
	Probability float64
	// Times, if not 0, is the maximum number of requests that are hit.
	Times int

	// Applied performs the request, although its response does not show that.
	Applied bool
	// Some affects some of the matching items or shards of a request, chosen at random: at least
	// one and, if there are several, not all.
	Some bool
	// Code is the error code for EffectStatementErrors, one of DynamoDB's
	// BatchStatementErrorCodeEnum. Defaults to ThrottlingError.
	Code string
	// Delay is the delay for EffectSlow, and the age of the state for stale reads and descriptions.
	// EffectStreamLag leaves out younger records, and EffectLateShards younger shards.
	// EffectWrongClock sets the clock forward by Delay; only there it may be negative.
	Delay time.Duration
}

// effectRules says which fields of Fault an effect can have. delayed is set if the effect needs a
// delay.
type effectRules struct {
	applied, some, code, delay, delayed, index bool
}

var effects = map[Effect]effectRules{
	EffectThroughputExceeded:  {},
	EffectThrottling:          {},
	EffectRequestLimit:        {},
	EffectExpiredToken:        {},
	EffectAccessDenied:        {},
	EffectInternalError:       {applied: true},
	EffectUnavailable:         {applied: true},
	EffectReset:               {applied: true},
	EffectTruncated:           {},
	EffectGarbage:             {},
	EffectSlow:                {applied: true, delay: true, delayed: true},
	EffectHang:                {applied: true},
	EffectUnprocessed:         {some: true},
	EffectStatementErrors:     {applied: true, some: true, code: true},
	EffectTransactionConflict: {},
	EffectStaleRead:           {delay: true},
	EffectIndexLag:            {delay: true, index: true},
	EffectStaleDescription:    {delay: true},
	EffectStreamLag:           {delay: true, delayed: true},
	EffectHalfPage:            {},
	EffectExpiredIterator:     {},
	EffectTrimmed:             {},
	EffectReaderLimit:         {},
	EffectLateShards:          {some: true, delay: true, delayed: true},
	EffectLateLatest:          {},
	EffectNoErrorChecksum:     {},
	EffectStatementCapacity:   {},
	EffectWrongClock:          {delay: true, delayed: true},
}

// injectedCodes are the error codes that Fault.Code can have, with their messages.
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

// formOnly reports whether the effect changes only the form of a response. Such a fault imitates a
// habit of a server, so it applies in addition to any other fault.
func (e Effect) formOnly() bool {
	return e == EffectNoErrorChecksum || e == EffectStatementCapacity || e == EffectWrongClock
}

// check returns an error if the fault is invalid.
func (f Fault) check() error {
	rules, known := effects[f.Effect]
	switch {
	case f.Effect == "":
		return errors.New("a fault needs an effect: " + effectNames())
	case !known:
		return fmt.Errorf("unknown effect %q: the effects are %s", string(f.Effect), effectNames())
	case f.Nth < 0 || f.Every < 0 || f.Times < 0:
		return errors.New("nth, every and times must not be negative")
	case f.Nth > 0 && f.Every > 0:
		return errors.New("a fault can have either nth or every")
	case !(f.Probability >= 0 && f.Probability <= 1): // NaN is neither.
		return fmt.Errorf("the probability %v is not between 0 and 1", f.Probability)
	case f.Delay < 0 && f.Effect != EffectWrongClock:
		return fmt.Errorf("the delay %v is negative", f.Delay)
	case rules.delayed && f.Delay == 0:
		return fmt.Errorf("the effect %s needs a delay", f.Effect)
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
			return fmt.Errorf("the effect %s does not take %s", f.Effect, field.name)
		}
	}
	if _, known := injectedCodes[f.Code]; f.Code != "" && !known {
		return fmt.Errorf("unknown error code %q of statements", f.Code)
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
