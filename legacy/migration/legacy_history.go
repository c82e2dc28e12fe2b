package migration

import (
	"context"
	"errors"
	"slices"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
	"github.com/dynajournal/dynajournal/serialization"
)

// errEnough ends a read whose caller needs no more records.
var errEnough = errors.New("enough was read")

// legacyHistory reads one history.
type legacyHistory struct {
	Legacy

	pid   string
	opts  ReadOptions
	yield func(dynajournal.Record) error

	highest int64
	next    int64 // the number at which the next record begins
	// leading reports that no undeleted event was read yet: all numbers before the first such event
	// were deleted. marked contains the spans of these numbers that were marked as deleted.
	leading bool
	marked  []dynajournal.Record
}

func (r *legacyHistory) read(ctx context.Context) error {
	bounds, err := r.Journal.Bounds(ctx, r.pid)
	if err != nil {
		return err
	}
	r.highest = bounds.Highest
	last := r.next - 1 // the last stored number that was read
	// found handles the next stored number. It ends the history before a number that may be missing
	// only temporarily.
	found := func(seq int64) error {
		if last+1 < seq && r.onItsWay(last+1) {
			return errors.Join(r.end(last), errEnough)
		}
		last = seq
		return nil
	}
	corrupt := func(item *legacy.ItemError) error {
		if len(item.Raw) == 0 {
			return item
		}
		if err := found(item.SequenceNumber); err != nil {
			return err
		}
		r.note(Note{PersistenceID: r.pid, SequenceNumber: item.SequenceNumber, Unreadable: item})
		return r.event(dynajournal.Record{
			Kind: dynajournal.RecordEvent, SequenceNumber: item.SequenceNumber, SerializerID: serialization.IDMessage,
			Bytes: item.Raw,
		})
	}
	for e, err := range r.Journal.ReadableEvents(ctx, r.pid, dynajournal.Range{From: r.next}, corrupt) {
		if err == nil && r.opts.Pace != nil {
			err = r.opts.Pace(ctx, r.Usage.take())
		}
		if err == nil {
			err = found(e.SequenceNumber)
		}
		if err != nil {
			return err
		}
		if err := r.stored(&e); err != nil {
			return err
		}
	}
	if last < r.highest && r.onItsWay(last+1) {
		return r.end(last)
	}
	return r.end(r.highest)
}

// onItsWay reports whether the event of a missing number may still be in flight.
func (r *legacyHistory) onItsWay(seq int64) bool {
	return r.Live && r.highest-seq < dynajournal.LiveWindow
}

func (r *legacyHistory) note(n Note) {
	if r.opts.Note != nil {
		r.opts.Note(n)
	}
}

// stored handles a stored event.
func (r *legacyHistory) stored(e *legacy.Event) error {
	if e.Deleted || len(e.Confirmations) > 0 {
		r.note(Note{PersistenceID: r.pid, SequenceNumber: e.SequenceNumber, MarkedDeleted: e.Deleted,
			Confirmations: e.Confirmations})
	}
	if !e.Deleted {
		return r.event(dynajournal.Record{
			Kind:               dynajournal.RecordEvent,
			SequenceNumber:     e.SequenceNumber,
			WriterUUID:         e.WriterUUID,
			Manifest:           e.Manifest,
			SerializerID:       e.SerializerID,
			SerializerManifest: e.SerializerManifest,
			Bytes:              e.Bytes,
		})
	}
	if !r.leading || r.Marked != MarkedTombstones {
		return nil // its number is closed together with the numbers around it
	}
	if n := len(r.marked); n > 0 && r.marked[n-1].Last == e.SequenceNumber-1 {
		r.marked[n-1].Last++
	} else {
		r.marked = append(r.marked, dynajournal.Record{Kind: dynajournal.RecordDeleted,
			SequenceNumber: e.SequenceNumber, Last: e.SequenceNumber})
	}
	return nil
}

// event yields an undeleted event, and before it the records of the numbers that precede it.
func (r *legacyHistory) event(record dynajournal.Record) error {
	if err := r.before(record.SequenceNumber); err != nil {
		return err
	}
	r.next = record.SequenceNumber + 1
	return r.yield(record)
}

// before yields records that delete or close the numbers before seq for which there is no record
// yet.
func (r *legacyHistory) before(seq int64) error {
	if r.leading && seq > 1 {
		low := dynajournal.Record{Kind: dynajournal.RecordLowMark, SequenceNumber: seq}
		for _, record := range slices.Concat([]dynajournal.Record{low}, r.marked) {
			if err := r.yield(record); err != nil {
				return err
			}
		}
		r.next = seq
	}
	r.leading, r.marked = false, nil
	if seq <= r.next {
		return nil
	}
	closed := dynajournal.Record{Kind: dynajournal.RecordClosed, SequenceNumber: r.next, Last: seq - 1}
	r.next = seq
	return r.yield(closed)
}

// end ends the history at its last number.
func (r *legacyHistory) end(last int64) error {
	if last < 1 {
		return nil
	}
	return r.before(last + 1)
}
