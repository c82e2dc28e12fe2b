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
)

// Reasons of a [RequestError], for errors.Is.
var (
	ErrThrottled       = errors.New("throttled")
	ErrUnavailable     = errors.New("DynamoDB is not available")
	ErrDenied          = errors.New("access denied")
	ErrTableNotFound   = errors.New("no such table")
	ErrInvalidRequest  = errors.New("DynamoDB refuses the request")
	ErrConditionFailed = errors.New("the condition does not hold")
	ErrCollectionFull  = errors.New("the item collection is over 10 GB, the limit of tables with a local index")
)

// RequestError is the error of a request whose retries are used up, or which another attempt could
// not help.
type RequestError struct {
	Operation, Table string
	// Attempts is the number of times the request was sent.
	Attempts int
	// MaybeApplied is true if the write may nevertheless have been done, or may still be done,
	// because a response was lost.
	MaybeApplied bool
	// Reason is one of the errors above, or the context's error.
	Reason error
	// Err is the complete last failure.
	Err error
}

func (e *RequestError) Error() string {
	attempts := ""
	if e.Attempts > 1 {
		attempts = fmt.Sprintf(" after %d attempts", e.Attempts)
	}
	return fmt.Sprintf("%s on table %q%s: %v: %s", e.Operation, e.Table, attempts, e.Reason, brief(e.Err))
}

// Unwrap returns the reason and the last failure.
func (e *RequestError) Unwrap() []error { return []error{e.Reason, e.Err} }

// brief returns the service's own message, without the SDK's wrapping. For a throttled request it
// adds the reasons.
func brief(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		var text strings.Builder
		fmt.Fprintf(&text, "%s: %s", api.ErrorCode(), api.ErrorMessage())
		for _, reason := range throttlingReasons(api) {
			fmt.Fprintf(&text, " (%s of %s)", aws.ToString(reason.Reason), aws.ToString(reason.Resource))
		}
		return text.String()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Error()
	}
	if ended, ok := errors.AsType[permanent](err); ok {
		return ended.Error()
	}
	if failed, ok := errors.AsType[*awshttp.ResponseError](err); ok && failed.HTTPStatusCode() != 0 {
		return fmt.Sprintf("a response with status %d that is not DynamoDB's: %v", failed.HTTPStatusCode(), failed.Err)
	}
	return err.Error()
}

// throttlingReasons returns the limits that a throttled request exceeded, each with its table or
// index, or nil if the service does not report them.
func throttlingReasons(api smithy.APIError) []types.ThrottlingReason {
	switch e := api.(type) {
	case *types.ProvisionedThroughputExceededException:
		return e.ThrottlingReasons
	case *types.ThrottlingException:
		return e.ThrottlingReasons
	case *types.RequestLimitExceeded:
		return e.ThrottlingReasons
	}
	return nil
}

// verdict says how the client reacts to a failed attempt.
type verdict struct {
	reason error
	// retry is true if another attempt may succeed.
	retry bool
	// patient is true if the request is retried until its time is over. Tables and partitions take
	// minutes to scale, so the second that Retries take is too short.
	patient bool
	// late is true if another attempt makes sense only after the longest pause.
	late bool
	// ambiguous is true if the write may have been done.
	ambiguous bool
	// renew is true if the credentials must be fetched again before the next attempt.
	renew bool
}

// throttled is the verdict on a throttled request.
var throttled = verdict{reason: ErrThrottled, retry: true, patient: true}

