// Package replay reads what stands in the journal of one persistence id, decides what of it counts, and closes gaps for
// those who are going to write: the reading half of the write protocol.
//
// The rules, each kept where its name says:
//   - a batch counts when all its members are there, wherever a window or the low mark cuts it (batch.go);
//   - what looks irregular is decided only on a low mark that was read after it (low.go);
//   - who is going to write seals every missing number before anything behind it is handed out (gap.go);
//   - the high mark is a hint: reading follows a partition that ends in its last number, and looks back from an empty one
//     (partition.go, highest.go).
package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// Store is where the journal's items stand.
type Store struct {
	Client *dynamo.Client
	Table  string
	Keys   layout.Keys
	// IDsShards is the number of shards of the sparse ids index; 0 where there is none.
	IDsShards int64
	// MaxBatchEvents is how many events an atomic write can have, if it is more than the usual
	// 10,000.
	MaxBatchEvents int
	// Parallelism bounds how many partitions of one persistence id are read ahead.
	Parallelism int
	// Fresh begins to watch how old what is read from now on becomes: the function that it returns
	// fails when that is too old to write by. nil sets no bound.
	Fresh func() func() error
	// Before is the check of every attempt to write: that of dynamo.Put.
	Before func() error
	// Go runs what reads ahead in a goroutine that the end of the journal waits for; nil runs it in
	// one that nobody waits for.
	Go func(work func())
}

// While is the store whose writes are checked by before.
func (s *Store) While(before func() error) *Store {
	while := *s
	while.Before = before
	return &while
}

// fresh is the check of what is written by what is read from now on.
func (s *Store) fresh() func() error {
	if s.Fresh == nil {
		return nil
	}
	return s.Fresh()
}

func (s *Store) start(work func()) {
	if s.Go == nil {
		go work()
		return
	}
	s.Go(work)
}

// Marks reads all marks of a persistence id, in one request where it can be one.
func (s *Store) Marks(ctx context.Context, m *dynamo.Meter, pid string) (layout.Marks, error) {
	return s.marks(ctx, m, pid, append(s.Keys.HighMarks(pid), s.Keys.LowMarks(pid)...))
}

// LowMark reads the low marks of a persistence id, and nothing of the high marks.
func (s *Store) LowMark(ctx context.Context, m *dynamo.Meter, pid string) (layout.Marks, error) {
	return s.marks(ctx, m, pid, s.Keys.LowMarks(pid))
}

func (s *Store) marks(ctx context.Context, m *dynamo.Meter, pid string, keys []layout.Key) (layout.Marks, error) {
	wanted := make([]dynamo.Attributes, len(keys))
	for i, k := range keys {
		wanted[i] = k.Attributes()
	}
	items, err := s.Client.BatchGet(ctx, m, s.Table, wanted)
	if err != nil {
		return layout.Marks{}, fmt.Errorf("read the marks: %w", err)
	}
	marks, err := s.Keys.DecodeMarks(pid, items)
	if err != nil {
		return layout.Marks{}, fmt.Errorf("table %q: %w", s.Table, err)
	}
	return marks, nil
}

// NotExists is the condition under which every event and seal is put: nothing stands at its key. It is what fences writers.
const NotExists = "attribute_not_exists(" + layout.AttrPar + ")"

// Exists is the condition that something is stored at a key.
const Exists = "attribute_exists(" + layout.AttrPar + ")"

// Seal closes a number for good, unless something stands there: it returns what stands there afterwards, which is the seal
// or whatever was there before it.
func (s *Store) Seal(ctx context.Context, m *dynamo.Meter, pid string, seq int64) (layout.Slot, error) {
	return s.close(ctx, m, pid, seq, s.Keys.EncodeSeal(pid, seq))
}

// Fence takes a number before the low mark is raised to low, unless something stands there: with expires as a tombstone, else
// as a seal. It returns what stands there afterwards.
func (s *Store) Fence(ctx context.Context, m *dynamo.Meter, pid string, seq, low, expires int64) (layout.Slot, error) {
	return s.close(ctx, m, pid, seq, s.Keys.EncodeFence(pid, seq, low, expires))
}

