package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// What a request can fail of, for errors.Is.
var (
	ErrThrottled       = errors.New("throttled")
	ErrUnavailable     = errors.New("DynamoDB is not available")
	ErrDenied          = errors.New("access denied")
	ErrTableNotFound   = errors.New("no such table")
	ErrInvalidRequest  = errors.New("DynamoDB refuses the request")
	ErrConditionFailed = errors.New("the condition does not hold")
	ErrCollectionFull  = errors.New("the item collection is over 10 GB, the limit of tables with a local index")
)

// RequestError is a request that failed for good: its tries are used up, or no further try could help.
type RequestError struct {
	Operation, Table string
	// Tries is how often it was sent.
	Tries int
	// MaybeApplied says that a write may have been done all the same, now or later: an answer was lost.
	MaybeApplied bool
	// Reason is one of the errors above, or the context's.
	Reason error
	// Err is the last failure in full.
	Err error
}

func (e *RequestError) Error() string {
	tries := ""
	if e.Tries > 1 {
		tries = fmt.Sprintf(" after %d tries", e.Tries)
	}
	return fmt.Sprintf("%s on table %q%s: %v: %s", e.Operation, e.Table, tries, e.Reason, brief(e.Err))
}

// Unwrap gives both the reason and the last failure.
func (e *RequestError) Unwrap() []error { return []error{e.Reason, e.Err} }

// brief takes the service's own words out of the SDK's layers of wrapping.
func brief(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode() + ": " + api.ErrorMessage()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Error()
	}
	if ended, ok := errors.AsType[permanent](err); ok {
		return ended.Error()
	}
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok && response.HTTPStatusCode() != 0 {
		return fmt.Sprintf("an answer with status %d that is not DynamoDB's: %v", response.HTTPStatusCode(), response.Err)
	}
	return err.Error()
}

// verdict is what one failed try means.
type verdict struct {
	reason error
	// retry: another try may succeed.
	retry bool
	// ambiguous: a write may have been applied.
	ambiguous bool
	// renew: the credentials are to be fetched anew before the next try.
	renew bool
}

// verdicts by error code: those of the operations used here, and those common to all services of
// AWS. Throttled writes were not applied; internal errors may come after the write was done. A code
// that is not here says nothing of the write.
var verdicts = map[string]verdict{
	"ProvisionedThroughputExceededException":   {reason: ErrThrottled, retry: true},
	"ThrottlingException":                      {reason: ErrThrottled, retry: true},
	"Throttling":                               {reason: ErrThrottled, retry: true},
	"RequestLimitExceeded":                     {reason: ErrThrottled, retry: true},
	"TooManyRequestsException":                 {reason: ErrThrottled, retry: true},
	"ReplicatedWriteConflictException":         {reason: ErrThrottled, retry: true},
	"TransactionConflictException":             {reason: ErrThrottled, retry: true},
	"TransactionInProgressException":           {reason: ErrThrottled, retry: true},
	"LimitExceededException":                   {reason: ErrThrottled, retry: true},
	"InternalServerError":                      {reason: ErrUnavailable, retry: true, ambiguous: true},
	"InternalFailure":                          {reason: ErrUnavailable, retry: true, ambiguous: true},
	"RequestAbortedException":                  {reason: ErrUnavailable, retry: true, ambiguous: true},
	"ServiceUnavailable":                       {reason: ErrUnavailable, retry: true, ambiguous: true},
	"ServiceUnavailableException":              {reason: ErrUnavailable, retry: true, ambiguous: true},
	"RequestTimeout":                           {reason: ErrUnavailable, retry: true, ambiguous: true},
	"RequestTimeoutException":                  {reason: ErrUnavailable, retry: true, ambiguous: true},
	"ConditionalCheckFailedException":          {reason: ErrConditionFailed},
	"ResourceNotFoundException":                {reason: ErrTableNotFound},
	"ItemCollectionSizeLimitExceededException": {reason: ErrCollectionFull},
	"ValidationException":                      {reason: ErrInvalidRequest},
	"SerializationException":                   {reason: ErrInvalidRequest},
	"UnknownOperationException":                {reason: ErrInvalidRequest},
	"DuplicateItemException":                   {reason: ErrConditionFailed},
	"IndexNotFoundException":                   {reason: ErrInvalidRequest},
	"MalformedHttpRequestException":            {reason: ErrInvalidRequest},
	"RequestEntityTooLargeException":           {reason: ErrInvalidRequest},
	"ResourceInUseException":                   {reason: ErrInvalidRequest},
	"TableAlreadyExistsException":              {reason: ErrInvalidRequest},
	"TableInUseException":                      {reason: ErrInvalidRequest},
	"TableNotFoundException":                   {reason: ErrTableNotFound},
	"TransactionCanceledException":             {reason: ErrInvalidRequest},
	"AccessDeniedException":                    {reason: ErrDenied},
	"AccessDenied":                             {reason: ErrDenied},
	"UnrecognizedClientException":              {reason: ErrDenied},
	"InvalidClientTokenId":                     {reason: ErrDenied},
	"MissingAuthenticationToken":               {reason: ErrDenied},
	"NotAuthorized":                            {reason: ErrDenied},
	"OptInRequired":                            {reason: ErrDenied},
	"MissingAuthenticationTokenException":      {reason: ErrDenied},
	"IncompleteSignature":                      {reason: ErrDenied},
	"IncompleteSignatureException":             {reason: ErrDenied},
	"ExpiredTokenException":                    {reason: ErrDenied, retry: true, renew: true},
	"ExpiredToken":                             {reason: ErrDenied, retry: true, renew: true},
	// The SDK has learnt the clock's skew from this answer, and signs the next try with it.
	"InvalidSignatureException": {reason: ErrDenied, retry: true},
	"SignatureDoesNotMatch":     {reason: ErrDenied, retry: true},
	"RequestExpired":            {reason: ErrDenied, retry: true},
	"RequestInTheFuture":        {reason: ErrDenied, retry: true},
	"RequestTimeTooSkewed":      {reason: ErrDenied, retry: true},
	// Those of a statement inside the answer to a batch, where their names differ.
	"ProvisionedThroughputExceeded":   {reason: ErrThrottled, retry: true},
	"ThrottlingError":                 {reason: ErrThrottled, retry: true},
	"TransactionConflict":             {reason: ErrThrottled, retry: true},
	"ConditionalCheckFailed":          {reason: ErrConditionFailed},
	"DuplicateItem":                   {reason: ErrConditionFailed},
	"ResourceNotFound":                {reason: ErrTableNotFound},
	"ItemCollectionSizeLimitExceeded": {reason: ErrCollectionFull},
	"ValidationError":                 {reason: ErrInvalidRequest},
}

