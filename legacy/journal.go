package legacy

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/private"
)

// Journal is an open journal of an older layout. It is safe for concurrent use; one serves a whole process. Close it at the end.
type Journal struct {
	config Config
	client *dynamo.Client
	store  store
	life   lifetime.Lifetime
}

// Open opens a journal whose table exists (see CreateTable), and checks that the table's key is that of the layout.
//
// Errors: dynajournal.ErrInvalidArgument, ErrTableNotFound, ErrTableSchema (it says what the table looks like), and those of
// any request.
func Open(ctx context.Context, config Config) (*Journal, error) {
	config, client, err := config.connect()
	if err != nil {
		return nil, err
	}
	if err := config.checkTable(ctx, client); err != nil {
		client.Close()
		return nil, fmt.Errorf("open the %s journal in table %q: %w", config.Layout, config.Journal.JournalTable, err)
	}
	j := &Journal{config: config, client: client}
	j.store = config.store(client, j.life.Go)
	j.life.Open(dynajournal.ErrClosed)
	return j, nil
}

// store is the store of the layout. start runs a goroutine that the end of the journal waits for.
func (c *Config) store(client *dynamo.Client, start func(work func())) store {
	switch c.Layout {
	case Naive:
		return &naive{client, c.Journal.JournalTable, attrPersistenceID, false, c.Journal.ReplayParallelism}
	case NaiveProcessor:
		return &naive{client, c.Journal.JournalTable, attrProcessorID, true, c.Journal.ReplayParallelism}
	}
	s := &hashKey{
		client:      client,
		table:       c.Journal.JournalTable,
		shards:      int64(c.Journal.SequenceShards),
		batch:       int64(c.Journal.MaxBatchGet),
		parallelism: c.Journal.ReplayParallelism,
		start:       start,
	}
	if c.Layout == HashKey {
		s.prefix = c.Journal.JournalName + "-"
	}
	return s
}

// Close ends the journal: reading stops at once, appends that were sent are waited for, up to
// Config.Journal.OperationTimeout. Everything that is called afterwards returns
// dynajournal.ErrClosed. Closing twice does nothing. It does not wait for the body of a loop or a
// Recover handler, in which it may be called, too: such a loop or call ends with ErrClosed when its
// code returns.
func (j *Journal) Close() error {
	j.life.Close(j.config.Journal.OperationTimeout)
	j.client.Close()
	return nil
}

// Layout is the journal's.
func (j *Journal) Layout() Layout { return j.config.Layout }

// Events reads the events of a persistence id in the order of their sequence numbers, each once; those that are marked as
// deleted, too, as Event.Deleted says. Numbers at which no event stands are passed over. It needs no writer and disturbs
// none. An id that was never written has no events, which is no error.
//
// After an error the sequence ends. Reading stops when the loop is left. In the hash-key-only layouts it holds up to
// Config.Journal.ReplayParallelism times Config.Journal.MaxBatchGet events, in the naive ones a page of 1 MB.
func (j *Journal) Events(ctx context.Context, persistenceID string, r dynajournal.Range) iter.Seq2[Event, error] {
	return j.ReadableEvents(ctx, persistenceID, r, nil)
}

// ReadableEvents is Events for a journal with items that can't be read. It calls corrupt for each
// event that can't be read, in order with the others, and goes on with the next one. An error of
// corrupt ends the sequence.
func (j *Journal) ReadableEvents(
	ctx context.Context, persistenceID string, r dynajournal.Range, corrupt func(*ItemError) error,
) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		err := j.readEvents(ctx, persistenceID, r, corrupt, func(e Event) error {
			if !yield(e, nil) {
				return errStop
			}
			return nil
		})
		if err != nil {
			yield(Event{}, fmt.Errorf("read events of %q: %w", persistenceID, j.named(err)))
		}
	}
}

func (j *Journal) readEvents(
	ctx context.Context, pid string, r dynajournal.Range, corrupt func(*ItemError) error, emit func(Event) error,
) error {
	w, err := newWindow("Range", r)
	if err == nil {
		err = j.config.checkID(pid)
	}
	if err != nil {
		return err
	}
	if corrupt != nil {
		w.corrupt = corrupt
	}
	ctx, op, err := j.life.Operate(ctx)
	if err != nil {
		return err
	}
	defer op.End()
	if w.limit == 0 || w.from > w.to {
		return nil
	}
	var m dynamo.Meter
	highest, err := j.store.highest(ctx, &m, pid)
	if err != nil {
		return err
	}
	w.to = min(w.to, highest)
	return j.replay(ctx, op, &m, pid, w, emit)
}