func (s *Store) close(ctx context.Context, m *dynamo.Meter, pid string, seq int64, item layout.Attributes) (layout.Slot, error) {
	if safeguard.SealListed && seq == 1 && !s.Shared() { // an id stays listed whose first number was sealed
		maps.Copy(item, s.Keys.IDsAttributes(pid, s.IDsShards))
	}
	switch err := s.Client.Put(ctx, m, dynamo.Put{Table: s.Table, Item: item, Condition: NotExists, Before: s.Before}); {
	case err == nil, errors.Is(err, dynamo.ErrConditionFailed) && !safeguard.SealMeets:
		return s.Keys.DecodeSlot(pid, seq/layout.PartitionSize, item)
	case !errors.Is(err, dynamo.ErrConditionFailed):
		return layout.Slot{}, fmt.Errorf("seal %d: %w", seq, err)
	default:
		return s.Standing(ctx, m, pid, seq, dynamo.OldItem(err))
	}
}

// Standing is what stands at a key where a condition failed: the item that the failure brought along, or where it brought
// none, the one that is read now.
func (s *Store) Standing(ctx context.Context, m *dynamo.Meter, pid string, seq int64, item layout.Attributes) (layout.Slot, error) {
	if item == nil {
		var err error
		if item, err = s.Client.Get(ctx, m, s.Table, s.Keys.Event(pid, seq).Attributes()); err != nil {
			return layout.Slot{}, fmt.Errorf("read %d: %w", seq, err)
		}
	}
	return s.standing(pid, seq, item)
}

// AllStanding is Standing for several numbers, each with the item that its failure brought along: those that brought none are
// read together.
func (s *Store) AllStanding(ctx context.Context, m *dynamo.Meter, pid string, met map[int64]layout.Attributes) (map[int64]layout.Slot, error) {
	items := map[layout.Key]layout.Attributes{}
	var missing []dynamo.Attributes
	for seq, item := range met {
		if items[s.Keys.Event(pid, seq)] = item; item == nil {
			missing = append(missing, s.Keys.Event(pid, seq).Attributes())
		}
	}
	if len(missing) > 0 {
		read, err := s.Client.BatchGet(ctx, m, s.Table, missing)
		if err != nil {
			return nil, fmt.Errorf("read %d numbers: %w", len(missing), err)
		}
		for _, item := range read {
			key, err := layout.DecodeKey(item)
			if err != nil {
				return nil, fmt.Errorf("table %q: %w", s.Table, err)
			}
			items[key] = item
		}
	}
	slots := make(map[int64]layout.Slot, len(met))
	for seq := range met {
		var err error
		if slots[seq], err = s.standing(pid, seq, items[s.Keys.Event(pid, seq)]); err != nil {
			return nil, err
		}
	}
	return slots, nil
}

// standing decodes the item of a number, nil if there is none.
func (s *Store) standing(pid string, seq int64, item layout.Attributes) (layout.Slot, error) {
	if item == nil { // removed between: by its number it was taken, by whom can't be known
		return layout.Slot{SequenceNr: seq}, nil
	}
	slot, err := s.Keys.DecodeSlot(pid, seq/layout.PartitionSize, item)
	if err != nil {
		return slot, fmt.Errorf("table %q: %w", s.Table, err)
	}
	return slot, nil
}

// partitionQuery asks for the numbers lo to hi, all of one partition.
func (s *Store) partitionQuery(pid string, lo, hi int64) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:              &s.Table,
		ConsistentRead:         aws.Bool(true),
		KeyConditionExpression: aws.String(layout.AttrPar + " = :p AND " + layout.AttrNum + " BETWEEN :lo AND :hi"),
		ExpressionAttributeValues: dynamo.Attributes{
			":p":  &types.AttributeValueMemberS{Value: s.Keys.Partition(pid, lo/layout.PartitionSize)},
			":lo": number(lo % layout.PartitionSize),
			":hi": number(hi % layout.PartitionSize),
		},
	}
}

