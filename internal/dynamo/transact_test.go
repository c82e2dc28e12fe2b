package dynamo_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// cancelled responds that a transaction was cancelled for the given reasons.
func cancelled(codes ...string) step {
	reasons := make([]string, len(codes))
	for i, code := range codes {
		reasons[i] = fmt.Sprintf(`{"Code":%q}`, code)
	}
	return respond(400, fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",`+
		`"Message":"cancelled","CancellationReasons":[%s]}`, strings.Join(reasons, ",")))
}

func TestTransactionIsSentAgainForTransientReasonsOnly(t *testing.T) {
	for name, c := range map[string]struct {
		codes  []string
		reason error
		// sent is the number of attempts. 0 means as many as the time allows.
		sent int
	}{
		"conflict":               {[]string{"None", "TransactionConflict"}, dynamo.ErrThrottled, 4},
		"throttled":              {[]string{"ThrottlingError", "None"}, dynamo.ErrThrottled, 0},
		"no capacity":            {[]string{"ProvisionedThroughputExceeded", "TransactionConflict"}, dynamo.ErrThrottled, 0},
		"condition":              {[]string{"None", "ConditionalCheckFailed"}, dynamo.ErrInvalidRequest, 1},
		"condition and conflict": {[]string{"TransactionConflict", "ConditionalCheckFailed"}, dynamo.ErrInvalidRequest, 1},
		"invalid item":           {[]string{"ValidationError", "None"}, dynamo.ErrInvalidRequest, 1},
		"no reason":              {nil, dynamo.ErrInvalidRequest, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, start := newScript(cancelled(c.codes...)), time.Now()
				err := client(t, s).Transact(t.Context(), &dynamo.Meter{}, dynamo.Transaction{
					Table: table, Items: make([]types.TransactWriteItem, 2), Token: "token",
				})
				if !errors.Is(err, c.reason) || dynamo.MaybeApplied(err) {
					t.Errorf("the error is %v, want %v", err, c.reason)
				}
				attempts := s.attempts()
				if len(attempts) != c.sent && (c.sent != 0 || time.Since(start) != time.Minute) {
					t.Errorf("%d attempts, want %d", len(attempts), c.sent)
				}
				for _, attempt := range attempts {
					if attempt.body["ClientRequestToken"] != "token" {
						t.Errorf("an attempt has the token %v", attempt.body["ClientRequestToken"])
					}
				}
				if codes := dynamo.CancellationReasons(err); c.sent == 1 && !slices.Equal(codes, c.codes) {
					t.Errorf("the reasons are %q, want %q", codes, c.codes)
				}
			})
		})
	}
}

func TestOtherErrorsHaveNoCancellationReasons(t *testing.T) {
	if codes := dynamo.CancellationReasons(dynamo.ErrThrottled); codes != nil {
		t.Errorf("they are %q", codes)
	}
}
