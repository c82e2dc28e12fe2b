package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// MarkMovesUp is the condition under which a mark with value :v is put: it never goes down, whatever comes late. A mark that
// is to expire, of a purged id, may be put anew as it is.
const MarkMovesUp = "attribute_not_exists(" + layout.AttrPar + ") OR " + layout.AttrSeq + " < :v OR (" +
	layout.AttrSeq + " = :v AND attribute_exists(" + layout.AttrExpires + "))"

// RaiseHighMark puts the high mark that a sequence number needs. One that is already higher is as good. before is that of
// dynamo.Put, nil for the store's own.
func (s *Store) RaiseHighMark(ctx context.Context, m *dynamo.Meter, pid string, seq int64, before func() error) error {
	if before == nil {
		before = s.Before
	}
	item := s.Keys.EncodeHighMark(pid, layout.HighestBlock(seq), 0)
	put := dynamo.Put{Table: s.Table, Item: item, Before: before}
	return s.putIf(ctx, m, put, MarkMovesUp, map[string]types.AttributeValue{":v": item[layout.AttrSeq]})
}

// ids are the attributes that list a persistence id, nil in a shared journal.
func (s *Store) ids(pid string) layout.Attributes {
	if s.IDsShards == 0 {
		return nil
	}
	return s.Keys.IDsAttributes(pid, s.IDsShards)
}

// RaiseLowMark puts a low mark that does not expire, unless one as high stands there.
func (s *Store) RaiseLowMark(ctx context.Context, m *dynamo.Meter, pid string, low layout.LowMark) error {
	item := s.Keys.EncodeLowMark(pid, low, s.ids(pid), 0)
	return s.putIf(ctx, m, dynamo.Put{Table: s.Table, Item: item, Before: s.Before}, MarkMovesUp, map[string]types.AttributeValue{":v": item[layout.AttrSeq]})
}

// RenewLowMark puts a low mark of a purged id anew, without its expiry. It says false if the mark does not stand there any more:
// it has vanished, or was moved.
func (s *Store) RenewLowMark(ctx context.Context, m *dynamo.Meter, pid string, low layout.LowMark) (bool, error) {
	item := s.Keys.EncodeLowMark(pid, low, s.ids(pid), 0)
	put := dynamo.Put{Table: s.Table, Item: item, Before: s.Before, Values: dynamo.Attributes{":v": item[layout.AttrSeq]}}
	put.Condition = layout.AttrSeq + " = :v AND attribute_exists(" + layout.AttrExpires + ")"
	err := s.Client.Put(ctx, m, put)
	if err == nil || !errors.Is(err, dynamo.ErrConditionFailed) {
		return err == nil, err
	}
	marks, err := s.LowMark(ctx, m, pid) // an earlier try may have put it, or another writer
	return marks.Low.Seq == low.Seq && marks.Low.Cut == low.Cut && !marks.Expiring, err
}

// Hold makes the tombstone that stands in a slot stay for good, as a fence that says to what the low mark is going to be raised.
// It says false if the tombstone has vanished, or somebody else has put something there.
func (s *Store) Hold(ctx context.Context, m *dynamo.Meter, pid string, slot layout.Slot, low int64) (bool, error) {
	err := s.Client.Put(ctx, m, dynamo.Put{
		Table:     s.Table,
		Item:      s.Keys.EncodeFence(pid, slot.SequenceNr, low, 0),
		Before:    s.Before,
		Condition: layout.AttrExpires + " = :expires",
		Values:    dynamo.Attributes{":expires": &types.AttributeValueMemberN{Value: strconv.FormatInt(slot.Expires, 10)}},
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return false, nil
	}
	return err == nil, err
}

// Entomb puts a tombstone at a number below the low mark.
func (s *Store) Entomb(ctx context.Context, m *dynamo.Meter, pid string, seq, expires int64) error {
	return s.Client.Put(ctx, m, dynamo.Put{Table: s.Table, Item: s.Keys.EncodeTombstone(pid, seq, expires), Before: s.Before})
}

// SealMember turns an event of a batch that can't be completed any more into a seal, if it still stands there.
func (s *Store) SealMember(ctx context.Context, m *dynamo.Meter, e *layout.Event) error {
	item := s.Keys.EncodeSeal(e.PersistenceID, e.SequenceNr)
	if e.SequenceNr == 1 && s.IDsShards > 0 {
		maps.Copy(item, s.Keys.IDsAttributes(e.PersistenceID, s.IDsShards))
	}
	stored, writer := s.Keys.EncodeEvent(e), layout.AttrWriterUUID
	if e.Enveloped {
		// The writer stands in the envelope, which another program may serialize in another way: it is compared as it stands.
		writer = layout.AttrPay
		there, err := s.Client.Get(ctx, m, s.Table, s.Keys.Event(e.PersistenceID, e.SequenceNr).Attributes())
		if err != nil || there == nil {
			return err
		}
		slot, err := s.Keys.DecodeSlot(e.PersistenceID, e.SequenceNr/layout.PartitionSize, there)
		if err != nil || !layout.SameEvent(slot, e) {
			return err
		}
		stored = there
	}
	condition := layout.AttrIdx + " = :idx AND " + layout.AttrCnt + " = :cnt AND " + writer + " = :writer"
	return s.putIf(ctx, m, dynamo.Put{Table: s.Table, Item: item, Before: s.Before}, condition, map[string]types.AttributeValue{
		":idx":    stored[layout.AttrIdx],
		":cnt":    stored[layout.AttrCnt],
		":writer": stored[writer],
	})
}

// putIf puts an item if its condition holds. Otherwise nothing is to be done.
func (s *Store) putIf(ctx context.Context, m *dynamo.Meter, put dynamo.Put, condition string, values dynamo.Attributes) error {
	if safeguard.MarksRise {
		put.Condition, put.Values = condition, values
	}
	err := s.Client.Put(ctx, m, put)
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return nil
	}
	return err
}

