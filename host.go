package dynajournal

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/lifetime"
	"github.com/dynajournal/dynajournal/internal/private"
	"github.com/dynajournal/dynajournal/internal/safeguard"
)

// The keys of the metadata that the first event of a command with an id has: the id, and how many
// events the command has recorded, if more than one.
const (
	commandKey = reservedPrefix + "command"
	eventsKey  = reservedPrefix + "events"
)

// commandMark returns the mark of the command that the event is the first of.
func (e *Event) commandMark() private.CommandMark {
	id, ok := e.Metadata[commandKey]
	if !ok {
		return private.CommandMark{}
	}
	events, err := strconv.Atoi(e.Metadata[eventsKey])
	if err != nil || events < 1 {
		events = 1
	}
	return private.CommandMark{ID: id, Events: events}
}

// encodedEvent is an event that a host of entities has encoded when it decided a command. Append
// takes it as an argument.
type encodedEvent struct{ *layout.Event }

// settings returns what hosts of entities and projections have to know of the journal.
func (j *Journal) settings() private.Settings {
	return private.Settings{
		JournalName:    j.config.JournalName,
		JournalTable:   j.config.JournalTable,
		SnapshotTable:  j.config.SnapshotTable,
		MaxItemSize:    j.config.MaxItemSize,
		Metadata:       j.protocol.Metadata,
		Shared:         j.store.Shared(),
		MaxBatchEvents: j.config.MaxBatchEvents,
		MaxBatchBytes:  j.config.MaxBatchBytes,
		MaxStateBytes:  j.config.MaxSnapshotBytes,
		Clock:          j.clock,
		FenceWindow:    j.config.FenceWindow,
		Logger:         j.config.Logger,
		Time:           j.clock.Time,
		Wall:           j.clock.Wall,
		Encode:         j.config.Serialization.EncodeContext,
		Decode:         j.config.Serialization.DecodeContext,
		Resolve:        j.config.Serialization.Resolve,
	}
}

// encodeFor returns an event of a host of entities as an argument of Append, and the size of its
// payload, manifests and metadata.
func (j *Journal) encodeFor(
	ctx context.Context, pid string, event *NewEvent, at time.Time, mark private.CommandMark,
) (any, int, error) {
	e, err := j.encodeNew(ctx, pid, event, 0)
	if err != nil {
		return nil, 0, err
	}
	if j.protocol.Metadata {
		e.Metadata.Time = microseconds(at)
	}
	if mark.ID != "" {
		if e.Metadata.Values == nil {
			e.Metadata.Values = map[string]string{}
		}
		e.Metadata.Values[commandKey] = mark.ID
		if mark.Events > 1 {
			e.Metadata.Values[eventsKey] = strconv.Itoa(mark.Events)
		}
		if err := e.Metadata.Check(); err != nil {
			return nil, 0, &RejectedError{PersistenceID: pid, Index: 0, Err: err}
		}
	}
	size := len(e.Bytes) + len(e.SerializerManifest) + len(e.Manifest)
	for key, value := range e.Metadata.Values {
		size += len(key) + len(value)
	}
	for _, tag := range e.Metadata.Tags {
		size += len(tag)
	}
	if most := j.config.MaxItemSize; size > most {
		err := fmt.Errorf("its payload and metadata have %d bytes", size)
		return nil, 0, &RejectedError{PersistenceID: pid, Index: 0, Size: size, Limit: most, Err: err}
	}
	return encodedEvent{e}, size, nil
}

// stored returns a function that passes each stored event to a host of entities once, unconverted.
// The host has to see an event that an upcaster or the adapter converts to no event, too.
func (j *Journal) stored(handle func(any) error) func(*layout.Event) error {
	return func(e *layout.Event) error {
		event := j.event(e)
		return handle(&event)
	}
}

// recoverFor is Recover for a host of entities.
func (j *Journal) recoverFor(
	ctx context.Context, pid string, opts *RecoverOptions, handle func(any) error,
) (*Writer, error) {
	return j.recoverStored(ctx, pid, *opts, j.stored(handle))
}

// readFrom reads the events from a number on. It returns the number after the last one that is
// decided for good, and the last one that is deleted.
func (j *Journal) readFrom(
	ctx context.Context, pid string, from int64, handle func(any) error,
) (next, deletedTo int64, err error) {
	result, err := j.readEvents(ctx, pid, Range{From: from}, nil, j.stored(handle))
	if err != nil {
		return 0, 0, fmt.Errorf("read events of %q: %w", pid, err)
	}
	deletedTo = max(result.Marks.Low.Seq-1, 0)
	return max(result.Decided, deletedTo) + 1, deletedTo, nil
}

// taken reports whether anything is, or was, stored at a sequence number. In a native journal a
// deleted event leaves a tombstone. In a shared one a JVM may have deleted it, which leaves nothing
// there, but has put the low mark before: the low marks are read after the number was found free.
//
// gone reports that nothing is stored at the number before, either.
func (j *Journal) taken(ctx context.Context, pid string, seq int64) (there, gone bool, err error) {
	err = j.operate(ctx, func(ctx context.Context, _ *lifetime.Operation) error {
		meter := &dynamo.Meter{}
		item, err := j.store.Stored(ctx, meter, pid, seq)
		there = item != nil
		if err != nil || there || !j.store.Shared() || !safeguard.TakenByJVM {
			return err
		}
		low, before, err := j.store.JVMLowAround(ctx, meter, pid, seq)
		there, gone = low > seq, !before
		return err
	})
	if err != nil {
		return false, false, fmt.Errorf("read number %d of %q: %w", seq, pid, err)
	}
	return there, gone, nil
}

// closeNext seals the next sequence number. It reports false if the number is taken by something
// else: then the writer has ended.
func (w *Writer) closeNext(ctx context.Context) (bool, error) {
	closed := false
	_, err := w.remove(ctx, func(ctx context.Context, m *dynamo.Meter) error {
		var err error
		closed, err = w.state.CloseNext(ctx, m)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("seal the next number of %q: %w", w.PersistenceID(), err)
	}
	return closed, nil
}
