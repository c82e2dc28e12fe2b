package protocol

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// DurableMarks reads all marks of a persistence id for a program that writes after them. If an
// earlier version has put the low mark with an expiry, DurableMarks first puts it without one: if
// it vanished, its numbers would be used again.
func (s *Store) DurableMarks(ctx context.Context, m *dynamo.Meter, pid string) (layout.Marks, error) {
	for {
		marks, err := s.Marks(ctx, m, pid)
		if err != nil || !marks.Expiring {
			return marks, err
		}
		if err := s.removeLowMarkExpiry(ctx, m, pid, marks.Low); err != nil {
			return marks, fmt.Errorf("remove the expiry of a low mark: %w", err)
		}
	}
}

// Marks reads all marks of a persistence id, in one request if they fit.
func (s *Store) Marks(ctx context.Context, m *dynamo.Meter, pid string) (layout.Marks, error) {
	return s.marks(ctx, m, pid, append(s.Keys.HighMarks(pid), s.Keys.LowMarks(pid)...))
}

// LowMark reads only the low marks of a persistence id.
func (s *Store) LowMark(ctx context.Context, m *dynamo.Meter, pid string) (layout.Marks, error) {
	return s.marks(ctx, m, pid, s.Keys.LowMarks(pid))
}

// marks reads the marks at keys.
func (s *Store) marks(ctx context.Context, m *dynamo.Meter, pid string, keys []layout.Key) (layout.Marks, error) {
	wanted := make([]dynamo.Attributes, len(keys))
	for i, k := range keys {
		wanted[i] = k.Attributes()
	}
	items, err := s.Client.BatchGet(ctx, m, s.Table, wanted)
	if err != nil {
		return layout.Marks{}, fmt.Errorf("read the marks: %w", err)
	}
	return s.DecodeMarks(pid, items)
}

// marksAndItem reads the marks at keys, and the item of a number, in one request. The item is nil
// if nothing is stored there, or the number is 0.
func (s *Store) marksAndItem(
	ctx context.Context, m *dynamo.Meter, pid string, keys []layout.Key, seq int64,
) (layout.Marks, layout.Attributes, error) {
	var wanted []dynamo.Attributes
	if seq > 0 {
		wanted = append(wanted, s.Keys.Event(pid, seq).Attributes())
	}
	for _, key := range keys {
		wanted = append(wanted, key.Attributes())
	}
	items, err := s.Client.BatchGet(ctx, m, s.Table, wanted)
	if err != nil {
		return layout.Marks{}, nil, fmt.Errorf("read the low marks around %d: %w", seq, err)
	}
	var item layout.Attributes
	items = slices.DeleteFunc(items, func(found layout.Attributes) bool {
		if layout.IsLowMark(found) {
			return false
		}
		item = found
		return true
	})
	marks, err := s.DecodeMarks(pid, items)
	return marks, item, err
}

// DecodeMarks decodes marks. In a shared journal it ignores purges and expiries.
func (s *Store) DecodeMarks(pid string, items []layout.Attributes) (layout.Marks, error) {
	marks, err := s.Keys.DecodeMarks(pid, items)
	if err != nil {
		return layout.Marks{}, fmt.Errorf("table %q: %w", s.Table, err)
	}
	if s.Shared() { // there a purge leaves no low mark, and one that expires is not of a purge
		marks.Low.Purged, marks.Expiring = 0, false
	}
	return marks, nil
}

// Leads returns the block to which the marks of a persistence id lead. In a native journal the low
// mark leads to its block as a high mark does: after a purge it may be the only mark.
func (s *Store) Leads(marks layout.Marks) int64 {
	if s.Shared() {
		return marks.High
	}
	return max(marks.High, layout.HighestBlock(max(marks.Low.Seq-1, 0)))
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

// HighMarkRises is the condition that a high mark is raised. A mark that an earlier version lets
// expire is replaced by any other.
func HighMarkRises(seq int64) MarkCondition {
	return MarkCondition{
		NotExists + " OR " + layout.AttrSeq + " < :seq OR " + expiring,
		dynamo.Attributes{":seq": number(seq)},
	}
}

// LowMarkRises is the condition that a low mark is raised: neither of its values becomes lower, and
// the value that counts becomes higher.
func LowMarkRises(low layout.LowMark) MarkCondition {
	const rises = NotExists + " OR " +
		"(" + layout.AttrSeq + " <= :seq AND (" +
		"attribute_not_exists(" + layout.AttrLow + ") AND " + layout.AttrSeq + " < :low OR " +
		layout.AttrLow + " < :low))"
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

// LowMarkReplaces is the condition that the low mark of a native journal is still the one that was
// read. The zero low mark means that the item may be missing.
func LowMarkReplaces(read layout.LowMark) MarkCondition {
	c := MarkCondition{layout.AttrSeq + " = :seq", dynamo.Attributes{":seq": number(read.JVMSeq())}}
	if read.Seq == 0 {
		c.expression += " OR " + NotExists
	}
	return c
}

const expiring = "attribute_exists(" + layout.AttrExpires + ")"

// ErrMarkMoved reports that the condition on a mark has failed: the mark is already as high, or
// higher.
var ErrMarkMoved = errors.New("the mark is already as high")

// PutMark puts the item of a mark. before is the Before of the [dynamo.Put]. If the condition
// fails, PutMark returns ErrMarkMoved.
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
// before is the Before of the [dynamo.Put]. If it is nil, the store's Before is used.
func (s *Store) RaiseHighMark(ctx context.Context, m *dynamo.Meter, pid string, seq int64, before func() error) error {
	if before == nil {
		before = s.Before
	}
	mark := layout.HighestBlock(seq)
	return ignoreMoved(s.PutMark(ctx, m, s.Keys.EncodeHighMark(pid, mark), HighMarkRises(mark), before))
}

// encodeLowMark returns the item of a low mark. It lists the persistence id if something of its
// present life is deleted: then the life's first event may not be stored any more.
func (s *Store) encodeLowMark(pid string, low layout.LowMark) layout.Attributes {
	var ids layout.Attributes
	if !low.Unused() {
		ids = s.ids(pid)
	}
	return s.Keys.EncodeLowMark(pid, low, ids)
}

// RaiseLowMark puts a low mark, unless one as high is stored.
func (s *Store) RaiseLowMark(ctx context.Context, m *dynamo.Meter, pid string, low layout.LowMark) error {
	return ignoreMoved(s.PutMark(ctx, m, s.encodeLowMark(pid, low), LowMarkRises(low), s.Before))
}

func ignoreMoved(err error) error {
	if errors.Is(err, ErrMarkMoved) {
		return nil
	}
	return err
}

// removeLowMarkExpiry removes the expiry of a low mark that an earlier version has put. If the mark
// has vanished or moved meanwhile, nothing changes.
func (s *Store) removeLowMarkExpiry(ctx context.Context, m *dynamo.Meter, pid string, low layout.LowMark) error {
	still := LowMarkReplaces(low)
	still.expression += " AND " + expiring
	return ignoreMoved(s.PutMark(ctx, m, s.encodeLowMark(pid, low), still, s.Before))
}
