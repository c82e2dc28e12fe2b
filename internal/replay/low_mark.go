package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// The item of a low mark has two values: `seq`, which a JVM reads, and `low`, which only this
// project reads and which is stored where it differs. In a native journal they are the same.
//
// In a shared journal tombstones and seals stay in the block of the highest sequence number. A JVM
// takes the last item of that block for its highest number, and removes only what is at or above
// the low mark that it reads. So `seq` is never raised beyond the first number of that block: what
// this project leaves in it a JVM removes with its own next deletion, and then finds the highest
// number by its own low mark.

// Shared reports whether a JVM may write to the journal.
func (s *Store) Shared() bool { return s.IDsShards == 0 }

// LowMarkAt returns a low mark as it is put, where no number above highest is known to be taken,
// and marks are those that were read last.
func (s *Store) LowMarkAt(low layout.LowMark, marks layout.Marks, highest int64) layout.LowMark {
	low.Ahead = 0
	if s.Shared() && safeguard.JVMLowKept {
		low.Ahead = max(low.Seq-max(marks.JVMLow, layout.HighestBlock(max(highest, low.Seq-1))), 0)
	}
	return low
}

// MarkCondition is a condition on how a mark is stored.
type MarkCondition struct {
	expression string
	values     dynamo.Attributes
}

// on returns a put with the condition.
func (c MarkCondition) on(put dynamo.Put) dynamo.Put {
	if safeguard.MarksRise {
		put.Condition, put.Values = c.expression, c.values
	}
	return put
}

// HighMarkRises is the condition that a high mark goes up. One that is to expire, of a purged id,
// may be put anew as it is.
func HighMarkRises(seq int64) MarkCondition {
	return MarkCondition{
		"attribute_not_exists(" + layout.AttrPar + ") OR " + layout.AttrSeq + " < :seq OR (" + layout.AttrSeq + " = :seq AND " + expiring + ")",
		dynamo.Attributes{":seq": number(seq)},
	}
}

// HighMarkStays is the condition that a high mark is stored as it is given here.
func HighMarkStays(seq int64) MarkCondition {
	return MarkCondition{layout.AttrSeq + " = :seq", dynamo.Attributes{":seq": number(seq)}}
}

// LowMarkRises is the condition that a low mark goes up: that neither of its values goes down, and
// the one that counts goes up. One that is to expire, of a purged id, may be put anew as it is.
func LowMarkRises(low layout.LowMark) MarkCondition {
	const rises = "attribute_not_exists(" + layout.AttrPar + ") OR " +
		"(" + layout.AttrSeq + " <= :seq AND (" +
		"attribute_not_exists(" + layout.AttrLow + ") AND " + layout.AttrSeq + " < :low OR " + layout.AttrLow + " < :low)) OR " +
		"(" + layout.AttrSeq + " = :low AND " + expiring + ")"
	return MarkCondition{rises, dynamo.Attributes{":seq": number(low.JVMSeq()), ":low": number(low.Seq)}}
}

// LowMarkStays is the condition that a low mark is stored with the values that are given here.
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

// LowMarkExpires is the condition that a low mark is stored with the values that are given here,
// and is to expire: nobody has begun to use the purged id again.
func LowMarkExpires(low layout.LowMark) MarkCondition {
	c := LowMarkStays(low)
	c.expression += " AND " + expiring
	return c
}

const expiring = "attribute_exists(" + layout.AttrExpires + ")"

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// ErrMarkMoved says that a mark is not stored as its condition says: it is already where it was to
// be moved, or beyond.
var ErrMarkMoved = errors.New("the mark is as high already")

// PutMark puts a mark's item. before is that of dynamo.Put. ErrMarkMoved says that the condition
// does not hold.
func (s *Store) PutMark(ctx context.Context, m *dynamo.Meter, item layout.Attributes, condition MarkCondition, before func() error) error {
	err := s.Client.Put(ctx, m, condition.on(dynamo.Put{Table: s.Table, Item: item, Before: before}))
	if errors.Is(err, dynamo.ErrConditionFailed) {
		return ErrMarkMoved
	}
	return err
}

