// Package snapshots is where snapshots stand: in the plug-ins' form while they fit into an item, and in a form of our own
// (split.go) where they are larger or compressed.
package snapshots

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Store saves and finds snapshots.
type Store struct {
	Client *dynamo.Client
	Table  string
	Keys   layout.Keys
	// MaxItemSize is the size from which an item is split, MaxBytes the largest snapshot, both in bytes.
	MaxItemSize, MaxBytes int
	// Parallelism bounds the requests of one save or load.
	Parallelism int
	// Envelope writes the form of Akka 1.1. Compress writes the split form with zstd.
	Envelope, Compress bool
}

// Criteria bound the snapshots that are meant; all bounds are inclusive.
type Criteria struct {
	MinSeq, MaxSeq int64
	// MinTS and MaxTS are in milliseconds since 1970.
	MinTS, MaxTS int64
}

// Everything is the criteria that every snapshot meets.
func Everything() Criteria {
	return Criteria{MaxSeq: math.MaxInt64, MinTS: math.MinInt64, MaxTS: math.MaxInt64}
}

// timed says whether the criteria bound the timestamp.
func (c Criteria) timed() bool { return c.MinTS != math.MinInt64 || c.MaxTS != math.MaxInt64 }

// Save stores a snapshot: as the plug-ins do if it fits into an item and is not to be compressed, else in the split form. One
// of the same number in the other form, which was there before, is removed afterwards; of two saves at the same time neither
// removes the other's.
func (s *Store) Save(ctx context.Context, m *dynamo.Meter, snapshot *layout.Snapshot) error {
	return s.save(ctx, m, snapshot, randomToken)
}

// Copy stores a snapshot that comes from elsewhere, as Save does. It may be called again after a crash: the items are the same.
func (s *Store) Copy(ctx context.Context, m *dynamo.Meter, snapshot *layout.Snapshot) error {
	return s.save(ctx, m, snapshot, copyToken(snapshot, s.partSize(snapshot.PersistenceID)))
}

func (s *Store) save(ctx context.Context, m *dynamo.Meter, snapshot *layout.Snapshot, token func(stored []byte) int64) error {
	if len(snapshot.Bytes) > s.MaxBytes {
		return fmt.Errorf("%w: %d, the limit is %d", ErrTooLarge, len(snapshot.Bytes), s.MaxBytes)
	}
	if !s.Compress {
		item, err := s.encode(snapshot)
		if err != nil {
			return err
		}
		if layout.Size(item) <= s.MaxItemSize {
			return s.saveWhole(ctx, m, snapshot, item)
		}
	}
	return s.saveSplit(ctx, m, snapshot, token)
}

func (s *Store) encode(snapshot *layout.Snapshot) (layout.Attributes, error) {
	if s.Envelope {
		return s.Keys.EncodeEnvelope(snapshot)
	}
	return s.Keys.EncodeSnapshot(snapshot), nil
}

// saveWhole stores a snapshot in the plug-ins' form.
func (s *Store) saveWhole(ctx context.Context, m *dynamo.Meter, snapshot *layout.Snapshot, item layout.Attributes) error {
	key := s.Keys.SnapshotKey(snapshot.PersistenceID, strconv.FormatInt(-snapshot.SequenceNr, 10))
	head, err := s.Client.Get(ctx, m, s.Table, key)
	if err != nil {
		return err
	}
	if err := s.Client.Put(ctx, m, dynamo.Put{Table: s.Table, Item: item}); err != nil || head == nil {
		return err
	}
	if removed, err := s.removeIf(ctx, m, key, layout.AttrSplitToken, head); err != nil || !removed {
		return err
	}
	return s.deleteParts(ctx, m, snapshot.PersistenceID, head)
}

