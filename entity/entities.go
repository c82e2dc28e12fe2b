package entity

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity/internal/kit"
	"github.com/dynajournal/dynajournal/internal/core"
)

// Entities hosts the entities of one type. It is safe for concurrent use, so a process needs only
// one for each type. Close it before its journal.
type Entities[S, E any] struct {
	kind    Type[S, E]
	options Options
	journal *dynajournal.Journal
	core    *core.Journal
	storage storage[S, E]
	// metadata reports whether ids of commands can be stored.
	metadata bool
	// now returns the machine's time, or the service's time if the machine's clock is wrong.
	now func() time.Time
	// recovering has a token for each entity that is being loaded.
	recovering chan struct{}
	// life is canceled when Close stops waiting for calls. It bounds the background jobs.
	life context.Context //nolint:containedctx // the life of the entities
	end  context.CancelCauseFunc
	// saves bounds the background work that Close waits for: saving snapshots, and deleting parts
	// of states.
	saves    context.Context //nolint:containedctx // as life
	endSaves context.CancelCauseFunc
	// calls counts the calls in progress. jobs counts the goroutines in the background.
	calls, jobs sync.WaitGroup
	counts      counts
	// atOnce is a placeholder: it is in entity.deciding while a command without options runs.
	atOnce  command[S, E]
	moments atomic.Int64

	mu     sync.Mutex
	closed bool
	// loaded has the entities in memory by id, including the entities that are being loaded.
	loaded map[string]*entity[S, E]
	// uses counts uses of entities. commands counts calls of Update.
	uses, commands int64
}

// Open returns the entities of a type, which are stored in a journal. The journal must stay open
// until the entities are closed.
//
// The error is a [*dynajournal.ArgumentError] if the type or the options can't be used.
func Open[S, E any](journal *dynajournal.Journal, kind Type[S, E], options Options) (*Entities[S, E], error) {
	if journal == nil {
		return nil, argument("journal", "nil", "it must be an open journal")
	}
	if err := kind.Check(); err != nil {
		return nil, err
	}
	j := core.Of(journal)
	if err := options.complete(j, journal.Native()); err != nil {
		return nil, err
	}
	if kind.Snapshots.Keep == 0 {
		kind.Snapshots.Keep = defaultKeep
	}
	if !j.Protocol.Metadata && (kind.Tags != nil || options.Metadata != nil) {
		return nil, argument("Type.Tags or Options.Metadata", "set",
			"the journal stores no metadata and tags: see Config.EventMetadata")
	}
	kind.useUpcasters(journal)
	return host(journal, kind, options, storage[S, E](eventStorage[S, E]{})), nil
}

// host returns the entities of a type whose options are complete.
func host[S, E any](
	journal *dynajournal.Journal, kind Type[S, E], options Options, stored storage[S, E],
) *Entities[S, E] {
	j := core.Of(journal)
	h := &Entities[S, E]{
		kind: kind, options: options, journal: journal, core: j, storage: stored,
		metadata: j.Protocol.Metadata, now: j.Clock.Time,
		recovering: make(chan struct{}, options.MaxRecoveries),
		loaded:     map[string]*entity[S, E]{},
	}
	h.life, h.end = context.WithCancelCause(context.Background())
	h.saves, h.endSaves = context.WithCancelCause(context.Background())
	if options.IdleTimeout > 0 {
		h.jobs.Go(h.sweep)
	}
	return h
}

// Close closes the entities: further calls return [ErrClosed]. It waits for the commands that were
// accepted, and for the snapshots that are being saved. If ctx ends first, Close gives up the
// remaining work and returns the cause of ctx: commands that wait get ErrClosed, and commands whose
// events are being written get [ErrOutcomeUnknown]. A further Close also waits.
//
// Commands, functions of the type and hooks must not call Close. In a command it returns
// [ErrReentrant].
func (h *Entities[S, E]) Close(ctx context.Context) error {
	if kit.Inside() {
		return ErrReentrant
	}
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	defer h.endSaves(ErrClosed)
	quiet := make(chan struct{})
	go func() {
		defer close(quiet)
		h.calls.Wait()
		h.end(ErrClosed)
		h.jobs.Wait()
	}()
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		h.end(ErrClosed)
		h.endSaves(ErrClosed)
		<-quiet
		return context.Cause(ctx)
	}
}

// startCall starts a call on an entity. It returns the entity in memory, or a new one that is not
// loaded yet. commands is the number of commands in the call. The caller calls h.calls.Done at the
// end.
func (h *Entities[S, E]) startCall(id string, commands int64) (*entity[S, E], error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	e := h.loaded[id]
	if e == nil {
		if err := kit.CheckID(id); err != nil {
			return nil, err
		}
		e = &entity[S, E]{host: h, stage: stage[S, E]{&h.kind, id, h.kind.PersistenceID(id), h.now}}
		e.ids.limits = &h.options.CommandIDs
		h.loaded[id] = e
		if len(h.loaded) > h.options.MaxEntities {
			h.dropOldest(e)
		}
	}
	h.uses++
	e.used = h.uses
	h.commands += commands
	h.calls.Add(1)
	return e, nil
}

// replace returns the entity that replaces a dropped one, within a call.
func (h *Entities[S, E]) replace(id string) (*entity[S, E], error) {
	e, err := h.startCall(id, 0)
	if err == nil {
		h.calls.Done() // the call has begun already
	}
	return e, err
}

// counts are the counters of Stats.
type counts struct {
	waiting                                            atomic.Int64
	conflicts, dropped, events, recoveries, duplicates atomic.Int64
	snapshots, writes                                  atomic.Int64
}

// Stats has counters since Open, except for Loaded and Waiting, which are current values.
type Stats struct {
	// Loaded is the number of entities in memory.
	// Waiting is the number of commands that wait for their turn or for their events.
	Loaded, Waiting int
	// Commands counts accepted commands.
	// Duplicates counts the commands that were done before.
	Commands, Duplicates int64
	// Writes and Events count successful writes and their events.
	// Conflicts counts the writes at which another writer was faster.
	Writes, Events, Conflicts int64
	// Recoveries counts how often entities were loaded or caught up with other writers.
	// Dropped counts how often entities were dropped from memory.
	Recoveries, Dropped int64
	// Snapshots counts saved snapshots.
	Snapshots int64
}

// Stats returns the counters. It may be called at any time.
func (h *Entities[S, E]) Stats() Stats {
	h.mu.Lock()
	loaded, commands := len(h.loaded), h.commands
	h.mu.Unlock()
	c := &h.counts
	return Stats{
		Loaded: loaded, Waiting: int(c.waiting.Load()),
		Commands: commands, Duplicates: c.duplicates.Load(),
		Writes: c.writes.Load(), Events: c.events.Load(), Conflicts: c.conflicts.Load(),
		Recoveries: c.recoveries.Load(), Dropped: c.dropped.Load(), Snapshots: c.snapshots.Load(),
	}
}