// verdicts maps error codes to verdicts, for the operations used here and the errors common to all
// AWS services. A throttled write was not done. An internal error may come after the write was
// done. With any other code the write is ambiguous.
var verdicts = map[string]verdict{
	"ProvisionedThroughputExceededException":   throttled,
	"ThrottlingException":                      throttled,
	"Throttling":                               throttled,
	"RequestLimitExceeded":                     throttled,
	"TooManyRequestsException":                 throttled,
	"RequestThrottled":                         throttled,
	"RequestThrottledException":                throttled,
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
	"IdempotentParameterMismatchException":     {reason: ErrInvalidRequest},
	"ContinuousBackupsUnavailableException":    {reason: ErrInvalidRequest},
	"PolicyNotFoundException":                  {reason: ErrInvalidRequest},
	// The endpoint does not serve the account; the SDK finds another one for the next attempt.
	"InvalidEndpointException": {reason: ErrUnavailable, retry: true},
	"AccessDeniedException":    {reason: ErrDenied},
	"AccessDenied":             {reason: ErrDenied},
	// It takes seconds until a new access key is known everywhere: changes of IAM are eventually
	// consistent (IAM user guide, "Changes that I make are not always immediately visible").
	"UnrecognizedClientException":         {reason: ErrDenied, retry: true, late: true},
	"InvalidClientTokenId":                {reason: ErrDenied, retry: true, late: true},
	"MissingAuthenticationToken":          {reason: ErrDenied},
	"NotAuthorized":                       {reason: ErrDenied},
	"OptInRequired":                       {reason: ErrDenied},
	"MissingAuthenticationTokenException": {reason: ErrDenied},
	"IncompleteSignature":                 {reason: ErrDenied},
	"IncompleteSignatureException":        {reason: ErrDenied},
	"ExpiredTokenException":               {reason: ErrDenied, retry: true, renew: true},
	"ExpiredToken":                        {reason: ErrDenied, retry: true, renew: true},
	// The SDK learns the clock's skew from these responses, and signs the next attempt with it.
	"InvalidSignatureException": {reason: ErrDenied, retry: true},
	"SignatureDoesNotMatch":     {reason: ErrDenied, retry: true},
	"RequestExpired":            {reason: ErrDenied, retry: true},
	"RequestInTheFuture":        {reason: ErrDenied, retry: true},
	"RequestTimeTooSkewed":      {reason: ErrDenied, retry: true},
	// The codes of single statements of a BatchExecuteStatement, where they differ from the codes
	// above.
	"ProvisionedThroughputExceeded":   throttled,
	"ThrottlingError":                 throttled,
	"TransactionConflict":             {reason: ErrThrottled, retry: true},
	"ReplicatedWriteConflict":         {reason: ErrThrottled, retry: true}, // not documented
	"ConditionalCheckFailed":          {reason: ErrConditionFailed},
	"DuplicateItem":                   {reason: ErrConditionFailed},
	"ResourceNotFound":                {reason: ErrTableNotFound},
	"ItemCollectionSizeLimitExceeded": {reason: ErrCollectionFull},
	"ValidationError":                 {reason: ErrInvalidRequest},
}

// lostResponse is the verdict on an attempt without a response, or with one that is not DynamoDB's.
var lostResponse = verdict{reason: ErrUnavailable, retry: true, ambiguous: true}

// permanent is implemented by errors after which no attempt can succeed, such as the error of an
// embedded engine whose storage has failed.
type permanent interface {
	error
	Permanent() bool
}

// judge returns the verdict on a failed attempt. A write counts as ambiguous unless it is certain
// that it was not done: the request was not sent, or DynamoDB's error code rules it out. A status
// alone is not enough, because a proxy can respond with it after the service has done the write.
func judge(err error) verdict {
	if errors.Is(err, errSlept) {
		return verdict{reason: ErrUnavailable, retry: true} // not sent
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return judgeCode(api.ErrorCode())
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return verdict{reason: ErrUnavailable, retry: true} // not sent
	}
	if ended, ok := errors.AsType[permanent](err); ok && ended.Permanent() {
		return verdict{reason: ErrUnavailable, ambiguous: true}
	}
	if _, ok := errors.AsType[*smithy.SerializationError](err); ok {
		return verdict{reason: ErrInvalidRequest}
	}
	if status := statusOf(err); status != 0 {
		return lostResponse // HTML, garbage, a truncated response
	}
	if unsent := credentialFailure(err); unsent {
		return verdict{reason: ErrDenied}
	}
	return lostResponse
}

// withoutNamespace removes the namespace before an error code, if there is one.
func withoutNamespace(code string) string {
	if _, name, ok := strings.Cut(code, "#"); ok {
		return name
	}
	return code
}

func judgeCode(code string) verdict {
	if v, ok := verdicts[withoutNamespace(code)]; ok {
		return v
	}
	return lostResponse
}

func statusOf(err error) int {
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return response.HTTPStatusCode()
	}
	return 0
}

// credentialFailure reports whether the request could not be signed, and so was not sent.
func credentialFailure(err error) bool {
	var static interface{ CredentialSource() string }
	if errors.As(err, &static) {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "get identity: ") || strings.Contains(text, "failed to sign") ||
		strings.Contains(text, "resolve endpoint")
}

// contextReason returns the cause of a context's end.
func contextReason(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return ctx.Err()
}

// OldItem returns the stored item that made a condition fail, or nil if the service does not return
// it.
func OldItem(err error) map[string]types.AttributeValue {
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return failed.Item
	}
	if failed, ok := errors.AsType[*statementError](err); ok {
		return failed.item
	}
	return nil
}

// MaybeApplied reports whether a write that failed with err may nevertheless have been done.
func MaybeApplied(err error) bool {
	var request *RequestError
	return errors.As(err, &request) && request.MaybeApplied
}

// invalidate drops the cached credentials if p is a cache.
func invalidate(p aws.CredentialsProvider) {
	if cache, ok := p.(interface{ Invalidate() }); ok {
		cache.Invalidate()
	}
}