// removeIf removes an item that has not changed: one of its attributes, which every save gives another value, tells. It says
// whether it was removed.
func (s *Store) removeIf(ctx context.Context, m *dynamo.Meter, key layout.Attributes, attribute string, seen layout.Attributes) (bool, error) {
	err := s.Client.Remove(ctx, m, dynamo.Put{
		Table:     s.Table,
		Item:      key,
		Condition: attribute + " = :seen",
		Values:    dynamo.Attributes{":seen": seen[attribute]},
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return false, nil
	}
	return err == nil, err
}

// found is a snapshot that a search has come across: whole, or the head of one whose parts are read when it is chosen.
type found struct {
	layout.Snapshot
	head *layout.SplitHead
}

// search reads the snapshots that meet criteria in one of the two forms, those with the highest sequence number first.
type search struct {
	store    *Store
	meter    *dynamo.Meter
	pid      string
	criteria Criteria
	split    bool
	query    *dynamodb.QueryInput
	page     []layout.Attributes
	done     bool
}

// search begins a search. first is how many snapshots the first page is to hold, 0 for as many as it can.
func (s *Store) search(m *dynamo.Meter, pid string, c Criteria, split bool, first int32) *search {
	lo, hi, ts := max(c.MinSeq, 0), c.MaxSeq, layout.AttrSnapshotTS
	if split {
		lo, hi, ts = -max(c.MaxSeq, 0), -max(c.MinSeq, 1), layout.AttrSplitTS
	}
	q := &dynamodb.QueryInput{
		TableName:              &s.Table,
		ConsistentRead:         aws.Bool(true),
		ScanIndexForward:       aws.Bool(split), // heads stand at their number below zero
		KeyConditionExpression: aws.String(layout.AttrPar + " = :p AND " + layout.AttrSnapshotSeq + " BETWEEN :lo AND :hi"),
		ExpressionAttributeValues: dynamo.Attributes{
			":p":  &types.AttributeValueMemberS{Value: s.Keys.Snapshots(pid)},
			":lo": number(lo),
			":hi": number(hi),
		},
	}
	if c.timed() {
		q.FilterExpression = aws.String(ts + " BETWEEN :min AND :max")
		q.ExpressionAttributeValues[":min"], q.ExpressionAttributeValues[":max"] = number(c.MinTS), number(c.MaxTS)
	} else if first > 0 {
		q.Limit = &first
	}
	return &search{store: s, meter: m, pid: pid, criteria: c, split: split, query: q, done: lo > hi || c.MinTS > c.MaxTS}
}

// next is the next snapshot, nil after the last. It follows pages until there is one.
func (q *search) next(ctx context.Context) (*found, error) {
	for len(q.page) == 0 {
		if q.done {
			return nil, nil //nolint:nilnil // none is a result
		}
		page, err := q.store.Client.Query(ctx, q.meter, q.query)
		if err != nil {
			return nil, err
		}
		q.page, q.query.ExclusiveStartKey, q.query.Limit = page.Items, page.Next, nil
		q.done = page.Next == nil
	}
	item := q.page[0]
	q.page = q.page[1:]
	if !q.split {
		s, err := q.store.Keys.DecodeSnapshot(q.pid, item)
		return &found{Snapshot: s}, err
	}
	head, err := q.store.Keys.DecodeSplitHead(q.pid, item)
	return &found{Snapshot: head.Snapshot, head: &head}, err
}

// Each gives every snapshot that meets the criteria to emit, those with the highest sequence number first, until emit says
// false. One whose parts are not all there is left out. first is as in search.
func (s *Store) Each(ctx context.Context, m *dynamo.Meter, pid string, c Criteria, first int32, emit func(layout.Snapshot) bool) error {
	last := int64(-1)
	for {
		err := s.merge(ctx, m, pid, c, first, func(f *found) (bool, error) {
			if f.SequenceNr == last { // the other form of the number just given
				return true, nil
			}
			snapshot, whole, err := s.assemble(ctx, m, f)
			if err == nil && !whole {
				c.MaxSeq = f.SequenceNr
				return true, s.unlessReplaced(ctx, m, f)
			}
			if err != nil {
				return false, err
			}
			last = f.SequenceNr
			return emit(snapshot), nil
		})
		if !errors.Is(err, errReplaced) {
			return err
		}
	}
}

// errReplaced says that a snapshot was saved anew while its parts were being read.
var errReplaced = errors.New("the snapshot was replaced")

// unlessReplaced is errReplaced if the head of a snapshot whose parts are not all there is no longer the one that was read.
func (s *Store) unlessReplaced(ctx context.Context, m *dynamo.Meter, f *found) error {
	item, err := s.Client.Get(ctx, m, s.Table, s.Keys.SnapshotKey(f.PersistenceID, strconv.FormatInt(-f.SequenceNr, 10)))
	if err != nil {
		return err
	}
	if item == nil {
		return errReplaced
	}
	_, token, _, err := s.Keys.DecodeSplitParts(f.PersistenceID, item)
	if err == nil && token != f.head.Token {
		err = errReplaced
	}
	return err
}

// Newest is the snapshot with the newest timestamp among those that meet the criteria, as the plug-ins choose; of several
// with the same timestamp the one with the highest sequence number. It reads all of them.
func (s *Store) Newest(ctx context.Context, m *dynamo.Meter, pid string, c Criteria) (*layout.Snapshot, error) {
	damaged := map[int64]bool{} // numbers of heads whose parts are not all there
	for {
		var best *found
		err := s.merge(ctx, m, pid, c, 0, func(f *found) (bool, error) {
			if (best == nil || f.Timestamp > best.Timestamp) && (f.head == nil || !damaged[f.SequenceNr]) {
				best = f
			}
			return true, nil
		})
		if err != nil || best == nil {
			return nil, err
		}
		snapshot, whole, err := s.assemble(ctx, m, best)
		if err != nil || whole {
			return &snapshot, err
		}
		switch err := s.unlessReplaced(ctx, m, best); {
		case errors.Is(err, errReplaced): // look again
		case err != nil:
			return nil, err
		default:
			damaged[best.SequenceNr] = true
		}
	}
}

// Highest is the highest sequence number of a snapshot, 0 if there is none.
func (s *Store) Highest(ctx context.Context, m *dynamo.Meter, pid string) (int64, error) {
	highest := int64(0)
	err := s.merge(ctx, m, pid, Everything(), 1, func(f *found) (bool, error) {
		highest = f.SequenceNr
		return false, nil
	})
	return highest, err
}

// merge gives the snapshots of both forms to emit in the order of falling sequence numbers; of two with the same number the
// one that was saved later first.
func (s *Store) merge(ctx context.Context, m *dynamo.Meter, pid string, c Criteria, first int32, emit func(*found) (bool, error)) error {
	searches := [2]*search{s.search(m, pid, c, false, first), s.search(m, pid, c, true, first)}
	heads, err := bothNext(ctx, searches)
	for more := true; err == nil && more; {
		pick := 0
		switch a, b := heads[0], heads[1]; {
		case a == nil && b == nil:
			return nil
		case a == nil, b != nil && (b.SequenceNr > a.SequenceNr || b.SequenceNr == a.SequenceNr && b.Timestamp > a.Timestamp):
			pick = 1
		}
		if more, err = emit(heads[pick]); err == nil && more {
			heads[pick], err = searches[pick].next(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("read the snapshots of %q: %w", pid, err)
	}
	return nil
}

// Delete deletes the snapshots that meet the criteria, all of them, and returns how many they were. With the criteria's
// numbers also parts that a crash has left are deleted, where no head stands any more that names them.
func (s *Store) Delete(ctx context.Context, m *dynamo.Meter, pid string, c Criteria) (int64, error) {
	deleted := map[int64]bool{} // numbers; one that stands in both forms is one snapshot
	for _, split := range []bool{false, true} {
		q := s.search(m, pid, c, split, 0)
		q.query.ProjectionExpression = aws.String(layout.AttrPar + ", " + layout.AttrSnapshotSeq)
		for !q.done {
			page, err := s.Client.Query(ctx, m, q.query)
			if err == nil {
				err = s.Client.BatchDelete(ctx, m, s.Table, page.Items)
			}
			if err != nil {
				return int64(len(deleted)), fmt.Errorf("delete the snapshots of %q: %w", pid, err)
			}
			for _, item := range page.Items {
				deleted[layout.SnapshotNumber(item)] = true
			}
			q.query.ExclusiveStartKey = page.Next
			q.done = page.Next == nil
		}
	}
	if err := s.deleteLitter(ctx, m, pid, c); err != nil {
		return int64(len(deleted)), fmt.Errorf("delete the parts of snapshots of %q: %w", pid, err)
	}
	return int64(len(deleted)), nil
}

// deleteLitter deletes the parts of the criteria's numbers at which no head stands.
func (s *Store) deleteLitter(ctx context.Context, m *dynamo.Meter, pid string, c Criteria) error {
	lo, hi := max(c.MinSeq, 1), min(c.MaxSeq, math.MaxInt64-1)
	if lo > hi {
		return nil
	}
	heads := map[int64]bool{}
	err := s.eachKey(ctx, m, pid, strconv.FormatInt(-hi, 10), strconv.FormatInt(-lo, 10), func(keys []layout.Attributes) error {
		for _, key := range keys {
			heads[layout.SnapshotNumber(key)] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	first := layout.SplitPartNumber(hi, layout.MaxSplitToken, layout.MaxSplitParts)
	return s.eachKey(ctx, m, pid, first, layout.SplitPartNumber(lo, 0, 0), func(keys []layout.Attributes) error {
		litter := slices.DeleteFunc(keys, func(key layout.Attributes) bool { return heads[layout.SnapshotNumber(key)] })
		return s.Client.BatchDelete(ctx, m, s.Table, litter)
	})
}

// eachKey reads the keys of the items between two numbers, page after page.
func (s *Store) eachKey(ctx context.Context, m *dynamo.Meter, pid, lo, hi string, page func([]layout.Attributes) error) error {
	q := &dynamodb.QueryInput{
		TableName:              &s.Table,
		ConsistentRead:         aws.Bool(true),
		KeyConditionExpression: aws.String(layout.AttrPar + " = :p AND " + layout.AttrSnapshotSeq + " BETWEEN :lo AND :hi"),
		ProjectionExpression:   aws.String(layout.AttrPar + ", " + layout.AttrSnapshotSeq),
		ExpressionAttributeValues: dynamo.Attributes{
			":p":  &types.AttributeValueMemberS{Value: s.Keys.Snapshots(pid)},
			":lo": &types.AttributeValueMemberN{Value: lo},
			":hi": &types.AttributeValueMemberN{Value: hi},
		},
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

// Erase deletes every item of a persistence id that belongs to a snapshot up to a sequence number: also parts that a crash
// has left without a head.
func (s *Store) Erase(ctx context.Context, m *dynamo.Meter, pid string, to int64) (int64, error) {
	erased := int64(0)
	q := &dynamodb.QueryInput{
		TableName:                 &s.Table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String(layout.AttrPar + " = :p"),
		ProjectionExpression:      aws.String(layout.AttrPar + ", " + layout.AttrSnapshotSeq),
		ExpressionAttributeValues: dynamo.Attributes{":p": &types.AttributeValueMemberS{Value: s.Keys.Snapshots(pid)}},
	}
	for {
		page, err := s.Client.Query(ctx, m, q)
		if err == nil {
			keys := slices.DeleteFunc(page.Items, func(item layout.Attributes) bool { return layout.SnapshotNumber(item) > to })
			erased += int64(len(keys))
			err = s.Client.BatchDelete(ctx, m, s.Table, keys)
		}
		if err != nil {
			return erased, fmt.Errorf("erase the snapshots of %q: %w", pid, err)
		}
		if page.Next == nil {
			return erased, nil
		}
		q.ExclusiveStartKey = page.Next
	}
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
