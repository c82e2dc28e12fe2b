package protocol

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Store reads and writes the items of a journal.
type Store struct {
	Client *dynamo.Client
	Table  string
	Keys   layout.Keys
	// IDsShards is the number of shards of the sparse ids index, or 0 in a shared journal.
	IDsShards int64
	// MaxBatchEvents is the maximum number of events of an atomic write, if it is more than the
	// default of 10,000.
	MaxBatchEvents int
	// Parallelism limits the partitions of one persistence id that are read ahead, and the writes
	// that are in flight at the same time.
	Parallelism int
	// Fresh returns a check that fails when reads after the call of Fresh are too old for a write.
	// If Fresh is nil, there is no limit.
	Fresh func() func() error
	// Before is called before every attempt to write, like the Before of a [dynamo.Put].
	Before func() error
	// OnLoss is called before an operation continues past a loss. lost is the error that the
	// operation would have returned otherwise. OnLoss may be nil.
	OnLoss func(ctx context.Context, pid string, lost error)
	// OnSeal is called after a number was sealed. It may be nil.
	OnSeal func(ctx context.Context, pid string, seq int64)
	// Go runs a function that reads ahead in a goroutine. The end of the journal waits for that
	// goroutine. If Go is nil, nothing waits for it.
	Go func(work func())
}

// While returns the store with another check of its writes.
func (s *Store) While(before func() error) *Store {
	while := *s
	while.Before = before
	return &while
}

// fresh returns a check for writes that rely on reads from now on.
func (s *Store) fresh() func() error {
	if s.Fresh == nil {
		return nil
	}
	return s.Fresh()
}

// lost reports a loss that an operation continues past.
func (s *Store) lost(ctx context.Context, pid string, lost error) {
	if s.OnLoss != nil {
		s.OnLoss(ctx, pid, lost)
	}
}

// sealed reports a number that was sealed.
func (s *Store) sealed(ctx context.Context, pid string, seq int64) {
	if s.OnSeal != nil {
		s.OnSeal(ctx, pid, seq)
	}
}

func (s *Store) start(work func()) {
	if s.Go == nil {
		go work()
		return
	}
	s.Go(work)
}

// ids returns the attributes that list a persistence id, or nil in a shared journal.
func (s *Store) ids(pid string) layout.Attributes {
	if s.Shared() {
		return nil
	}
	return s.Keys.IDsAttributes(pid, s.IDsShards)
}

// MetSlot returns the slot at a number where the condition of a put failed. item is the item that
// came with the failure. If it is nil, MetSlot reads the item.
func (s *Store) MetSlot(
	ctx context.Context, m *dynamo.Meter, pid string, seq int64, item layout.Attributes,
) (layout.Slot, error) {
	if item == nil {
		var err error
		if item, err = s.Client.Get(ctx, m, s.Table, s.Keys.Event(pid, seq).Attributes()); err != nil {
			return layout.Slot{}, fmt.Errorf("read %d: %w", seq, err)
		}
	}
	return s.decodeMet(pid, seq, item)
}

// MetSlots does the same as MetSlot for several numbers. Items that did not come with a failure are
// read together.
func (s *Store) MetSlots(
	ctx context.Context, m *dynamo.Meter, pid string, met map[int64]layout.Attributes,
) (map[int64]layout.Slot, error) {
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
		if slots[seq], err = s.decodeMet(pid, seq, items[s.Keys.Event(pid, seq)]); err != nil {
			return nil, err
		}
	}
	return slots, nil
}

// decodeMet decodes the item of a number. It is nil if nothing is stored there.
func (s *Store) decodeMet(pid string, seq int64, item layout.Attributes) (layout.Slot, error) {
	if item == nil { // removed since: the number was taken, by an unknown writer
		return layout.Slot{SequenceNr: seq}, nil
	}
	slot, err := s.Keys.DecodeSlot(pid, seq/layout.PartitionSize, item)
	if err != nil {
		return slot, fmt.Errorf("table %q: %w", s.Table, err)
	}
	return slot, nil
}

// partitionQuery returns the query of the numbers lo to hi, all of one partition.
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

