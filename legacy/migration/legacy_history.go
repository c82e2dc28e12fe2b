package migration

import (
	"context"
	"errors"
	"slices"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
	"github.com/dynajournal/dynajournal/serialization"
)

// errEnough ends a reading of which no more is wanted.
var errEnough = errors.New("enough was read")

// legacyHistory is one history that is being read.
type legacyHistory struct {
	Legacy

	pid   string
	opts  ReadOptions
	yield func(dynajournal.Record) error

	highest int64
	next    int64 // the number that the next record begins with
	// leading says that no event that counts was met yet, so that all before the first one was deleted; marked are the spans
	// of that which were marked.
	leading bool
	marked  []dynajournal.Record
}

func (r *legacyHistory) read(ctx context.Context) error {
	bounds, err := r.Journal.Bounds(ctx, r.pid)
	if err != nil {
		return err
	}
	r.highest = bounds.Highest
	last := r.next - 1 // the last number at which something stands
	// stands takes the next number at which something stands. The history ends before what may be missing only for now.
	stands := func(seq int64) error {
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
		if err := stands(item.SequenceNumber); err != nil {
			return err
		}
		r.note(Note{PersistenceID: r.pid, SequenceNumber: item.SequenceNumber, Unreadable: item})
		return r.event(dynajournal.Record{
			Kind: dynajournal.RecordEvent, SequenceNumber: item.SequenceNumber, SerializerID: serialization.IDMessage, Bytes: item.Raw,
		})
	}
	for e, err := range r.Journal.ReadableEvents(ctx, r.pid, dynajournal.Range{From: r.next}, corrupt) {
		if err == nil && r.opts.Pace != nil {
			err = r.opts.Pace(ctx, r.Usage.take())
		}
		if err == nil {
			err = stands(e.SequenceNumber)
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

// onItsWay says whether what is missing at a number may still come.
func (r *legacyHistory) onItsWay(seq int64) bool {
	return r.Live && r.highest-seq < dynajournal.LiveWindow
}

func (r *legacyHistory) note(n Note) {
	if r.opts.Note != nil {
		r.opts.Note(n)
	}
}

// stored takes an event as it stands.
func (r *legacyHistory) stored(e *legacy.Event) error {
	if e.Deleted || len(e.Confirmations) > 0 {
		r.note(Note{PersistenceID: r.pid, SequenceNumber: e.SequenceNumber, MarkedDeleted: e.Deleted, Confirmations: e.Confirmations})
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
		return nil // its number is closed with those around it
	}
	if n := len(r.marked); n > 0 && r.marked[n-1].Last == e.SequenceNumber-1 {
		r.marked[n-1].Last++
	} else {
		r.marked = append(r.marked, dynajournal.Record{Kind: dynajournal.RecordDeleted, SequenceNumber: e.SequenceNumber, Last: e.SequenceNumber})
	}
	return nil
}

// event gives an event that counts, and what is before it.
func (r *legacyHistory) event(record dynajournal.Record) error {
	if err := r.before(record.SequenceNumber); err != nil {
		return err
	}
	r.next = record.SequenceNumber + 1
	return r.yield(record)
}

// before deletes or closes the numbers before seq that were not given.
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
