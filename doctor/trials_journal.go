package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/backoff"
)

// patience is how long a trial waits for something that the service does later.
const patience = 30 * time.Second

// eventually calls done until it reports true, or until patience is over.
func eventually(ctx context.Context, done func() (bool, error)) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	pauses := backoff.Pauses{Shortest: 50 * time.Millisecond, Longest: time.Second}
	for n := 0; ; n++ {
		if ok, err := done(); ok || err != nil {
			return ok, err
		}
		if backoff.Wait(ctx, pauses.After(n)) != nil {
			return false, nil // patience is over
		}
	}
}

func (t *trials) unusualKeys(ctx context.Context) (Status, string) {
	unusual := []string{"nul\x00inside", `it's "quoted"`, "emoji 🙂", strings.Repeat("x", 1000)}
	for _, pid := range unusual {
		want, err := appendNumbers(ctx, t.journal, pid, 2)
		if err != nil {
			return failedTrial(err)
		}
		if got, err := readNumbers(ctx, t.journal, pid); err != nil || !slices.Equal(got, want) {
			return StatusError, fmt.Sprintf("%.20q has %d events: %v", pid, len(got), err)
		}
	}
	start := time.Now()
	listed, err := eventually(ctx, func() (bool, error) {
		found := map[string]bool{}
		for pid, err := range t.journal.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{}) {
			if err != nil {
				return false, err
			}
			found[pid] = true
		}
		missing := func(pid string) bool { return !found[pid] }
		return !slices.ContainsFunc(unusual, missing), nil
	})
	switch {
	case err != nil:
		return failedTrial(err)
	case !listed:
		return StatusError, fmt.Sprintf("not all are listed after %v", patience)
	}
	return StatusOK, fmt.Sprintf("all are listed after %v", time.Since(start).Round(time.Millisecond))
}

func (t *trials) largeSnapshot(ctx context.Context) (Status, string) {
	metadata := dynajournal.SnapshotMetadata{PersistenceID: "large", SequenceNumber: 1}
	if _, err := appendNumbers(ctx, t.journal, metadata.PersistenceID, 1); err != nil {
		return failedTrial(err)
	}
	state := make([]byte, 1<<20)
	cost, err := t.journal.SaveSnapshot(ctx, metadata, state)
	if err != nil {
		return failedTrial(err)
	}
	loaded, ok, err := t.journal.LoadSnapshot(ctx, metadata.PersistenceID, dynajournal.SnapshotCriteria{})
	if err != nil || !ok || len(loaded.Bytes) != len(state) {
		return StatusError, fmt.Sprintf("it is loaded with %d bytes: %v", len(loaded.Bytes), err)
	}
	if n, err := t.journal.DeleteSnapshots(ctx, metadata.PersistenceID, dynajournal.SnapshotCriteria{}); err != nil || n != 1 {
		return StatusError, fmt.Sprintf("%d are deleted: %v", n, err)
	}
	return StatusOK, fmt.Sprintf("%d requests and %v write units", cost.Requests, cost.WriteUnits)
}

// twoWriters lets two writers of a persistence id take turns.
func (t *trials) twoWriters(ctx context.Context) (Status, string) {
	const rounds = 20
	ended := 0
	for range rounds {
		first, err := t.journal.Recover(ctx, "two", dynajournal.RecoverOptions{}, nil)
		if err != nil {
			return failedTrial(err)
		}
		second, err := t.journal.Recover(ctx, "two", dynajournal.RecoverOptions{}, nil)
		if err != nil {
			return failedTrial(err)
		}
		if _, err := second.Append(ctx, "x"); err != nil {
			return failedTrial(err)
		}
		_, err = first.Append(ctx, "y")
		if !errors.Is(err, dynajournal.ErrWriterConflict) {
			return StatusError, fmt.Sprintf("a writer that was overtaken: %v", err)
		}
		ended++
	}
	stored, err := readNumbers(ctx, t.journal, "two")
	if err != nil || len(stored) != rounds {
		return StatusError, fmt.Sprintf("%d events are stored, want %d: %v", len(stored), rounds, err)
	}
	return StatusOK, fmt.Sprintf("%d writers have ended", ended)
}

// errCut is the failure of the requests of an interrupted write.
var errCut = errors.New("the connection is cut")

// cutClient lets the first request of an operation pass, and fails the others.
type cutClient struct {
	inner     aws.HTTPClient
	operation string
	passed    atomic.Bool
}

// Do sends a request, or fails it.
func (c *cutClient) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+c.operation) && !c.passed.CompareAndSwap(false, true) {
		return nil, errCut
	}
	return c.inner.Do(r)
}

