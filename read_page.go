package dynajournal

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/private"
)

// readPage reads the first events of a persistence id from a number on, for a projection. None of
// the caller's code runs meanwhile, so the events are of one moment: between two requests a
// persistence id is not purged and used again.
func (j *Journal) readPage(ctx context.Context, pid string, from int64, most int) (private.Page, error) {
	limit := int64(most)
	req, _, err := Range{From: from, Limit: &limit}.request(pid, "Range")
	if err == nil {
		err = j.checkReadable(pid)
	}
	if err != nil {
		return private.Page{}, err
	}
	var page private.Page
	var low int64
	req.Low = func(mark layout.LowMark) { low = mark.Seq }
	err = j.admit(ctx, func(ctx context.Context, _ *lifetime.Operation, begun func()) error {
		req.Begun = begun
		_, err := j.store.Replay(ctx, &dynamo.Meter{}, req, func(e *layout.Event) error {
			page.Events = append(page.Events, private.StoredEvent{
				SequenceNumber: e.SequenceNr, Writer: e.WriterUUID, Low: low,
				Manifest: e.Manifest, SerializerManifest: e.SerializerManifest, Tags: e.Metadata.Tags,
				Deliver: func(read func(event any) error) error {
					return j.deliver(e, func(event Event) error { return read(&event) })
				},
			})
			return nil
		})
		return itemError(j.config.JournalTable, err)
	})
	if err != nil {
		return private.Page{}, fmt.Errorf("read events of %q: %w", pid, err)
	}
	page.Low, page.More = low, len(page.Events) == most
	return page, nil
}

// operateRequests runs a function that sends requests of its own as an operation of the journal.
func (j *Journal) operateRequests(ctx context.Context, do func(context.Context, *dynamo.Client) error) error {
	return j.operate(ctx, func(ctx context.Context, _ *lifetime.Operation) error {
		return public(do(ctx, j.client))
	})
}
