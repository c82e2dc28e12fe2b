package replay

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// Highest finds the highest sequence number that is taken, by an event, a tombstone, a seal or a deletion; 0 if none ever
// was. It begins at the partition that the marks point to, follows partitions that are full to the end, and looks back from
// an empty one as far as the low mark.
func (s *Store) Highest(ctx context.Context, m *dynamo.Meter, pid string, marks layout.Marks) (int64, error) {
	deleted := max(marks.Low.Seq-1, 0)
	highest := deleted
	p := max(marks.High, deleted) / layout.PartitionSize
	for last := marks.Low.First() / layout.PartitionSize; p >= last; p-- {
		top, err := s.top(ctx, m, pid, p)
		if err != nil {
			return 0, err
		}
		if top > 0 {
			highest = max(highest, top)
			break
		}
	}
	for safeguard.TailChase && highest == partitionEnd(highest) && highest < layout.MaxSequenceNumber {
		top, err := s.top(ctx, m, pid, highest/layout.PartitionSize+1)
		if err != nil {
			return 0, err
		}
		if top == 0 {
			break
		}
		highest = top
	}
	return highest, nil
}

// top is the highest number taken in a partition, 0 if none is.
func (s *Store) top(ctx context.Context, m *dynamo.Meter, pid string, p int64) (int64, error) {
	first := p * layout.PartitionSize
	in := s.partitionQuery(pid, max(first, 1), partitionEnd(first))
	in.ScanIndexForward = aws.Bool(false)
	in.Limit = aws.Int32(1)
	slots, _, err := s.page(ctx, m, pid, p, in, false)
	if err != nil || len(slots) == 0 {
		return 0, err
	}
	return slots[0].SequenceNr, nil
}
