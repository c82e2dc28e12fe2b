package protocol_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// closed seals the numbers from first to last of a persistence id.
func (s *scene) closed(id string, first, last int64) {
	s.Helper()
	for first <= last {
		var writes []types.WriteRequest
		for ; first <= last && len(writes) < 25; first++ {
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: s.keys.EncodeSeal(id, first)}})
		}
		in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: writes}}
		if _, err := s.client.BatchWriteItem(s.Context(), in); err != nil {
			s.Fatalf("write: %v", err)
		}
	}
}

// TestEnd_PartsOfAnAtomicWrite starts an atomic write of any size after a closed journal.
// Some of its members are stored, and its mark. End must find the highest member. With a damaged
// mark, End must find at least the end of the closed part: only that was acknowledged.
func TestEnd_PartsOfAnAtomicWrite(t *testing.T) {
	const seed = 20
	random := rand.New(rand.NewPCG(seed, 0))
	for _, shards := range []int64{1, 10} {
		s := newSceneOf(t, 1, shards)
		for _, closed := range []int64{0, 57, 399, 1234} {
			for _, low := range []int64{0, closed/2 + 1, closed + 1} {
				id := fmt.Sprintf("%d-%d", closed, low)
				s.closed(id, max(low, 1), closed)
				for range testsize.Of(1, 3) {
					size := 1 + random.Int64N(10_000)
					highest := closed
					var landed []int64
					for range random.IntN(4) {
						seq := closed + 1 + random.Int64N(size)
						landed = append(landed, seq)
						highest = max(highest, seq)
						s.closed(id, seq, seq)
					}
					marks := layout.Marks{High: layout.HighestBlock(closed + size), Low: layout.LowMark{Seq: low}}
					marks.HighMarks = []int64{marks.High}
					found, err := s.store.Highest(t.Context(), &dynamo.Meter{}, id, marks)
					if err != nil || found != highest {
						t.Errorf("%s, an atomic write of %d, with the members %v stored: the highest number is %d, want %d: %v",
							id, size, landed, found, highest, err)
					}
					for _, far := range []int64{100_000_000, 1_000_000_000_000, math.MaxInt64} {
						before := s.count(anything)
						marks.High, marks.HighMarks = far, []int64{far}
						end, err := s.store.End(t.Context(), &dynamo.Meter{}, id, marks, 0)
						if err != nil || end.Highest < closed || end.Highest > highest || end.FarMark != far {
							t.Errorf("%s, with the mark %d: the end is %+v, want %d to %d: %v",
								id, far, end, closed, highest, err)
						}
						if n := s.count(anything) - before; n > 160 {
							t.Errorf("%s, with the mark %d: %d requests", id, far, n)
						}
					}
					for _, seq := range landed {
						in := &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: s.keys.Event(id, seq).Attributes()}
						if _, err := s.client.DeleteItem(t.Context(), in); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
	}
}

// TestEnd_HolesOfAJVM has holes up to the width of an atomic write, and a
// damaged mark.
func TestEnd_HolesOfAJVM(t *testing.T) {
	const seed = 21
	random := rand.New(rand.NewPCG(seed, 0))
	s := newSceneOf(t, 1, 1)
	for n := range 10 {
		id, last := fmt.Sprintf("holes-%d", n), int64(0)
		for range 1 + random.IntN(6) {
			first := last + 1 + random.Int64N(1500)
			last = first + 100 + random.Int64N(200)
			s.closed(id, first, last)
		}
		marks := layout.Marks{High: 1_000_000_000, HighMarks: []int64{1_000_000_000}}
		if found, err := s.store.Highest(t.Context(), &dynamo.Meter{}, id, marks); err != nil || found != last {
			t.Errorf("%s: the highest number is %d, want %d: %v", id, found, last, err)
		}
	}
}
