package legacy

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// maxSegments bounds the goroutines and requests of a scan.
const maxSegments = 1000

// PersistenceIDs lists the persistence ids that have events, or in the hash-key-only layouts had some, each once, in no order.
// There is no index in these layouts: it scans the table, several segments of it at the same time, 0 is one, and remembers
// 32 bytes for each id. Ids whose first event is written meanwhile may be in it or not.
//
// Errors: dynajournal.ErrInvalidArgument, ErrClosed, and those of any request. After an error the sequence ends.
func (j *Journal) PersistenceIDs(ctx context.Context, segments int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		err := j.listIDs(ctx, segments, func(pid string) bool { return yield(pid, nil) })
		if err != nil {
			yield("", fmt.Errorf("list the persistence ids in table %q: %w", j.config.Journal.JournalTable, err))
		}
	}
}

func (j *Journal) listIDs(ctx context.Context, segments int, emit func(string) bool) error {
	if segments < 0 || segments > maxSegments {
		return &dynajournal.ArgumentError{Argument: "segments", Value: segments, Reason: fmt.Sprintf("it must be from 0 to %d", maxSegments)}
	}
	ctx, op, err := j.life.Operate(ctx)
	if err != nil {
		return err
	}
	defer op.End()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	found, group := make(chan string), new(errgroup.Group)
	segments = max(segments, 1)
	for segment := range segments {
		group.Go(func() error {
			err := j.scanIDs(ctx, segment, segments, found)
			if err != nil {
				cancel(err)
			}
			return err
		})
	}
	ended := make(chan error, 1)
	op.Go(func() {
		ended <- group.Wait()
		close(found)
	})
	seen := map[[sha256.Size]byte]bool{}
	for pid := range found {
		hash := sha256.Sum256([]byte(pid))
		if seen[hash] {
			continue
		}
		seen[hash] = true
		err := op.Outside(func() error {
			if !emit(pid) {
				return errStop
			}
			return nil
		})
		if err == nil {
			continue
		}
		cancel(err)
		for range found { // until the last segment has ended
		}
		<-ended                      //nolint:errcheck // why it has ended is known
		if errors.Is(err, errStop) { // who has left the loop is told nothing more
			return nil
		}
		return err
	}
	return <-ended
}

// scanIDs reads one segment of the table. Of items of one id that come one after the other it tells one.
func (j *Journal) scanIDs(ctx context.Context, segment, segments int, found chan<- string) error {
	in := j.store.scan()
	in.TableName, in.ConsistentRead = &j.config.Journal.JournalTable, aws.Bool(true)
	in.Segment, in.TotalSegments = aws.Int32(int32(segment)), aws.Int32(int32(segments))
	last := ""
	for {
		page, err := j.client.Scan(ctx, &dynamo.Meter{}, in)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
				return cause
			}
			return err
		}
		for _, item := range page.Items {
			pid := j.store.idOf(item)
			if pid == "" || pid == last {
				continue
			}
			last = pid
			select {
			case found <- pid:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if page.Next == nil {
			return nil
		}
		in.ExclusiveStartKey = page.Next
	}
}