// interruptedWrite stores a part of an atomic write, and recovers the persistence id.
func (t *trials) interruptedWrite(ctx context.Context) (Status, string) {
	const events = 60
	config := t.config
	config.AWS, config.Retries = config.AWS.Copy(), -1
	config.AWS.HTTPClient = &cutClient{inner: t.wire, operation: "BatchExecuteStatement"}
	cut, err := dynajournal.Open(ctx, config)
	if err != nil {
		return failedTrial(err)
	}
	defer func() { _ = cut.Close() }()
	w, err := cut.Recover(ctx, "interrupted", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		return failedTrial(err)
	}
	all := make([]any, events)
	for i := range all {
		all[i] = fmt.Sprint("event ", i)
	}
	if _, err := w.Append(ctx, all...); err == nil {
		return StatusUnknown, "the write could not be interrupted"
	}
	visible, err := readNumbers(ctx, t.journal, "interrupted")
	if err != nil || len(visible) > 0 {
		return StatusError, fmt.Sprintf("%d events are visible: %v", len(visible), err)
	}
	next, err := appendNumbers(ctx, t.journal, "interrupted", 1)
	if err != nil {
		return failedTrial(err)
	}
	if visible, err = readNumbers(ctx, t.journal, "interrupted"); err != nil || !slices.Equal(visible, next) {
		return StatusError, fmt.Sprintf("%d events are visible after the next one: %v", len(visible), err)
	}
	return StatusOK, "no event is visible, and the next one is"
}

func (t *trials) consistentReads(ctx context.Context) (Status, string) {
	const writes = 100
	for i := range writes {
		of := item("consistent", 1)
		of["value"] = &types.AttributeValueMemberN{Value: fmt.Sprint(i)}
		if _, err := t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: t.table, Item: of}); err != nil {
			return failedTrial(err)
		}
		out, err := t.client.Query(ctx, &dynamodb.QueryInput{
			TableName: t.table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("par = :par"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":par": of["par"]},
		})
		if err != nil {
			return failedTrial(err)
		}
		if len(out.Items) != 1 || number(out.Items[0]["value"]) != int64(i) {
			return StatusError, fmt.Sprintf("a read has missed write %d", i)
		}
	}
	return StatusOK, fmt.Sprintf("%d writes were found", writes)
}

func (t *trials) deleteAndPurge(ctx context.Context) (Status, string) {
	if _, err := appendNumbers(ctx, t.journal, "purged", 5); err != nil {
		return failedTrial(err)
	}
	w, err := t.journal.Recover(ctx, "purged", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		return failedTrial(err)
	}
	if _, err := w.DeleteTo(ctx, 2); err != nil {
		return failedTrial(err)
	}
	if left, err := readNumbers(ctx, t.journal, "purged"); err != nil || len(left) != 3 {
		return StatusError, fmt.Sprintf("%d events are left, want 3: %v", len(left), err)
	}
	if _, err := w.Purge(ctx, dynajournal.PurgeOptions{}); err != nil {
		return failedTrial(err)
	}
	again, err := t.journal.Recover(ctx, "purged", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		return failedTrial(err)
	}
	next, err := again.NextSequenceNumber(ctx)
	if err != nil || next <= 5 {
		return StatusError, fmt.Sprintf("the next number is %d: %v", next, err)
	}
	return StatusOK, fmt.Sprintf("the next number is %d", next)
}

// largeTransaction writes the largest transaction twice with the same token.
func (t *trials) largeTransaction(ctx context.Context) (Status, string) {
	const most = 100
	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String("dynajournal-doctor")}
	for i := range most {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Update: &types.Update{
			TableName: t.table, Key: item("transaction", i), UpdateExpression: aws.String("ADD n :one"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
		}})
	}
	for range 2 {
		if _, err := t.client.TransactWriteItems(ctx, in); err != nil {
			return failedTrial(err)
		}
	}
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: t.table, Key: item("transaction", 0), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return failedTrial(err)
	}
	if n := number(out.Item["n"]); n != 1 {
		return StatusError, fmt.Sprintf("an item was written %d times", n)
	}
	return StatusOK, "written once"
}

// streamRecords reads the stream from its start until it has the insertion of an event.
func (t *trials) streamRecords(ctx context.Context) (Status, string) {
	awsConfig := t.config.AWS.Copy()
	if t.config.Endpoint != "" {
		awsConfig.BaseEndpoint = aws.String(t.config.Endpoint)
	}
	client := dynamodbstreams.NewFromConfig(awsConfig)
	table, err := t.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: t.table})
	if err != nil {
		return failedTrial(err)
	}
	arn, shards, found := table.Table.LatestStreamArn, 0, false
	_, err = eventually(ctx, func() (bool, error) {
		out, err := client.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
		if err != nil {
			return false, err
		}
		shards = len(out.StreamDescription.Shards)
		for _, shard := range out.StreamDescription.Shards {
			position, err := client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
				StreamArn: arn, ShardId: shard.ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
			})
			if err != nil {
				return false, err
			}
			page, err := client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: position.ShardIterator})
			if err != nil {
				return false, err
			}
			found = found || slices.ContainsFunc(page.Records, func(r streamtypes.Record) bool {
				return r.EventName == streamtypes.OperationTypeInsert && r.Dynamodb != nil && len(r.Dynamodb.NewImage) > 0
			})
		}
		return found, nil
	})
	switch {
	case err != nil:
		return failedTrial(err)
	case !found:
		return StatusError, fmt.Sprintf("no insertion with an image in %d shards after %v", shards, patience)
	}
	return StatusOK, fmt.Sprintf("found in %d shards", shards)
}
