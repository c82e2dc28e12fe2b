package protocol

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Stored returns the item of a number as it is stored, or nil.
func (s *Store) Stored(ctx context.Context, m *dynamo.Meter, pid string, seq int64) (layout.Attributes, error) {
	return s.Client.Get(ctx, m, s.Table, s.Keys.Event(pid, seq).Attributes())
}

// ReplaceWithTombstone replaces an item by a tombstone, if it still equals stored. It reports
// whether it did.
func (s *Store) ReplaceWithTombstone(
	ctx context.Context, m *dynamo.Meter, pid string, seq, expires int64, stored layout.Attributes,
) (bool, error) {
	return s.replaceUnchanged(ctx, m, s.Keys.EncodeTombstone(pid, seq, expires), stored)
}

// ReplaceWithSeal replaces an item by a seal with the same entry in the ids index, if the item
// still equals stored. It reports whether it did.
func (s *Store) ReplaceWithSeal(
	ctx context.Context, m *dynamo.Meter, pid string, seq int64, stored layout.Attributes,
) (bool, error) {
	seal := s.Keys.EncodeSeal(pid, seq)
	for _, name := range []string{layout.AttrIDsShard, layout.AttrIDsKey} {
		if v, ok := stored[name]; ok {
			seal[name] = v
		}
	}
	return s.replaceUnchanged(ctx, m, seal, stored)
}

// replaceUnchanged replaces an item under the condition that every attribute of stored is still the
// same.
func (s *Store) replaceUnchanged(ctx context.Context, m *dynamo.Meter, item, stored layout.Attributes) (bool, error) {
	put := unchanged(stored)
	put.Table, put.Item, put.Before = s.Table, item, s.Before
	err := s.Client.Put(ctx, m, put)
	if !errors.Is(err, dynamo.ErrConditionFailed) {
		return err == nil, err
	}
	key, err := layout.DecodeKey(item)
	if err != nil {
		return false, err
	}
	now, err := s.Client.Get(ctx, m, s.Table, key.Attributes())
	// An earlier attempt whose response was lost may have put it.
	return reflect.DeepEqual(now, item), err
}

// RemoveUnchanged removes the item of a number, if it still equals stored. It reports whether it
// did.
func (s *Store) RemoveUnchanged(
	ctx context.Context, m *dynamo.Meter, pid string, seq int64, stored layout.Attributes,
) (bool, error) {
	same := unchanged(stored)
	err := s.Client.Delete(ctx, m, dynamo.Delete{
		Table:     s.Table,
		Key:       s.Keys.Event(pid, seq).Attributes(),
		Condition: same.Condition,
		Names:     same.Names,
		Values:    same.Values,
		Before:    s.Before,
	})
	if !errors.Is(err, dynamo.ErrConditionFailed) {
		return err == nil, err
	}
	now, err := s.Stored(ctx, m, pid, seq)
	// An earlier attempt whose response was lost may have removed it.
	return now == nil && err == nil, err
}

// unchanged returns a put under the condition that every attribute of stored is still the same.
func unchanged(stored layout.Attributes) dynamo.Put {
	put := dynamo.Put{Names: map[string]string{}, Values: dynamo.Attributes{}}
	var same []string
	for i, name := range slices.Sorted(maps.Keys(stored)) {
		at := strconv.Itoa(i)
		put.Names["#n"+at], put.Values[":v"+at] = name, stored[name]
		same = append(same, "#n"+at+" = :v"+at)
	}
	put.Condition = strings.Join(same, " AND ")
	return put
}

// RemoveExpired removes a tombstone that expired before now. It reports whether there was one.
func (s *Store) RemoveExpired(ctx context.Context, m *dynamo.Meter, pid string, seq, now int64) (bool, error) {
	expired := " < :now"
	err := s.Client.Delete(ctx, m, dynamo.Delete{
		Table:  s.Table,
		Key:    s.Keys.Event(pid, seq).Attributes(),
		Before: s.Before,
		Condition: layout.AttrExpires + expired +
			" AND attribute_not_exists(" + layout.AttrEvent + ") AND attribute_not_exists(" + layout.AttrPay + ")",
		Values: dynamo.Attributes{":now": number(now)},
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return false, nil
	}
	return err == nil, err
}

// Listed reports whether a persistence id is in the sparse ids index, or will be when the index has
// caught up with the table. low is its low mark.
func (s *Store) Listed(ctx context.Context, m *dynamo.Meter, pid string, low layout.LowMark) (bool, error) {
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
	if err != nil || len(page.Items) > 0 {
		return err == nil, err
	}
	item, err := s.Client.Get(ctx, m, s.Table, s.listing(pid, low).Attributes())
	if err != nil || item == nil {
		return false, err
	}
	return reflect.DeepEqual(item[layout.AttrIDsShard], ids[layout.AttrIDsShard]) &&
		reflect.DeepEqual(item[layout.AttrIDsKey], ids[layout.AttrIDsKey]), nil
}

// listing returns the key of the item that lists a persistence id: its low mark if something of the
// present life is deleted, otherwise the item of the life's first number.
func (s *Store) listing(pid string, low layout.LowMark) layout.Key {
	if low.Unused() {
		return s.Keys.Event(pid, low.Purged+1)
	}
	return s.Keys.LowMarkItem(pid, low)
}

// EnterID adds a persistence id to the sparse ids index: by its low mark if something of the
// present life is deleted, otherwise by the item of the life's first number, which is sealed if it
// is missing. Other attributes of the item stay: a JVM's low mark is read by other rules than ours.
// EnterID reports whether it has changed anything.
func (s *Store) EnterID(ctx context.Context, m *dynamo.Meter, pid string, low layout.LowMark) (bool, error) {
	ids := s.Keys.IDsAttributes(pid, s.IDsShards)
	values := dynamo.Attributes{":shard": ids[layout.AttrIDsShard], ":key": ids[layout.AttrIDsKey]}
	condition := Exists
	if !low.Unused() {
		condition = layout.AttrSeq + " = :low"
		values[":low"] = number(low.JVMSeq())
	} else {
		seal := s.Keys.EncodeSeal(pid, low.Purged+1)
		err := s.Client.Put(ctx, m, dynamo.Put{Table: s.Table, Item: seal, Condition: NotExists, Before: s.Before})
		if err != nil && !errors.Is(err, dynamo.ErrConditionFailed) {
			return false, fmt.Errorf("seal %d: %w", low.Purged+1, err)
		}
	}
	_, err := s.Client.Update(ctx, m, dynamo.Update{
		Table:      s.Table,
		Key:        s.listing(pid, low).Attributes(),
		Expression: "SET " + layout.AttrIDsShard + " = :shard, " + layout.AttrIDsKey + " = :key",
		Condition:  condition,
		Values:     values,
	})
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return false, nil
	}
	return err == nil, err
}

// EachStored calls emit with every item of a partition as it is stored, in the order of their
// numbers, including items that no reader asks for.
func (s *Store) EachStored(
	ctx context.Context, m *dynamo.Meter, pid string, p int64, emit func(layout.Attributes) error,
) error {
	if !s.Keys.PartitionFits(pid, p) {
		return nil
	}
	partition := &types.AttributeValueMemberS{Value: s.Keys.Partition(pid, p)}
	return s.eachOf(ctx, m, p, &dynamodb.QueryInput{
		TableName:                 &s.Table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String(layout.AttrPar + " = :p"),
		ExpressionAttributeValues: dynamo.Attributes{":p": partition},
	}, emit)
}