// page reads one page of a partition query. reserved is that of dynamo.Client.QueryItems.
func (s *Store) page(
	ctx context.Context, m *dynamo.Meter, pid string, p int64, in *dynamodb.QueryInput, reserved bool,
) ([]layout.Slot, dynamo.Attributes, error) {
	if !s.Keys.PartitionFits(pid, p) {
		if reserved {
			s.Client.Release()
		}
		return nil, nil, nil
	}
	taken := slots{partition: s.Keys.Within(pid, p)}
	next, err := s.Client.QueryItems(ctx, m, in, &taken, reserved)
	if err != nil {
		return nil, nil, fmt.Errorf("read partition %d: %w", p, err)
	}
	if taken.err != nil {
		return nil, nil, fmt.Errorf("table %q: %w", s.Table, taken.err)
	}
	return taken.all, next, nil
}

// slots takes the items of a partition.
type slots struct {
	partition layout.Partition
	all       []layout.Slot
	// err is that of the first item that can't be read.
	err error
}

// Start begins a page.
func (t *slots) Start() { t.all, t.err = nil, nil }

// Take takes an item.
func (t *slots) Take(item dynamo.Item) {
	slot, err := t.partition.DecodeSlot(item)
	if t.err == nil {
		t.err = err
	}
	if t.all == nil { // many partitions are empty, or hold little less than they can
		t.all = make([]layout.Slot, 0, layout.PartitionSize)
	}
	t.all = append(t.all, slot)
}

// Partition reads what stands in a partition.
func (s *Store) Partition(ctx context.Context, m *dynamo.Meter, pid string, p int64) ([]layout.Slot, error) {
	first := p * layout.PartitionSize
	return s.Span(ctx, m, pid, max(first, 1), partitionEnd(first))
}

// Span reads the numbers lo to hi, all of one partition, page after page.
func (s *Store) Span(ctx context.Context, m *dynamo.Meter, pid string, lo, hi int64) ([]layout.Slot, error) {
	var all []layout.Slot
	for in := s.partitionQuery(pid, lo, hi); ; {
		slots, next, err := s.page(ctx, m, pid, lo/layout.PartitionSize, in, false)
		if err != nil {
			return nil, err
		}
		all = append(all, slots...)
		if next == nil {
			return all, nil
		}
		in.ExclusiveStartKey = next
	}
}

// Members reports whether every number from lo to hi holds a member of the batch. Those count as
// there that were deleted up to a tombstone which says that the deletion has cut the batch.
func (s *Store) Members(ctx context.Context, m *dynamo.Meter, pid string, b layout.Batch, lo, hi int64) (bool, error) {
	there := true
	for lo <= hi {
		end := min(partitionEnd(lo), hi)
		slots, err := s.Span(ctx, m, pid, lo, end)
		if err != nil {
			return false, err
		}
		events := false
		for _, slot := range slots {
			switch {
			case slot.Event == nil && slot.Cut == b && safeguard.TombstoneCut:
				there = true
			case slot.SequenceNr != lo, slot.Event == nil, safeguard.MembersOfBatch && slot.Event.Batch != b:
				there = false
			}
			events = events || slot.Event != nil
			lo = slot.SequenceNr + 1
		}
		there = there && lo == end+1
		if !there && (!s.Shared() || events || len(slots) == 0) { // no deletion has cut it
			return false, nil
		}
		lo = end + 1
	}
	return there, nil
}

// partitionEnd is the last number of the partition that holds seq; the last partition of all ends with the largest number.
func partitionEnd(seq int64) int64 {
	first := seq - seq%layout.PartitionSize
	if first > math.MaxInt64-(layout.PartitionSize-1) {
		return math.MaxInt64
	}
	return first + layout.PartitionSize - 1
}
