package protocol

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// eventTime returns the time of the events of a write that begins now, in microseconds since 1970,
// or 0 if the journal does not store times. It is the local time, but never below the time of the
// event before, so that times rise with sequence numbers although clocks differ and are corrected.
// It is an odd number: DynamoDB does not count zeros at the end of a number, and all items shall
// have the same size.
//
// A recovery that begins after a snapshot may not have read the event before. Then eventTime reads
// it once, which takes one request. A deleted event does not have a time.
func (w *Writer) eventTime(ctx context.Context, m *dynamo.Meter, now clock.Moment) (int64, error) {
	j := w.journal
	if !j.Metadata {
		return 0, nil
	}
	if !w.timed {
		if last := w.next - 1; last >= w.low.First() {
			slot, err := j.Store.MetSlot(ctx, m, w.pid, last, nil)
			if err != nil {
				return 0, fmt.Errorf("read the time of the previous event: %w", err)
			}
			if slot.Event != nil {
				w.time = slot.Event.Metadata.Time
			}
		}
		w.timed = true
	}
	return max(now.UnixMicro(), w.time) | 1, nil
}
