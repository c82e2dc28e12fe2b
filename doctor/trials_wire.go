package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
)

func (t *trials) tablesAgain(ctx context.Context) (Status, string) {
	if err := dynajournal.CreateTables(ctx, t.config, dynajournal.TableOptions{Projections: true, Stream: true}); err != nil {
		return failedTrial(err)
	}
	var found string
	start := time.Now()
	complete, err := eventually(ctx, func() (bool, error) { // descriptions can be stale
		tables, err := dynajournal.DescribeTables(ctx, t.config)
		if err != nil {
			return false, err
		}
		if found = fmt.Sprintf("%d tables", len(tables)); len(tables) == 3 {
			found += fmt.Sprintf(", stream %q, expiry %q", tables[0].Stream, tables[0].TTLStatus)
		}
		return len(tables) == 3 && tables[0].Kind == "native" && tables[0].Stream != "", nil
	})
	switch {
	case err != nil:
		return failedTrial(err)
	case !complete:
		return StatusError, found
	}
	return StatusOK, fmt.Sprintf("%s, described after %v", found, time.Since(start).Round(time.Millisecond))
}

// wireResponses makes the service respond with errors, and checks all responses so far.
func (t *trials) wireResponses(ctx context.Context) (Status, string) {
	conditional, missing := new(types.ConditionalCheckFailedException), new(types.ResourceNotFoundException)
	key, none := item("wire", 0), *t.table+"-none"
	never := "attribute_exists(par) AND attribute_not_exists(par)"
	_, err := t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: t.table, Item: key, ConditionExpression: &never})
	if !errors.As(err, &conditional) {
		return StatusError, fmt.Sprintf("a condition that can't hold: %v", err)
	}
	if _, err = t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &none, Key: key}); !errors.As(err, &missing) {
		return StatusError, fmt.Sprintf("a table that does not exist: %v", err)
	}
	responses, unchecked, wrong, proto := t.wire.seen()
	switch {
	case wrong != "":
		return StatusError, wrong
	case unchecked > 0:
		return StatusWarn, fmt.Sprintf("%d of %d responses have no checksum", unchecked, responses)
	}
	return StatusOK, fmt.Sprintf("%d responses, %s", responses, proto)
}

// wireCodecs writes and reads with dynajournal's codec and with the codec of the SDK.
func (t *trials) wireCodecs(ctx context.Context) (Status, string) {
	config := t.config
	config.SDKCodec = true
	sdk, err := dynajournal.Open(ctx, config)
	if err != nil {
		return failedTrial(err)
	}
	defer func() { _ = sdk.Close() }()
	const events = 20
	for _, pair := range [][2]*dynajournal.Journal{{t.journal, sdk}, {sdk, t.journal}} {
		pid := fmt.Sprintf("codecs-%v", pair[0] == sdk)
		want, err := appendNumbers(ctx, pair[0], pid, events)
		if err != nil {
			return failedTrial(err)
		}
		if got, err := readNumbers(ctx, pair[1], pid); err != nil || !slices.Equal(got, want) {
			return StatusError, fmt.Sprintf("%d events were written, %d read: %v", len(want), len(got), err)
		}
	}
	return StatusOK, fmt.Sprintf("%d events in both directions", events)
}

// appendNumbers appends events whose values are their numbers.
func appendNumbers(ctx context.Context, j *dynajournal.Journal, pid string, n int) ([]string, error) {
	w, err := j.Recover(ctx, pid, dynajournal.RecoverOptions{}, nil)
	if err != nil {
		return nil, err
	}
	var written []string
	for i := range n {
		value := fmt.Sprint("event ", i)
		if _, err := w.Append(ctx, value); err != nil {
			return nil, err
		}
		written = append(written, value)
	}
	return written, nil
}

// readNumbers reads the events of appendNumbers.
func readNumbers(ctx context.Context, j *dynajournal.Journal, pid string) ([]string, error) {
	var read []string
	for event, err := range j.Events(ctx, pid, dynajournal.Range{}) {
		if err != nil {
			return read, err
		}
		value, err := event.Payload(ctx)
		if err != nil {
			return read, err
		}
		read = append(read, fmt.Sprint(value))
	}
	return read, nil
}
