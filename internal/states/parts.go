package states

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// partOverhead is an upper limit of the item size of a part without its bytes and the persistence
// id.
const partOverhead = 256

// putSplit puts the parts of next, which has its token, and then its head.
func (s *Store) putSplit(ctx context.Context, m *dynamo.Meter, base, next *layout.State) error {
	size := max(s.MaxItemSize-partOverhead-len(s.Keys.States(next.PersistenceID)), 1)
	next.Parts = int64((len(next.Bytes) + size - 1) / size)
	next.PartsVersion, next.Stored = next.Version, int64(len(next.Bytes))
	sum := sha256.Sum256(next.Bytes)
	next.Sum = sum[:]
	if head := layout.Size(s.Keys.EncodeState(next)); next.Parts > layout.MaxSplitParts || head > s.MaxItemSize {
		return fmt.Errorf("%w: %d parts and a head of %d bytes, the limits are %d and %d", ErrTooLarge, next.Parts, head,
			layout.MaxSplitParts, s.MaxItemSize)
	}
	var err error
	err = s.putParts(ctx, m, next, size)
	if err != nil {
		s.abandon(ctx, m, next)
		// The head was not sent, so nothing that a reader finds is stored.
		return &partsError{err}
	}
	if err = s.putHead(ctx, m, base, next); errors.Is(err, ErrConflict) {
		s.abandon(ctx, m, next)
	}
	return err
}

// partsError reports that the parts of a state could not be stored. It hides that some may be
// stored: no reader finds them.
type partsError struct{ err error }

func (e *partsError) Error() string { return "store the parts of a state: " + e.err.Error() }

// Is reports whether the reason is target.
func (e *partsError) Is(target error) bool { return errors.Is(e.err, target) }

// abandon deletes the parts of a state that is not stored and never will be. The next sweep deletes
// parts that abandon leaves.
func (s *Store) abandon(ctx context.Context, m *dynamo.Meter, state *layout.State) {
	_ = s.Client.BatchDelete(ctx, m, s.Table, s.partKeys(state), nil)
}

func (s *Store) putParts(ctx context.Context, m *dynamo.Meter, next *layout.State, size int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.Parallelism)
	for part := range next.Parts {
		from := int(part) * size
		data := next.Bytes[from:min(from+size, len(next.Bytes))]
		group.Go(func() error {
			item := s.Keys.EncodeStatePart(next.PersistenceID, next.PartsVersion, next.Token, part, data)
			return s.Client.Put(ctx, m, dynamo.Put{Table: s.Table, Item: item})
		})
	}
	return group.Wait()
}

// readParts reads the value of a head. damage is the reason if the parts do not match the head.
func (s *Store) readParts(ctx context.Context, m *dynamo.Meter, head *layout.State) (damage, err error) {
	pid := head.PersistenceID
	if head.Stored > int64(s.MaxBytes) {
		return fmt.Errorf("%w: %d, the limit is %d", ErrTooLarge, head.Stored, s.MaxBytes), nil
	}
	value, parts := make([]byte, 0, head.Stored), int64(0)
	first := layout.StatePartNumber(head.PartsVersion, head.Token, 0)
	last := layout.StatePartNumber(head.PartsVersion, head.Token, head.Parts-1)
	err = s.eachPart(ctx, m, pid, last, first, "", func(page []layout.Attributes) error {
		for _, item := range page {
			data, err := s.Keys.DecodeStatePart(pid, item)
			if err != nil {
				return err
			}
			value, parts = append(value, data...), parts+1
		}
		return nil
	})
	sum := sha256.Sum256(value)
	switch item := new(layout.ItemError); {
	case errors.As(err, &item):
		return err, nil
	case err != nil:
		return nil, err
	case parts < head.Parts:
		return s.Keys.DamagedState(pid, layout.AttrSplitParts, layout.ErrPartMissing), nil
	case int64(len(value)) != head.Stored || !bytes.Equal(sum[:], head.Sum):
		return s.Keys.DamagedState(pid, layout.AttrSplitSum, layout.ErrChecksum), nil
	}
	head.Bytes = value
	return nil, nil
}

// eachPart reads parts page by page, the first part of a put first. from and to are the lowest and
// the highest range key. projection, if set, names the attributes to read.
func (s *Store) eachPart(
	ctx context.Context, m *dynamo.Meter, pid, from, to, projection string, page func([]layout.Attributes) error,
) error {
	q := &dynamodb.QueryInput{
		TableName:              &s.Table,
		ConsistentRead:         aws.Bool(true),
		ScanIndexForward:       aws.Bool(false),
		KeyConditionExpression: aws.String(layout.AttrPar + " = :p AND " + layout.AttrSnapshotSeq + " BETWEEN :from AND :to"),
		ExpressionAttributeValues: dynamo.Attributes{
			":p":    &types.AttributeValueMemberS{Value: s.Keys.States(pid)},
			":from": &types.AttributeValueMemberN{Value: from},
			":to":   &types.AttributeValueMemberN{Value: to},
		},
	}
	if projection != "" {
		q.ProjectionExpression = &projection
	}
	for {
		got, err := s.Client.Query(ctx, m, q)
		if err == nil {
			err = page(got.Items)
		}
		if err != nil || got.Next == nil {
			return err
		}
		q.ExclusiveStartKey = got.Next
	}
}

func (s *Store) partKeys(state *layout.State) []layout.Attributes {
	keys := make([]layout.Attributes, state.Parts)
	for part := range state.Parts {
		keys[part] = s.Keys.StatePartKey(state.PersistenceID, state.PartsVersion, state.Token, part)
	}
	return keys
}

// Clean deletes the parts of a state that next has replaced. If sweep is set, it also deletes the
// parts of puts that were never finished.
func (s *Store) Clean(ctx context.Context, m *dynamo.Meter, replaced, next *layout.State, sweep bool) error {
	var err error
	if replaced != nil && replaced.Parts > 0 {
		err = s.Client.BatchDelete(ctx, m, s.Table, s.partKeys(replaced), nil)
	}
	if err == nil && sweep {
		err = s.sweep(ctx, m, next)
	}
	return err
}

// sweep deletes the parts of all versions up to the version of a state that is or was stored,
// except the parts of that state. No put that names these parts can still succeed: it would replace
// a state that is already replaced, and versions never start again.
func (s *Store) sweep(ctx context.Context, m *dynamo.Meter, stored *layout.State) error {
	if stored.Version == 0 {
		return nil
	}
	first := layout.StatePartNumber(1, 0, 0)
	lowest := layout.StatePartNumber(stored.Version, layout.MaxSplitToken, layout.MaxSplitParts)
	ranges := [][2]string{{lowest, first}}
	if stored.Parts > 0 {
		ranges = [][2]string{
			{lowest, layout.StatePartNumber(stored.Version, stored.Token+1, 0)},
			{layout.StatePartNumber(stored.Version, stored.Token-1, layout.MaxSplitParts), first},
		}
	}
	projection := layout.AttrPar + ", " + layout.AttrSnapshotSeq
	for _, r := range ranges {
		err := s.eachPart(ctx, m, stored.PersistenceID, r[0], r[1], projection, func(page []layout.Attributes) error {
			return s.Client.BatchDelete(ctx, m, s.Table, page, nil)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
