// Package snapshots stores snapshots: in the plug-ins' form if they fit into an item, otherwise, or
// if they are compressed, in a form of our own (split.go).
package snapshots

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/outside"
)

// Store saves and finds snapshots.
type Store struct {
	Client *dynamo.Client
	Clock  *clock.Clock
	Table  string
	Keys   layout.Keys
	// MaxItemSize is the item size above which a snapshot is split. MaxBytes is the size of the
	// largest snapshot. Both are in bytes.
	MaxItemSize, MaxBytes int
	// Parallelism limits the parallel requests of one save or load.
	Parallelism int
	// Envelope writes the form of Akka 1.1. Compress writes the split form with zstd.
	Envelope, Compress bool
	// Before, if set, is called before each attempt of a deletion. An error ends the deletion.
	Before func() error
}

// While returns the store with another check of its deletions.
func (s *Store) While(before func() error) *Store {
	while := *s
	while.Before = before
	return &while
}

// Criteria select snapshots. All limits are inclusive.
type Criteria struct {
	MinSeq, MaxSeq int64
	// MinTS and MaxTS are in milliseconds since 1970.
	MinTS, MaxTS int64
}

// Everything returns the criteria that every snapshot meets.
func Everything() Criteria {
	return Criteria{MaxSeq: math.MaxInt64, MinTS: math.MinInt64, MaxTS: math.MaxInt64}
}

// UpTo returns the criteria that every snapshot up to a sequence number meets.
func UpTo(seq int64) Criteria {
	c := Everything()
	c.MaxSeq = seq
	return c
}

// limitsTime reports whether the criteria limit the timestamp.
func (c Criteria) limitsTime() bool { return c.MinTS != math.MinInt64 || c.MaxTS != math.MaxInt64 }

// none reports whether no snapshot can meet the criteria.
func (c Criteria) none() bool { return max(c.MinSeq, 0) > c.MaxSeq || c.MinTS > c.MaxTS }

// meetsTime reports whether the timestamp of a whole snapshot or a head meets the criteria.
func (c Criteria) meetsTime(item layout.Attributes) bool {
	if !c.limitsTime() {
		return true
	}
	ts, ok := layout.SnapshotTimestamp(item)
	return ok && c.MinTS <= ts && ts <= c.MaxTS
}

// Save stores a snapshot: in the plug-ins' form if it fits into an item and is not compressed,
// otherwise in the split form. It replaces a snapshot of the same number. Of two parallel saves one
// counts.
func (s *Store) Save(ctx context.Context, m *dynamo.Meter, snapshot *layout.Snapshot) error {
	return s.save(ctx, m, snapshot, randomToken)
}

// Copy stores a snapshot of another journal, as Save does. It may be repeated after a crash: the
// items are the same.
func (s *Store) Copy(ctx context.Context, m *dynamo.Meter, snapshot *layout.Snapshot) error {
	return s.save(ctx, m, snapshot, copyToken(snapshot, s.partSize(snapshot.PersistenceID)))
}