// RemoveExpired removes a tombstone that expired before now.
func (s *Store) RemoveExpired(ctx context.Context, m *dynamo.Meter, pid string, seq, now int64) error {
	err := s.Client.Remove(ctx, m, dynamo.Put{
		Table:     s.Table,
		Item:      s.Keys.Event(pid, seq).Attributes(),
		Before:    s.Before,
		Condition: layout.AttrExpires + " < :now",
		Values:    dynamo.Attributes{":now": &types.AttributeValueMemberN{Value: strconv.FormatInt(now, 10)}},
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return nil
	}
	return err
}

// Listed says whether the sparse ids index has an entry of the persistence id.
func (s *Store) Listed(ctx context.Context, m *dynamo.Meter, pid string) (bool, error) {
	ids := s.Keys.IDsAttributes(pid, s.IDsShards)
	page, err := s.Client.Query(ctx, m, &dynamodb.QueryInput{
		TableName:              &s.Table,
		IndexName:              aws.String(layout.NativeIDsIndex),
		KeyConditionExpression: aws.String(layout.AttrIDsShard + " = :shard AND " + layout.AttrIDsKey + " = :key"),
		Limit:                  aws.Int32(1),
		ExpressionAttributeValues: dynamo.Attributes{
			":shard": ids[layout.AttrIDsShard],
			":key":   ids[layout.AttrIDsKey],
		},
	})
	if err != nil {
		return false, err
	}
	return len(page.Items) > 0, nil
}

// EnterID enters a persistence id into the sparse ids index: by its low mark if it has one, else by what stands at its first
// number, which is sealed if nothing does.
func (s *Store) EnterID(ctx context.Context, m *dynamo.Meter, pid string, low layout.LowMark) error {
	ids := s.Keys.IDsAttributes(pid, s.IDsShards)
	if low.Seq > 0 {
		item := s.Keys.EncodeLowMark(pid, low, ids, 0)
		return s.putIf(ctx, m, dynamo.Put{Table: s.Table, Item: item, Before: s.Before}, layout.AttrSeq+" = :v", dynamo.Attributes{":v": item[layout.AttrSeq]})
	}
	if _, err := s.Seal(ctx, m, pid, 1); err != nil {
		return err
	}
	return s.Client.SetAttributes(ctx, m, s.Table, s.Keys.Event(pid, 1).Attributes(), ids)
}

// EachItem gives what stands in a partition to emit, item by item, with the error of one that can't be read.
func (s *Store) EachItem(ctx context.Context, m *dynamo.Meter, pid string, p int64, emit func(layout.Slot, error) error) error {
	return s.eachStored(ctx, m, pid, p, func(item layout.Attributes) error { return emit(s.Keys.DecodeSlot(pid, p, item)) })
}

func (s *Store) eachStored(ctx context.Context, m *dynamo.Meter, pid string, p int64, emit func(layout.Attributes) error) error {
	first := p * layout.PartitionSize
	for in := s.partitionQuery(pid, max(first, 1), partitionEnd(first)); ; {
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

// Unwrap gives the enveloped events of a partition today's form, each only if it still is what was read. done is told of each
// such event: nil if it has today's form now, else why it was left as it is. It reports whether the partition holds anything.
func (s *Store) Unwrap(ctx context.Context, m *dynamo.Meter, pid string, p int64, done func(seq int64, left error) error) (bool, error) {
	there := false
	err := s.eachStored(ctx, m, pid, p, func(item layout.Attributes) error {
		there = true
		seq, split, err := s.Keys.Unwrap(pid, p, item)
		if err != nil || split == nil {
			if err != nil {
				err = done(seq, err)
			}
			return err
		}
		err = s.Client.Put(ctx, m, dynamo.Put{
			Table:     s.Table,
			Item:      split,
			Condition: layout.AttrPay + " = :pay AND attribute_not_exists(" + layout.AttrEvent + ")",
			Values:    layout.Attributes{":pay": item[layout.AttrPay]},
		})
		if errors.Is(err, dynamo.ErrConditionFailed) { // deleted or unwrapped meanwhile
			return nil
		}
		if err != nil {
			return fmt.Errorf("unwrap %d: %w", seq, err)
		}
		return done(seq, nil)
	})
	return there, err
}
