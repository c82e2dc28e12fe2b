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

// maxSegments limits the goroutines and concurrent requests of a scan.
const maxSegments = 1000

// CurrentPersistenceIDs lists the persistence ids that have events, or in the hash-key-only layouts
// had events, each once, in no particular order. The layouts have no index, so it always scans the
// table, in opts.Segments segments at the same time. It uses 32 bytes of memory for each id. An id
// whose first event is written during the scan may be missing.
//
// Errors: [ErrNotInLayout] for opts.After, Prefix and Sorted, [dynajournal.ErrInvalidArgument],
// [dynajournal.ErrClosed] and request errors. After an error the sequence ends.
func (j *Journal) CurrentPersistenceIDs(ctx context.Context, opts dynajournal.IDsOptions) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		listed := 0
		err := j.listIDs(ctx, opts, func(pid string) bool {
			listed++
			return yield(pid, nil) && listed != opts.Limit
		})
		if err != nil {
			yield("", fmt.Errorf("list the persistence ids in table %q: %w", j.config.Journal.JournalTable, err))
		}
	}
}

// checkIDsOptions returns an error if opts are invalid or not available in the older layouts.
func checkIDsOptions(opts dynajournal.IDsOptions) error {
	switch {
	case opts.After != "" || opts.Prefix != "" || opts.Sorted:
		return fmt.Errorf("IDsOptions.After, Prefix and Sorted: %w", ErrNotInLayout)
	case opts.Limit < 0:
		return &dynajournal.ArgumentError{
			Argument: "IDsOptions.Limit", Value: opts.Limit, Reason: mustNotBeNegative,
		}
	case opts.Segments < 0 || opts.Segments > maxSegments:
		return &dynajournal.ArgumentError{
			Argument: "IDsOptions.Segments",
			Value:    opts.Segments,
			Reason:   fmt.Sprintf("it must be from 0 to %d", maxSegments),
		}
	}
	return nil
}

func (j *Journal) listIDs(ctx context.Context, opts dynajournal.IDsOptions, emit func(string) bool) error {
	if err := checkIDsOptions(opts); err != nil {
		return err
	}
	ctx, op, err := j.life.Operate(ctx)
	if err != nil {
		return err
	}
	defer op.End()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	found, group := make(chan string), new(errgroup.Group)
	segments := max(opts.Segments, 1)
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
		<-ended                      //nolint:errcheck // the cause of its end is known
		if errors.Is(err, errStop) { // the caller has left the loop
			return nil
		}
		return err
	}
	return <-ended
}

// scanIDs reads one segment of the table. It sends consecutive items of the same id once.
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