func (s *Store) save(
	ctx context.Context, m *dynamo.Meter, snapshot *layout.Snapshot, token func(stored []byte) int64,
) error {
	if len(snapshot.Bytes) > s.MaxBytes {
		return fmt.Errorf("%w: %d, the limit is %d", ErrTooLarge, len(snapshot.Bytes), s.MaxBytes)
	}
	if !s.Compress {
		item, err := s.encode(snapshot)
		if err != nil {
			return err
		}
		if layout.Size(item) <= s.MaxItemSize {
			// From now on it counts, even if there is a head.
			return s.Client.Put(ctx, m, dynamo.Put{Table: s.Table, Item: item, Before: outside.Checking(snapshot.Outside, s.Clock)})
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

// hit is a snapshot that a search has found: a whole one, or a head. The parts of a head are read
// when it is selected.
type hit struct {
	layout.Snapshot
	head *layout.SplitHead
	// damage is the reason why the item can't be read, or nil.
	damage error
	// undated reports that its timestamp is missing, so it may be the newest.
	undated bool
}

// search goes through the items of a range of keys, in descending order.
type search struct {
	store *Store
	meter *dynamo.Meter
	query *dynamodb.QueryInput
	page  []layout.Attributes
	done  bool

	// item is the current item. It is nil before the first and after the last. form and seq are
	// decoded from its key.
	item layout.Attributes
	form layout.SnapshotForm
	seq  int64
}

// search starts a search from one number down to another. first is the number of items on the first
// page, or 0 for as many as fit.
func (s *Store) search(m *dynamo.Meter, pid, from, to string, first int32) *search {
	q := s.rangeQuery(pid, from, to)
	if first > 0 {
		q.Limit = &first
	}
	return &search{store: s, meter: m, query: q}
}

// next goes to the next item. It skips empty pages.
func (q *search) next(ctx context.Context) error {
	for len(q.page) == 0 && !q.done {
		page, err := q.store.Client.Query(ctx, q.meter, q.query)
		if err != nil {
			return err
		}
		q.page, q.query.ExclusiveStartKey, q.query.Limit = page.Items, page.Next, nil
		q.done = page.Next == nil
	}
	if len(q.page) == 0 {
		q.item = nil
		return nil
	}
	q.item, q.page = q.page[0], q.page[1:]
	q.form, q.seq = layout.SnapshotItem(q.item)
	return nil
}

// rangeQuery returns the query of the items from one number down to another.
func (s *Store) rangeQuery(pid, from, to string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:              &s.Table,
		ConsistentRead:         aws.Bool(true),
		ScanIndexForward:       aws.Bool(false),
		KeyConditionExpression: aws.String(layout.AttrPar + " = :p AND " + layout.AttrSnapshotSeq + " BETWEEN :to AND :from"),
		ExpressionAttributeValues: dynamo.Attributes{
			":p":    &types.AttributeValueMemberS{Value: s.Keys.Snapshots(pid)},
			":to":   &types.AttributeValueMemberN{Value: to},
			":from": &types.AttributeValueMemberN{Value: from},
		},
	}
}

// Each calls emit with every snapshot that meets the criteria, in descending order of sequence
// numbers, until emit returns false. A snapshot that can't be read comes with a *DamagedError.
// first is the size of the first page, as in search.
func (s *Store) Each(
	ctx context.Context, m *dynamo.Meter, pid string, c Criteria, first int32, emit func(layout.Snapshot, error) bool,
) error {
	for {
		err := s.merge(ctx, m, pid, c, first, func(f *hit) (bool, error) {
			snapshot, damage, err := s.read(ctx, m, f)
			if err != nil {
				c.MaxSeq = f.SequenceNr
				return false, err
			}
			return emit(snapshot, damage), nil
		})
		if !errors.Is(err, errReplaced) {
			return err
		}
	}
}

// Highest returns the highest sequence number of a stored snapshot, even if that snapshot can't be
// read. It returns 0 if no snapshot has a number of at least from.
func (s *Store) Highest(ctx context.Context, m *dynamo.Meter, pid string, from int64) (int64, error) {
	c, highest := Everything(), int64(0)
	c.MinSeq = from
	err := s.merge(ctx, m, pid, c, 1, func(f *hit) (bool, error) {
		highest = f.SequenceNr
		return false, nil
	})
	return highest, err
}

// read reads the rest of a found snapshot. damage is the reason why it can't be read. If the reason
// is that it is being replaced or deleted, read returns errReplaced instead.
func (s *Store) read(ctx context.Context, m *dynamo.Meter, f *hit) (snapshot layout.Snapshot, damage, err error) {
	damage = f.damage
	if damage == nil {
		if damage, err = s.assemble(ctx, m, f); err == nil && damage != nil {
			err = s.unlessReplaced(ctx, m, f)
		}
	}
	if err != nil || damage == nil {
		return f.Snapshot, nil, err
	}
	return f.Snapshot, &DamagedError{f.PersistenceID, f.SequenceNr, damage}, nil
}

// errReplaced reports that a snapshot was saved again while its parts were being read.
var errReplaced = errors.New("the snapshot was replaced")

// unlessReplaced returns errReplaced if a head that lacks parts has changed since it was read. A
// save puts its head after its parts, and a deletion removes the head before the parts, so a head
// that is unchanged has lost its parts.
func (s *Store) unlessReplaced(ctx context.Context, m *dynamo.Meter, f *hit) error {
	item, err := s.Client.Get(ctx, m, s.Table, s.Keys.SnapshotKey(f.PersistenceID, layout.SplitHeadNumber(f.SequenceNr)))
	if err != nil {
		return err
	}
	if item == nil {
		return errReplaced
	}
	_, token, _, err := s.Keys.DecodeSplitParts(f.PersistenceID, item)
	if err != nil || token != f.head.Token {
		return errReplaced // if it can't be read, it will be found damaged
	}
	return nil
}

// Newest returns the snapshot with the newest timestamp among those that meet the criteria, as the
// plug-ins do. Of several with the same timestamp it returns the one with the highest sequence
// number. It reads all their items. If a snapshot that may be the newest can't be read, it returns
// a *DamagedError: events that an older one lacks may be deleted.
func (s *Store) Newest(ctx context.Context, m *dynamo.Meter, pid string, c Criteria) (*layout.Snapshot, error) {
	for {
		var best *hit
		err := s.merge(ctx, m, pid, c, 0, func(f *hit) (bool, error) {
			if best == nil || !best.undated && (f.undated || f.Timestamp > best.Timestamp) {
				best = f
			}
			return true, nil
		})
		if err != nil || best == nil {
			return nil, err
		}
		snapshot, damage, err := s.read(ctx, m, best)
		if err == nil {
			err = damage
		}
		if err == nil {
			return &snapshot, nil
		}
		if !errors.Is(err, errReplaced) {
			return nil, err
		}
	}
}

// merge calls emit with the snapshots that meet the criteria, in descending order of sequence
// numbers. Of two with the same number the whole one counts, regardless of its timestamp.
func (s *Store) merge(
	ctx context.Context, m *dynamo.Meter, pid string, c Criteria, first int32, emit func(*hit) (bool, error),
) error {
	if c.none() {
		return nil
	}
	wholes, heads, err := s.start(ctx, m, pid, c, first)
	for more := true; err == nil && more && (wholes.item != nil || heads.item != nil); {
		from, hidden := newer(wholes, heads)
		if _, dated := layout.SnapshotTimestamp(from.item); !hidden && (!dated || c.meetsTime(from.item)) {
			var f *hit
			if f, err = s.decode(pid, from); err == nil {
				more, err = emit(f)
			}
		}
		if err == nil && more {
			err = from.next(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("read the snapshots of %q: %w", pid, err)
	}
	return nil
}

// newer returns the search at the higher number. It reports whether the whole snapshot hides the
// head at the same number.
func newer(wholes, heads *search) (from *search, hidden bool) {
	switch {
	case heads.item == nil:
		return wholes, false
	case wholes.item == nil:
		return heads, false
	case wholes.seq > heads.seq:
		return wholes, false
	}
	return heads, wholes.seq == heads.seq
}

// start opens the searches for whole snapshots and for heads. Heads are above all whole ones, so
// one search over both finds out whether there are heads, which is rare. If there may be heads,
// whole ones are searched first: in the other order, a snapshot that is being replaced by a split
// one could be missed.
func (s *Store) start(
	ctx context.Context, m *dynamo.Meter, pid string, c Criteria, first int32,
) (wholes, heads *search, err error) {
	lowest, highest := strconv.FormatInt(max(c.MinSeq, 0), 10), strconv.FormatInt(c.MaxSeq, 10)
	lowestHead, highestHead := layout.SplitHeadNumber(max(c.MinSeq, 0)), layout.SplitHeadNumber(c.MaxSeq)
	// Otherwise whole snapshots are in between, or there are only heads.
	if c.MaxSeq == math.MaxInt64 && !s.Compress {
		wholes = s.search(m, pid, highestHead, lowest, first)
		if err := wholes.next(ctx); err != nil || wholes.item == nil || wholes.form != layout.SplitHeadItem {
			return wholes, &search{}, err
		}
	}
	wholes, heads = s.search(m, pid, highest, lowest, first), s.search(m, pid, highestHead, lowestHead, first)
	if err = wholes.next(ctx); err == nil {
		err = heads.next(ctx)
	}
	return wholes, heads, err
}

// decode decodes the current item of a search. An item that can't be read is found as damaged.
func (s *Store) decode(pid string, at *search) (*hit, error) {
	f := &hit{}
	var err error
	if at.form == layout.SplitHeadItem {
		var head layout.SplitHead
		head, err = s.Keys.DecodeSplitHead(pid, at.item)
		f.Snapshot, f.head = head.Snapshot, &head
	} else {
		f.Snapshot, err = s.Keys.DecodeSnapshot(pid, at.item)
	}
	if item := new(layout.ItemError); errors.As(err, &item) {
		saved, dated := layout.SnapshotTimestamp(at.item)
		damaged := layout.Snapshot{PersistenceID: pid, SequenceNr: at.seq, Timestamp: saved}
		return &hit{Snapshot: damaged, damage: err, undated: !dated}, nil
	}
	return f, err
}
