package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// Marks reads all marks of a persistence id, in one request if they fit.
func (s *Store) Marks(ctx context.Context, m *dynamo.Meter, pid string) (layout.Marks, error) {
	return s.marks(ctx, m, pid, append(s.Keys.HighMarks(pid), s.Keys.LowMarks(pid)...))
}

// LowMark reads only the low marks of a persistence id.
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
	marks, err := s.Keys.DecodeMarks(pid, items, s.LeftoverBefore())
	if err != nil {
		return layout.Marks{}, fmt.Errorf("table %q: %w", s.Table, err)
	}
	return marks, nil
}

// MarkCondition is a condition on a stored mark.
type MarkCondition struct {
	expression string
	values     dynamo.Attributes
}

// on returns put with the condition.
func (c MarkCondition) on(put dynamo.Put) dynamo.Put {
	put.Condition, put.Values = c.expression, c.values
	return put
}

// HighMarkRises is the condition that a high mark is raised. A mark of a purged id, which expires,
// may be put again with the same value, and with a lower one if it expired before a time, in
// seconds since 1970.
func HighMarkRises(seq, expired int64) MarkCondition {
	return MarkCondition{
		NotExists + " OR " + layout.AttrSeq + " < :seq OR " +
			"(" + layout.AttrSeq + " = :seq AND " + expiring + ") OR " + layout.AttrExpires + " < :expired",
		dynamo.Attributes{":seq": number(seq), ":expired": number(expired)},
	}
}

// HighMarkStays is the condition that a high mark is stored with this value.
func HighMarkStays(seq int64) MarkCondition {
	return MarkCondition{layout.AttrSeq + " = :seq", dynamo.Attributes{":seq": number(seq)}}
}

// LowMarkRises is the condition that a low mark is raised: neither of its values becomes lower, and
// the one that counts becomes higher. A mark of a purged id, which expires, may be put again with
// the same values.
func LowMarkRises(low layout.LowMark) MarkCondition {
	const rises = NotExists + " OR " +
		"(" + layout.AttrSeq + " <= :seq AND (" +
		"attribute_not_exists(" + layout.AttrLow + ") AND " + layout.AttrSeq + " < :low OR " +
		layout.AttrLow + " < :low)) OR " +
		"(" + layout.AttrSeq + " = :low AND " + expiring + ")"
	return MarkCondition{rises, dynamo.Attributes{":seq": number(low.JVMSeq()), ":low": number(low.Seq)}}
}

// LowMarkStays is the condition that a low mark is stored with these values.
func LowMarkStays(low layout.LowMark) MarkCondition {
	if low.Ahead == 0 {
		return MarkCondition{
			layout.AttrSeq + " = :seq AND attribute_not_exists(" + layout.AttrLow + ")",
			dynamo.Attributes{":seq": number(low.Seq)},
		}
	}
	return MarkCondition{
		layout.AttrSeq + " = :seq AND " + layout.AttrLow + " = :low",
		dynamo.Attributes{":seq": number(low.JVMSeq()), ":low": number(low.Seq)},
	}
}

// LowMarkExpires is the condition that a low mark is stored with these values and expires: nobody
// uses the purged id again.
func LowMarkExpires(low layout.LowMark) MarkCondition {
	c := LowMarkStays(low)
	c.expression += " AND " + expiring
	return c
}

const expiring = "attribute_exists(" + layout.AttrExpires + ")"

// ErrMarkMoved reports that the condition on a mark did not hold: it is already as high, or higher.
var ErrMarkMoved = errors.New("the mark is already as high")

// PutMark puts the item of a mark. before is that of [dynamo.Put]. If the condition does not hold,
// PutMark returns ErrMarkMoved.
func (s *Store) PutMark(
	ctx context.Context, m *dynamo.Meter, item layout.Attributes, condition MarkCondition, before func() error,
) error {
	err := s.Client.Put(ctx, m, condition.on(dynamo.Put{Table: s.Table, Item: item, Before: before}))
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return ErrMarkMoved
	}
	return err
}

// RaiseHighMark puts the high mark that a sequence number needs, unless a higher one is stored.
// before is that of [dynamo.Put], or nil for the store's own.
func (s *Store) RaiseHighMark(ctx context.Context, m *dynamo.Meter, pid string, seq int64, before func() error) error {
	if before == nil {
		before = s.Before
	}
	mark := layout.HighestBlock(seq)
	return ignoreMoved(s.PutMark(ctx, m, s.Keys.EncodeHighMark(pid, mark, 0), HighMarkRises(mark, s.LeftoverBefore()), before))
}

// RaiseLowMark puts a low mark that does not expire, unless one as high is stored.
func (s *Store) RaiseLowMark(ctx context.Context, m *dynamo.Meter, pid string, low layout.LowMark) error {
	return ignoreMoved(s.PutMark(ctx, m, s.Keys.EncodeLowMark(pid, low, s.ids(pid), 0), LowMarkRises(low), s.Before))
}

func ignoreMoved(err error) error {
	if errors.Is(err, ErrMarkMoved) {
		return nil
	}
	return err
}

// RenewLowMark puts a low mark of a purged id again, without an expiry. It reports whether the mark
// is still stored: it may have expired, or may have been raised.
func (s *Store) RenewLowMark(ctx context.Context, m *dynamo.Meter, pid string, low layout.LowMark) (bool, error) {
	err := s.PutMark(ctx, m, s.Keys.EncodeLowMark(pid, low, s.ids(pid), 0), LowMarkExpires(low), s.Before)
	if err == nil || !errors.Is(err, ErrMarkMoved) {
		return err == nil, err
	}
	marks, err := s.LowMark(ctx, m, pid) // an earlier attempt or another writer may have put it
	return marks.Low.Seq == low.Seq && marks.Low.Cut == low.Cut && !marks.Expiring, err
}
