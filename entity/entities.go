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

// Entities hosts the entities of one type. It is safe for concurrent use: a process needs one for
// each type. Close it before its journal.
type Entities[S, E any] struct {
	kind    Type[S, E]
	options Options
	journal *dynajournal.Journal
	core    *core.Journal
	storage storage[S, E]
	// metadata reports whether ids of commands can be stored.
	metadata bool
	// now returns the time, by the service's clock where the machine's is wrong.
	now func() time.Time
	// recovering has a token for each entity that is being loaded.
	recovering chan struct{}
	// life ends when Close stops waiting. It bounds what runs behind the calls.
	life context.Context //nolint:containedctx // the life of the entities
	end  context.CancelCauseFunc
	// saves bounds the snapshots that are being saved, and the parts of states that are being
	// deleted, which Close waits for.
	saves    context.Context //nolint:containedctx // as life
	endSaves context.CancelCauseFunc
	// calls counts the calls, jobs what runs behind them.
	calls, jobs sync.WaitGroup
	counts      counts
	// atOnce has the turn of an entity while a command without options is run.
	atOnce  command[S, E]
	moments atomic.Int64

	mu     sync.Mutex
	closed bool
	// loaded are the entities in memory, also those that are being loaded.
	loaded map[string]*entity[S, E]
	// uses counts the calls, commands those of Update.
	uses, commands int64
}

// Open returns the entities of a type, which are stored in a journal. The journal stays open until
// the entities are closed.
//
// The error is a *dynajournal.ArgumentError if the type or the options can't be used.
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

// Close ends the entities: further calls return [ErrClosed]. It waits for the commands that were
// accepted, and for the snapshots that are being saved. If ctx ends before, it gives up what is
// left: commands that wait get ErrClosed, and those whose events are being written
// [ErrOutcomeUnknown]. The error is that of ctx. A further Close waits, too.
//
// It must not be called by a command, a function of the type or a hook. By a command the error is
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

// begin begins a call on an entity: the entity that is in memory, or a new one that is not loaded.
// commands is how many commands the call has. The caller calls h.calls.Done at the end.
func (h *Entities[S, E]) begin(id string, commands int64) (*entity[S, E], error) {
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

// replace returns the entity that has taken the place of one that was dropped, within a call.
func (h *Entities[S, E]) replace(id string) (*entity[S, E], error) {
	e, err := h.begin(id, 0)
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

// Stats are counters since Open, but for Loaded and Waiting, which are of the moment.
type Stats struct {
	// Loaded is how many entities are in memory, Waiting how many commands wait for their turn or
	// for their events.
	Loaded, Waiting int
	// Commands is how many commands were accepted, Duplicates how many of them were done before.
	Commands, Duplicates int64
	// Writes and Events are what was written, Conflicts the writes at which another writer was
	// faster.
	Writes, Events, Conflicts int64
	// Recoveries is how often entities were loaded or have caught up, Dropped how often they were
	// dropped.
	Recoveries, Dropped int64
	// Snapshots is how many snapshots were saved.
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