// RaiseHighMark puts the high mark that a sequence number needs. One that is already higher is as
// good. before is that of dynamo.Put, nil for the store's own.
func (s *Store) RaiseHighMark(ctx context.Context, m *dynamo.Meter, pid string, seq int64, before func() error) error {
	if before == nil {
		before = s.Before
	}
	mark := layout.HighestBlock(seq)
	return ignoreMoved(s.PutMark(ctx, m, s.Keys.EncodeHighMark(pid, mark, 0), HighMarkRises(mark), before))
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

// RenewLowMark puts a low mark of a purged id anew, without its expiry. It reports whether the mark
// is still stored: it may have vanished, or been moved.
func (s *Store) RenewLowMark(ctx context.Context, m *dynamo.Meter, pid string, low layout.LowMark) (bool, error) {
	err := s.PutMark(ctx, m, s.Keys.EncodeLowMark(pid, low, s.ids(pid), 0), LowMarkExpires(low), s.Before)
	if err == nil || !errors.Is(err, ErrMarkMoved) {
		return err == nil, err
	}
	if !safeguard.RenewedBefore {
		return false, nil
	}
	marks, err := s.LowMark(ctx, m, pid) // an earlier attempt may have put it, or another writer
	return marks.Low.Seq == low.Seq && marks.Low.Cut == low.Cut && !marks.Expiring, err
}

// TakeLast makes sure, in a shared journal, that the last number below a low mark is taken and that
// a high mark leads to it, before the mark is raised beyond everything that is stored: a JVM finds
// its highest number by them. In a native journal the low mark says enough.
func (s *Store) TakeLast(ctx context.Context, m *dynamo.Meter, pid string, last int64) error {
	if !s.Shared() || !safeguard.LastTaken {
		return nil
	}
	if _, err := s.Seal(ctx, m, pid, last); err != nil {
		return err
	}
	if layout.HighestBlock(last) == 0 {
		return nil
	}
	return s.RaiseHighMark(ctx, m, pid, last, nil)
}

// JVMLowAround returns the low mark as a JVM reads it, as far as it can lie above a number that is
// going to be written, or was just now. If the event before that is still stored, no deletion by a
// JVM has ended that went beyond the block behind: the low mark is in one of two shards. Otherwise
// all are read, also where the low mark is right above that event: a deletion that was cut short has
// left it, and a JVM never removes it.
func (s *Store) JVMLowAround(ctx context.Context, m *dynamo.Meter, pid string, seq int64) (int64, error) {
	if seq > 1 && s.Keys.Shards > 2 {
		low, there, err := s.jvmLowNear(ctx, m, pid, seq)
		if err != nil || there && (low != seq || !safeguard.LeftBeforeSeen) {
			return low, err
		}
	}
	marks, err := s.LowMark(ctx, m, pid)
	return marks.JVMLow, err
}

// jvmLowNear returns the low mark as a JVM reads it, as far as it is in the shards of seq and of the
// block behind. It reports whether an event is stored before seq.
func (s *Store) jvmLowNear(ctx context.Context, m *dynamo.Meter, pid string, seq int64) (int64, bool, error) {
	before := s.Keys.Event(pid, seq-1)
	wanted := []dynamo.Attributes{before.Attributes(), s.Keys.LowMark(pid, seq).Attributes(), s.Keys.LowMarkNext(pid, seq).Attributes()}
	items, err := s.Client.BatchGet(ctx, m, s.Table, wanted)
	if err != nil {
		return 0, false, fmt.Errorf("read the low marks around %d: %w", seq, err)
	}
	there := false
	marks := slices.DeleteFunc(items, func(item layout.Attributes) bool {
		if layout.IsLowMark(item) {
			return false
		}
		there = there || !layout.IsClosed(item)
		return true
	})
	read, err := s.Keys.DecodeMarks(pid, marks)
	if err != nil {
		return 0, false, fmt.Errorf("table %q: %w", s.Table, err)
	}
	return read.JVMLow, there, nil
}