// lostAnswer is the verdict on a try that got no answer that could be understood.
var lostAnswer = verdict{reason: ErrUnavailable, retry: true, ambiguous: safeguard.LostAmbiguous}

// permanent is an error after which no attempt can succeed, as that of an embedded engine whose
// storage has failed.
type permanent interface {
	error
	Permanent() bool
}

// judge decides what a failed try means. What is not known to have left a write undone may have
// done it: only an error that DynamoDB's protocol names says that nothing was written. A status
// alone says nothing, as a proxy in between can answer with it after the service has done the
// write.
func judge(err error) verdict {
	if errors.Is(err, errSlept) {
		return verdict{reason: ErrUnavailable, retry: true} // never sent
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return judgeCode(api.ErrorCode())
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return verdict{reason: ErrUnavailable, retry: true} // never sent
	}
	if ended, ok := errors.AsType[permanent](err); ok && ended.Permanent() {
		return verdict{reason: ErrUnavailable, ambiguous: true}
	}
	if _, ok := errors.AsType[*smithy.SerializationError](err); ok {
		return verdict{reason: ErrInvalidRequest}
	}
	if status := statusOf(err); status != 0 {
		return lostAnswer // HTML, garbage, a truncated answer
	}
	if unsent := credentialFailure(err); unsent {
		return verdict{reason: ErrDenied}
	}
	return lostAnswer
}

func judgeCode(code string) verdict {
	if _, name, ok := strings.Cut(code, "#"); ok {
		code = name
	}
	if v, ok := verdicts[code]; ok {
		return v
	}
	return lostAnswer
}

func statusOf(err error) int {
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return response.HTTPStatusCode()
	}
	return 0
}

// credentialFailure says whether the request was never signed, so never sent.
func credentialFailure(err error) bool {
	var static interface{ CredentialSource() string }
	if errors.As(err, &static) {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "get identity: ") || strings.Contains(text, "failed to sign") || strings.Contains(text, "resolve endpoint")
}

// contextReason gives the context's own error, where that ended the request.
func contextReason(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return ctx.Err()
}

// OldItem is the item that made a condition fail, nil where the service does not say.
func OldItem(err error) map[string]types.AttributeValue {
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return failed.Item
	}
	if failed, ok := errors.AsType[*statementError](err); ok {
		return failed.item
	}
	return nil
}

// MaybeApplied says whether the write that failed with err may have been done all the same.
func MaybeApplied(err error) bool {
	var request *RequestError
	return errors.As(err, &request) && request.MaybeApplied
}

// invalidate drops cached credentials, where they are cached.
func invalidate(p aws.CredentialsProvider) {
	if cache, ok := p.(interface{ Invalidate() }); ok {
		cache.Invalidate()
	}
}
