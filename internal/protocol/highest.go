package protocol

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
)

// End describes where the journal of a persistence id ends.
type End struct {
	// Highest is the highest sequence number that is taken by an event, a tombstone, a seal or a
	// deletion, or 0 if no number was ever taken.
	Highest int64
	// FarMark is the highest high mark if it is damaged, that is, farther from all items than any
	// writer puts it. Otherwise it is 0.
	FarMark int64
}

// Highest returns the highest sequence number that is taken by an event, a tombstone, a seal or a
// deletion, or 0 if no number was ever taken.
func (s *Store) Highest(ctx context.Context, m *dynamo.Meter, pid string, marks layout.Marks) (int64, error) {
	end, err := s.End(ctx, m, pid, marks, 0)
	return end.Highest, err
}

// End finds where the journal of a persistence id ends. It starts at the partition that the marks
// point to, goes back from an empty one as far as the low mark, and continues after full
// partitions.
//
// A writer puts a high mark together with the events that need it, so the mark is at most one
// atomic write beyond them. End goes back that far one partition at a time, where every item
// counts. If nothing is stored there, the mark is damaged, and the distance to it means nothing.
// Acknowledged events follow the low mark without holes wider than an atomic write, so searchEnd
// finds them from there. farMark is a high mark that is known to be damaged, or 0.
func (s *Store) End(ctx context.Context, m *dynamo.Meter, pid string, marks layout.Marks, farMark int64) (End, error) {
	deleted := max(marks.Low.Seq-1, 0)
	first, last := marks.Low.First()/layout.PartitionSize, max(marks.High, deleted)/layout.PartitionSize
	lowest := max(first, last-s.reach()+1)
	end := End{Highest: deleted}
	top := int64(0)
	var err error
	if farMark == 0 || marks.High != farMark {
		top, err = s.topDown(ctx, m, pid, last, lowest)
	}
	if err == nil && top == 0 && lowest > first {
		end.FarMark = marks.High
		top, err = s.searchEnd(ctx, m, pid, marks, first, lowest-1)
	}
	if err != nil {
		return End{}, err
	}
	end.Highest = max(deleted, top)
	return end, s.follow(ctx, m, pid, marks, &end)
}

// emptyPartitionsIfDamaged is the number of empty partitions that are read after the end if the
// high mark is damaged.
const emptyPartitionsIfDamaged = 16

// follow searches after the end for items that no high mark points to.
func (s *Store) follow(ctx context.Context, m *dynamo.Meter, pid string, marks layout.Marks, end *End) error {
	for empty := int64(0); ; empty++ {
		reads := s.emptyPartitionsAfter(end.Highest, s.Leads(marks))
		if end.FarMark != 0 {
			reads = emptyPartitionsIfDamaged
		}
		p := end.Highest/layout.PartitionSize + 1 + empty
		if empty >= reads || p > everywhere.last {
			return nil
		}
		top, err := s.top(ctx, m, pid, p)
		if err != nil {
			return err
		}
		if top > 0 {
			end.Highest, empty = top, -1
		}
	}
}

// emptyPartitionsAfter returns the number of empty partitions that must follow the partition of the
// highest known number before the journal is known to end there. high is the block to which the
// marks lead.
//
// A regular journal that ends within a partition does not need any. A journal that ends with the
// last number of a partition needs one: the high mark of the next event may be missing. If one mark
// is missing, others may be, and the numbers at the ends of partitions may be holes. A JVM leaves a
// hole where it rejects an event. If the last number of a partition and the one after it are both
// holes, neither the number nor the mark leads on. At most two rejected events in a row are
// handled, and only in a shared journal: every further partition would cost all journals a request.
func (s *Store) emptyPartitionsAfter(highest, high int64) int64 {
	switch {
	case highest >= layout.MaxSequenceNumber:
		return 0
	case layout.HighestBlock(highest) > high:
		return 2
	case highest == partitionEnd(highest), s.Shared() && highest == partitionEnd(highest)-1:
		return 1
	}
	return 0
}

// reach returns the number of partitions that an atomic write can touch. Searches read at least
// that many partitions one by one.
func (s *Store) reach() int64 {
	const usual = 10_000 // the limit of writers with the default configuration
	return max(usual, int64(s.MaxBatchEvents))/layout.PartitionSize + 2
}

// topDown returns the highest number taken in the partitions from last down to first, or 0.
func (s *Store) topDown(ctx context.Context, m *dynamo.Meter, pid string, last, first int64) (int64, error) {
	for p := last; p >= first; p-- {
		if top, err := s.top(ctx, m, pid, p); err != nil || top > 0 {
			return top, err
		}
	}
	return 0, nil
}

// top returns the highest number taken in a partition, or 0. Items that can't be read count.
func (s *Store) top(ctx context.Context, m *dynamo.Meter, pid string, p int64) (int64, error) {
	in, fits := s.newestQuery(pid, p)
	if !fits {
		return 0, nil
	}
	in.ProjectionExpression = aws.String(layout.AttrPar + ", " + layout.AttrNum)
	page, err := s.Client.Query(ctx, m, in)
	if err != nil {
		return 0, fmt.Errorf("read partition %d: %w", p, err)
	}
	if len(page.Items) == 0 {
		return 0, nil
	}
	key, err := layout.DecodeKey(page.Items[0])
	if err != nil {
		return 0, fmt.Errorf("table %q: %w", s.Table, err)
	}
	return p*layout.PartitionSize + key.Num, nil
}

// newestQuery returns the query of the newest item of a partition. It reports false if the
// partition has a longer key than DynamoDB allows, so that nothing can be stored there.
func (s *Store) newestQuery(pid string, p int64) (*dynamodb.QueryInput, bool) {
	if !s.Keys.PartitionFits(pid, p) {
		return nil, false
	}
	first := p * layout.PartitionSize
	in := s.partitionQuery(pid, max(first, 1), min(partitionEnd(first), layout.MaxSequenceNumber))
	in.ScanIndexForward = aws.Bool(false)
	in.Limit = aws.Int32(1)
	return in, true
}

// Bounds returns the marks of a persistence id and its highest sequence number, or 0 if no number
// was ever taken.
func (s *Store) Bounds(ctx context.Context, m *dynamo.Meter, pid string) (layout.Marks, int64, error) {
	marks, err := s.Marks(ctx, m, pid)
	if err != nil {
		return marks, 0, err
	}
	highest, err := s.Highest(ctx, m, pid, marks)
	return marks, highest, err
}