// page reads one page of a partition query. slot is passed to [dynamo.Client.QueryItems].
func (s *Store) page(
	ctx context.Context, m *dynamo.Meter, pid string, p int64, in *dynamodb.QueryInput, slot dynamo.Slot,
) ([]layout.Slot, dynamo.Attributes, error) {
	if !s.Keys.PartitionFits(pid, p) {
		slot.Release()
		return nil, nil, nil
	}
	decoded := slotDecoder{partition: s.Keys.Within(pid, p)}
	next, err := s.Client.QueryItems(ctx, m, in, &decoded, slot)
	if err != nil {
		return nil, nil, fmt.Errorf("read partition %d: %w", p, err)
	}
	if decoded.err != nil {
		return nil, nil, fmt.Errorf("table %q: %w", s.Table, decoded.err)
	}
	return decoded.all, next, nil
}

// slotDecoder decodes the items of a partition.
type slotDecoder struct {
	partition layout.Partition
	all       []layout.Slot
	// err is the error of the first item that can't be read.
	err error
}

// Start starts a page.
func (t *slotDecoder) Start() { t.all, t.err = nil, nil }

// Take decodes an item.
func (t *slotDecoder) Take(item dynamo.Item) {
	slot, err := t.partition.DecodeSlot(item)
	if t.err == nil {
		t.err = err
	}
	if t.all == nil { // many partitions are empty, or nearly full
		t.all = slotPages.Get().(*slotPage)[:0] //nolint:forcetypeassert // the pool has nothing else
	}
	t.all = append(t.all, slot)
}

// slotPage is the memory for the slots of a partition.
type slotPage [layout.PartitionSize]layout.Slot

// slotPages has the memory of pages that a replay has copied. A slot takes a third of the memory of
// the event itself.
var slotPages = sync.Pool{New: func() any { return new(slotPage) }}

// releaseSlots makes the memory of a page available to others. The caller must not use it any more.
func releaseSlots(slots []layout.Slot) {
	clear(slots) // the pool must not keep events
	if cap(slots) == layout.PartitionSize {
		slotPages.Put((*slotPage)(slots[:layout.PartitionSize]))
	}
}

// Partition reads the slots of a partition.
func (s *Store) Partition(ctx context.Context, m *dynamo.Meter, pid string, p int64) ([]layout.Slot, error) {
	first := p * layout.PartitionSize
	return s.Span(ctx, m, pid, max(first, 1), partitionEnd(first))
}

// Span reads the numbers lo to hi, all of one partition, page by page.
func (s *Store) Span(ctx context.Context, m *dynamo.Meter, pid string, lo, hi int64) ([]layout.Slot, error) {
	var all []layout.Slot
	for in := s.partitionQuery(pid, lo, hi); ; {
		slots, next, err := s.page(ctx, m, pid, lo/layout.PartitionSize, in, dynamo.Slot{})
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

// Members reports whether a member of the batch is stored at every number from lo to hi. Deleted
// numbers up to a tombstone that names the batch as cut count as members.
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
			case slot.Event == nil && slot.Cut() == b:
				there = true
			case slot.SequenceNr != lo, slot.Event == nil, slot.Event.Batch != b:
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

// eachOf calls emit with the items of a partition query, page by page.
func (s *Store) eachOf(
	ctx context.Context, m *dynamo.Meter, p int64, in *dynamodb.QueryInput, emit func(layout.Attributes) error,
) error {
	for {
		page, err := s.Client.Query(ctx, m, in)
		if err != nil {
			return fmt.Errorf("read partition %d: %w", p, err)
		}
		for _, item := range page.Items {
			if err := emit(item); err != nil {
				return err
			}
		}
		if page.Next == nil {
			return nil
		}
		in.ExclusiveStartKey = page.Next
	}
}

// partitionEnd returns the last number of the partition of seq. The very last partition ends with
// the largest number.
func partitionEnd(seq int64) int64 {
	first := seq - seq%layout.PartitionSize
	if first > math.MaxInt64-(layout.PartitionSize-1) {
		return math.MaxInt64
	}
	return first + layout.PartitionSize - 1
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
