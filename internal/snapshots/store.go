// Package snapshots is where snapshots stand: in the plug-ins' form while they fit into an item, and in a form of our own
// (split.go) where they are larger or compressed.
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

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
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

// none says whether nothing can meet the criteria.
func (c Criteria) none() bool { return max(c.MinSeq, 0) > c.MaxSeq || c.MinTS > c.MaxTS }

// timely says whether the timestamp of a whole snapshot or a head meets the criteria.
func (c Criteria) timely(item layout.Attributes) bool {
	if !c.timed() {
		return true
	}
	ts, ok := layout.SnapshotTimestamp(item)
	return ok && c.MinTS <= ts && ts <= c.MaxTS
}

// Save stores a snapshot: as the plug-ins do if it fits into an item and is not to be compressed, else in the split form. It
// replaces one of the same number; of two saves at the same time one counts.
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
			return s.Client.Put(ctx, m, dynamo.Put{Table: s.Table, Item: item}) // it counts from now on, also over a head
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

// found is a snapshot that a search has come across: whole, or the head of one whose parts are read when it is chosen.
type found struct {
	layout.Snapshot
	head *layout.SplitHead
	// damage says why the item can't be read, if it can't.
	damage error
	// undated reports that it does not say when it was saved, so it may be the newest.
	undated bool
}

// search goes down through the items of a range of keys.
type search struct {
	store *Store
	meter *dynamo.Meter
	query *dynamodb.QueryInput
	page  []layout.Attributes
	done  bool

	// item is where it has come to, nil before the first and after the last; form and seq are what its key says.
	item layout.Attributes
	form layout.SnapshotForm
	seq  int64
}

// search begins a search from one number down to another. first is how many items the first page is to hold, 0 for as many
// as it can.
func (s *Store) search(m *dynamo.Meter, pid, from, to string, first int32) *search {
	q := s.rangeQuery(pid, from, to)
	if first > 0 {
		q.Limit = &first
	}
	return &search{store: s, meter: m, query: q}
}

// next goes to the next item. It follows pages until there is one.
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

// rangeQuery asks for the items from one number down to another.
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

// Each gives every snapshot that meets the criteria to emit, those with the highest sequence number first, until emit says
// false. One that can't be read is given with a *DamagedError. first is as in search.
func (s *Store) Each(ctx context.Context, m *dynamo.Meter, pid string, c Criteria, first int32, emit func(layout.Snapshot, error) bool) error {
	for {
		err := s.merge(ctx, m, pid, c, first, func(f *found) (bool, error) {
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

// read reads what a search has found to its end. damage says why it can't be read, once it is known
// that it is not just being saved anew or deleted; else the error is errReplaced.
func (s *Store) read(ctx context.Context, m *dynamo.Meter, f *found) (snapshot layout.Snapshot, damage, err error) {
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

// errReplaced says that a snapshot was saved anew while its parts were being read.
var errReplaced = errors.New("the snapshot was replaced")

// unlessReplaced is errReplaced if the head of a snapshot whose parts are not all there is no
// longer the one that was read: a save puts its head when its parts are stored, and a deletion
// removes the head before the parts, so a head that is still the same has lost them.
func (s *Store) unlessReplaced(ctx context.Context, m *dynamo.Meter, f *found) error {
	item, err := s.Client.Get(ctx, m, s.Table, s.Keys.SnapshotKey(f.PersistenceID, layout.SplitHeadNumber(f.SequenceNr)))
	if err != nil {
		return err
	}
	if !safeguard.ReplacedMeanwhile {
		return nil
	}
	if item == nil {
		return errReplaced
	}
	_, token, _, err := s.Keys.DecodeSplitParts(f.PersistenceID, item)
	if err != nil || token != f.head.Token {
		return errReplaced // where it can't be read, it will be found so
	}
	return nil
}

// Newest is the snapshot with the newest timestamp among those that meet the criteria, as the
// plug-ins choose; of several with the same timestamp the one with the highest sequence number. It
// reads all of them. One that can't be read is a *DamagedError: what an older one lacks may be
// deleted.
func (s *Store) Newest(ctx context.Context, m *dynamo.Meter, pid string, c Criteria) (*layout.Snapshot, error) {
	for {
		var best *found
		err := s.merge(ctx, m, pid, c, 0, func(f *found) (bool, error) {
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

// merge gives the snapshots that meet the criteria to emit, in the order of falling sequence numbers. Of two with the same
// number the whole one counts, whatever its timestamp.
func (s *Store) merge(ctx context.Context, m *dynamo.Meter, pid string, c Criteria, first int32, emit func(*found) (bool, error)) error {
	if c.none() {
		return nil
	}
	wholes, heads, err := s.begin(ctx, m, pid, c, first)
	for more := true; err == nil && more && (wholes.item != nil || heads.item != nil); {
		from, hidden := wholes, false
		if heads.item != nil {
			hidden = wholes.item != nil && wholes.seq == heads.seq
			if hidden || wholes.item == nil || heads.seq > wholes.seq {
				from = heads
			}
		}
		if _, dated := layout.SnapshotTimestamp(from.item); !hidden && (!dated || c.timely(from.item)) {
			var f *found
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

// begin begins the searches for whole snapshots and for heads. As heads stand above all whole ones, one search over both
// tells where there are no heads, which is nearly always. Where there may be some, whole ones are searched first: the other
// way round a snapshot that is just being replaced by a split one could be found in neither place.
func (s *Store) begin(ctx context.Context, m *dynamo.Meter, pid string, c Criteria, first int32) (wholes, heads *search, err error) {
	lowest, highest := strconv.FormatInt(max(c.MinSeq, 0), 10), strconv.FormatInt(c.MaxSeq, 10)
	lowestHead, highestHead := layout.SplitHeadNumber(max(c.MinSeq, 0)), layout.SplitHeadNumber(c.MaxSeq)
	if c.MaxSeq == math.MaxInt64 && !s.Compress { // else whole ones stand between, or heads are what there is
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

// decode reads what a search has come to. An item that can't be read is found as damaged.
func (s *Store) decode(pid string, at *search) (*found, error) {
	f := &found{}
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
		return &found{Snapshot: damaged, damage: err, undated: !dated}, nil
	}
	return f, err
}
