package dynamo_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// If a response has the items under another name of the table, they must not count as missing.
func TestBatch_ResponseAboutAnotherTable(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"Responses":{"arn:aws:dynamodb:us-east-1:1:table/events":[{"num":{"N":"1"}}]}}`,
		`{"Responses":{},"UnprocessedKeys":{"other":{"Keys":[{"num":{"N":"1"}}]}}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			if items, err := client(t, newScript(ok(body))).BatchGet(t.Context(), &dynamo.Meter{}, table, keys(1)); !errors.Is(err, dynamo.ErrUnavailable) {
				t.Errorf("%s: %v, %v", body, items, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newScript(ok(`{"UnprocessedItems":{"other":[{"DeleteRequest":{"Key":{"num":{"N":"1"}}}}]}}`))
		if err := client(t, s).BatchWrite(t.Context(), &dynamo.Meter{}, table, writes(1), nil); !errors.Is(err, dynamo.ErrUnavailable) {
			t.Error(err)
		}
	})
}
