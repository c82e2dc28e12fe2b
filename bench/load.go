package bench

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// loadBatch is the largest number of items in a BatchWriteItem.
const loadBatch = 25

// load stores entities of n events each in the layout of a journal, faster than a journal can:
// without other writers it needs no fences. The journal itself writes the first event, which adds
// the entity to the index. The recovery at the end writes the marks.
func (s *session) load(ctx context.Context, pids []string, n int64) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(preparing)
	for _, pid := range pids {
		group.Go(func() error {
			w, err := s.journal.Recover(ctx, pid, dynajournal.RecoverOptions{}, nil)
			if err == nil {
				_, err = w.Append(ctx, payload)
			}
			if err == nil {
				err = s.loadRest(ctx, pid, n)
			}
			if err == nil {
				_, err = s.journal.Recover(ctx, pid, dynajournal.RecoverOptions{}, nil)
			}
			return err
		})
	}
	return group.Wait()
}

// loadRest stores the events 2 to n.
func (s *session) loadRest(ctx context.Context, pid string, n int64) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(preparing)
	for first := int64(2); first <= n; first += loadBatch {
		group.Go(func() error {
			var puts []types.WriteRequest
			for seq := first; seq < first+loadBatch && seq <= n; seq++ {
				event := layout.Event{PersistenceID: pid, SequenceNr: seq, Bytes: payload,
					SerializerID: bytesSerializer, WriterUUID: loader}
				puts = append(puts,
					types.WriteRequest{PutRequest: &types.PutRequest{Item: s.tables.keys.EncodeEvent(&event)}})
			}
			return s.putAll(ctx, s.tables.config.JournalTable, puts)
		})
	}
	return group.Wait()
}

const (
	// bytesSerializer is the id of the serializer of bytes in Akka and Pekko.
	bytesSerializer = 4
	// loader is the writer UUID of loaded events.
	loader = "00000000-0000-4000-8000-000000000000"
)

// putAll puts items until none is unprocessed.
func (s *session) putAll(ctx context.Context, table string, puts []types.WriteRequest) error {
	left := map[string][]types.WriteRequest{table: puts}
	for len(left) > 0 {
		out, err := s.bare.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: left})
		if err != nil {
			return fmt.Errorf("BatchWriteItem: %w", err)
		}
		left = out.UnprocessedItems
	}
	return nil
}

// names returns n persistence ids with a prefix.
func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%d", prefix, i)
	}
	return all
}
