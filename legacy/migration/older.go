package migration

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
	"github.com/dynajournal/dynajournal/serialization"
)

// Marked says what becomes of events that are marked as deleted. Their payloads are not copied, and their numbers stay taken
// either way: at the beginning of a history by the low mark, elsewhere by seals.
type Marked int

const (
	// MarkedSkip leaves nothing else of them.
	MarkedSkip Marked = iota
	// MarkedTombstones keeps those at the beginning as tombstones besides, as a deletion here does, for the fence window.
	MarkedTombstones
)

// Older is a journal of an older layout as a source. What is missing at the beginning of a history was deleted, and becomes a
// deleted prefix; what is missing later is closed. An event that can't be read is copied as it stands, as the bytes of a
// persistence message (serializer 7), and noted.
//
// These layouts have no snapshots, and write events and marks in no order. So with Live, which says that programs still write to
// the source, a history ends before a missing number near its end: it may be on its way.
type Older struct {
	Journal *legacy.Journal
	Marked  Marked
	Live    bool
	// Usage counts what reading the journal uses up, if its Hook is one of the journal's, so that
	// reading can be kept to a capacity.
	Usage *Usage
}

// Usage counts what requests use up. Add its Hook to the hooks of the journal's configuration.
type Usage struct {
	mu   sync.Mutex
	cost dynajournal.Cost
}

// Hook returns the hook that counts requests.
func (u *Usage) Hook() dynajournal.Hook { return dynajournal.Hook{OnRequest: u.count} }

func (u *Usage) count(_ context.Context, r dynajournal.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cost = u.cost.Add(r.Cost)
}

// take gives what was used up since it was last asked.
func (u *Usage) take() dynajournal.Cost {
	if u == nil {
		return dynajournal.Cost{}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	used := u.cost
	u.cost = dynajournal.Cost{}
	return used
}

// PersistenceIDs lists the ids by a scan.
func (o Older) PersistenceIDs(ctx context.Context) iter.Seq2[string, error] {
	return o.Journal.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{})
}

// Snapshots gives nothing.
func (Older) Snapshots(context.Context, string) iter.Seq2[dynajournal.Snapshot, error] {
	return func(func(dynajournal.Snapshot, error) bool) {}
}

// Records reads the history of a persistence id.
func (o Older) Records(ctx context.Context, pid string, opts ReadOptions) iter.Seq2[dynajournal.Record, error] {
	return func(yield func(dynajournal.Record, error) bool) {
		r := &olderReading{Older: o, pid: pid, opts: opts, next: max(opts.From, 1), leading: opts.From <= 1}
		r.yield = func(record dynajournal.Record) error {
			if !yield(record, nil) {
				return errEnough
			}
			return nil
		}
		if err := r.read(ctx); err != nil && !errors.Is(err, errEnough) {
			yield(dynajournal.Record{}, fmt.Errorf("read the history of %q: %w", pid, err))
		}
	}
}

// errEnough ends a reading of which no more is wanted.
var errEnough = errors.New("enough was read")

// olderReading is one history that is being read.
type olderReading struct {
	Older

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

func (r *olderReading) read(ctx context.Context) error {
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
func (r *olderReading) onItsWay(seq int64) bool {
	return r.Live && r.highest-seq < dynajournal.LiveWindow
}

func (r *olderReading) note(n Note) {
	if r.opts.Note != nil {
		r.opts.Note(n)
	}
}

// stored takes an event as it stands.
func (r *olderReading) stored(e *legacy.Event) error {
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
func (r *olderReading) event(record dynajournal.Record) error {
	if err := r.before(record.SequenceNumber); err != nil {
		return err
	}
	r.next = record.SequenceNumber + 1
	return r.yield(record)
}

// before deletes or closes the numbers before seq that were not given.
func (r *olderReading) before(seq int64) error {
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
func (r *olderReading) end(last int64) error {
	if last < 1 {
		return nil
	}
	return r.before(last + 1)
}