// errStop ends a reading that has enough.
var errStop = errors.New("enough was read")

// replay gives the events of a window to emit.
func (j *Journal) replay(ctx context.Context, op *lifetime.Operation, m *dynamo.Meter, pid string, w window, emit func(Event) error) error {
	if w.limit == 0 {
		return nil
	}
	left := w.limit
	err := j.store.items(ctx, m, pid, w.from, w.to, w.limit, func(seq int64, item dynamo.Attributes) error {
		e, isEvent, err := decode(pid, seq, keyText(item), item)
		switch {
		case err != nil:
			return op.Outside(func() error { return j.corrupt(err, w.corrupt) })
		case !isEvent:
			return nil
		}
		private.SetSerialization(&e.Event, j.config.Journal.Serialization)
		if j.config.Journal.DecodeEagerly {
			if _, err := e.Payload(); err != nil {
				return err //nolint:wrapcheck // it names the event
			}
		}
		if err := op.Outside(func() error { return emit(e) }); err != nil {
			return err
		}
		if left--; left == 0 {
			return errStop
		}
		return nil
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// corrupt tells of an event that can't be read.
func (j *Journal) corrupt(err error, tell func(*ItemError) error) error {
	item, ok := errors.AsType[*ItemError](err)
	if !ok {
		return err
	}
	item.Table = j.config.Journal.JournalTable
	return tell(item)
}

// named gives an error of an item the table's name.
func (j *Journal) named(err error) error {
	if item, ok := errors.AsType[*ItemError](err); ok {
		item.Table = j.config.Journal.JournalTable
	}
	return err
}

// Bounds reads the lowest and the highest sequence number of a persistence id. Lowest is what the
// layout stores about deletion, 0 if nothing:
//
//   - In the hash-key-only layouts it is the smallest value of a low mark. Deleted events have that
//     number or a higher one. An event before it is stored only where a program has deleted single
//     events.
//   - In the naive layouts it is the number of the first stored event, if that is not 1.
func (j *Journal) Bounds(ctx context.Context, persistenceID string) (dynajournal.Bounds, error) {
	ctx, done, err := j.begin(ctx, persistenceID)
	if err != nil {
		return dynajournal.Bounds{}, err
	}
	defer done()
	b, err := j.store.bounds(ctx, &dynamo.Meter{}, persistenceID)
	if err != nil {
		return dynajournal.Bounds{}, fmt.Errorf("read the bounds of %q: %w", persistenceID, j.named(err))
	}
	return b, nil
}

// begin enters an operation that reads.
func (j *Journal) begin(ctx context.Context, pid string) (context.Context, func(), error) {
	if err := j.config.checkID(pid); err != nil {
		return nil, nil, err
	}
	return j.life.Read(ctx)
}

// List lists the items of a persistence id as they stand. It is for inspection: it reads every number up to the highest.
func (j *Journal) List(ctx context.Context, persistenceID string) (Listing, error) {
	ctx, done, err := j.begin(ctx, persistenceID)
	if err != nil {
		return Listing{}, err
	}
	defer done()
	l, err := j.list(ctx, persistenceID)
	if err != nil {
		return Listing{}, fmt.Errorf("list %q: %w", persistenceID, j.named(err))
	}
	return l, nil
}

func (j *Journal) list(ctx context.Context, pid string) (Listing, error) {
	var l Listing
	var m dynamo.Meter
	var err error
	if l.LowMarks, l.HighMarks, err = j.store.marks(ctx, &m, pid); err != nil {
		return l, err
	}
	highest, err := j.store.highest(ctx, &m, pid)
	if err != nil {
		return l, err
	}
	// Number 0 has no event, but 0.3 leaves an item there.
	err = j.store.items(ctx, &m, pid, 0, highest, unlimited, func(seq int64, item dynamo.Attributes) error {
		if item[attrPayload] == nil {
			l.WithoutPayload = append(l.WithoutPayload, seq)
			return nil
		}
		l.SequenceNumbers = append(l.SequenceNumbers, seq)
		if marked(item) {
			l.Deleted = append(l.Deleted, seq)
		}
		return nil
	})
	return l, err
}
