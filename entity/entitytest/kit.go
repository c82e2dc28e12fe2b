package entitytest

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/entity/internal/kit"
	"github.com/dynajournal/dynajournal/serialization"
)

// Kit hosts entities of one type in memory, and checks that they would work with a journal. It
// implements [entity.Updater]. It is safe for concurrent use.
type Kit[S, E any] struct {
	t        testing.TB
	kind     entity.Type[S, E]
	registry *serialization.Registry

	mu        sync.Mutex
	histories map[string]*history[S, E]
	now       time.Time
}

var _ entity.Updater[int, int] = (*Kit[int, int])(nil)

// history has the events of an entity and the state that they have led to. It is guarded by Kit.mu.
type history[S, E any] struct {
	state S
	// events has all events, as they are read from a journal. recorded has the events since Given,
	// as they were recorded.
	events, recorded []E
	// impure reports that the state may differ from the state that the events lead to. This was
	// reported to the test.
	impure bool
	// done has the versions of the commands with ids.
	done map[string]int64
}

func (h *history[S, E]) version() int64 { return int64(len(h.events)) }

// New returns a kit for a type of entities. All its entities start without events. registry is the
// Config.Serialization of the journal. Problems are reported to tb.
func New[S, E any](tb testing.TB, kind entity.Type[S, E], registry *serialization.Registry) *Kit[S, E] {
	tb.Helper()
	if err := kind.Check(); err != nil {
		tb.Fatal(err)
	}
	if registry == nil {
		tb.Fatal("entitytest.New needs the registry of the journal")
	}
	return &Kit[S, E]{
		t: tb, kind: kind, registry: registry, histories: map[string]*history[S, E]{},
		now: stored(time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)),
	}
}

// Update runs a command as Entities.Update does, but stores its events in memory, without a
// journal. It supports the options entity.At, entity.CommandID (all ids are remembered) and
// entity.Into. Problems with the command or its events are reported to the test.
func (k *Kit[S, E]) Update(
	ctx context.Context, id string, command func(*entity.Tx[S, E]) error, opts ...entity.CommandOption,
) (entity.Receipt, error) {
	k.t.Helper()
	return k.run(ctx, id, command, opts).receiptAndError()
}

// View calls show with the state of an entity, as Entities.View does. A command must not call it.
func (k *Kit[S, E]) View(
	ctx context.Context, id string, show func(S) error, _ ...entity.ViewOption,
) (version int64, err error) {
	k.t.Helper()
	if kit.Inside() {
		k.t.Errorf("a command views entity %q: it must be a function of its Tx alone", id)
		return 0, entity.ErrReentrant
	}
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	if err := kit.CheckID(id); err != nil {
		return 0, err
	}
	k.mu.Lock()
	h := k.history(id)
	state, version := h.state, h.version()
	k.mu.Unlock()
	defer func() {
		if value := recover(); value != nil {
			err = &entity.PanicError{PersistenceID: k.kind.PersistenceID(id), Value: value, Stack: debug.Stack()}
		}
	}()
	return version, show(state)
}

// SetTime sets the time that commands get from Tx.Now. Between calls the time does not change. It
// starts at the beginning of the year 2000.
func (k *Kit[S, E]) SetTime(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = stored(now)
}

// Now returns the time that commands get from Tx.Now: an odd number of microseconds, as entities
// store times.
func (k *Kit[S, E]) Now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// stored returns a time as entities store it.
func stored(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro() | 1).UTC() }

// history returns the history of an entity, which is empty if the entity is new. The caller holds
// mu.
func (k *Kit[S, E]) history(id string) *history[S, E] {
	h := k.histories[id]
	if h == nil {
		h = &history[S, E]{state: k.initial(id), done: map[string]int64{}}
		k.histories[id] = h
	}
	return h
}

func (k *Kit[S, E]) initial(id string) S {
	if k.kind.Initial == nil {
		var zero S
		return zero
	}
	return k.kind.Initial(id)
}

// ran is the result of a command.
type ran[S, E any] struct {
	events  []E
	state   S
	receipt entity.Receipt
	err     error
}

func (r *ran[S, E]) receiptAndError() (entity.Receipt, error) { return r.receipt, r.err }

// run runs a command, checks it, and stores its events.
func (k *Kit[S, E]) run(
	ctx context.Context, id string, command func(*entity.Tx[S, E]) error, opts []entity.CommandOption,
) *ran[S, E] {
	k.t.Helper()
	if kit.Inside() {
		k.t.Errorf("a command runs another command, on entity %q: it must be a function of its Tx alone", id)
		return &ran[S, E]{err: entity.ErrReentrant}
	}
	if command == nil {
		return &ran[S, E]{err: &dynajournal.ArgumentError{Argument: "command", Value: "nil", Reason: "it must be a function"}}
	}
	options := kit.Read[entity.Receipt](opts)
	err := options.Check(true)
	if err == nil {
		err = kit.CheckID(id)
	}
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("command of %q: %w", k.kind.PersistenceID(id), context.Cause(ctx))
	}
	if err != nil {
		return &ran[S, E]{err: err}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.history(id)
	if err := k.refuse(id, h, options); err != nil {
		return &ran[S, E]{state: h.state, err: err}
	}
	r := k.decide(id, h, command)
	if r.err != nil {
		return r
	}
	if options.ID != "" && len(r.events) > 0 {
		h.done[options.ID] = h.version()
	}
	if options.Receipt != nil {
		*options.Receipt = r.receipt
	}
	return r
}

// refuse returns the error of a command that must not run on the state, or nil if it may run. The
// caller holds mu.
func (k *Kit[S, E]) refuse(id string, h *history[S, E], options *kit.Options[entity.Receipt]) error {
	pid := k.kind.PersistenceID(id)
	if version, ok := h.done[options.ID]; ok {
		return &entity.DuplicateError{PersistenceID: pid, CommandID: options.ID, Version: version}
	}
	if options.Demands && options.At != h.version() {
		return &dynajournal.VersionError{PersistenceID: pid, Expected: options.At, Last: h.version()}
	}
	return nil
}

// decide decides a command, checks its decision, and stores its events. The caller holds mu.
func (k *Kit[S, E]) decide(id string, h *history[S, E], command func(*entity.Tx[S, E]) error) *ran[S, E] {
	k.t.Helper()
	decision, pure, err := k.decideTwice(id, h, command)
	if err != nil {
		return &ran[S, E]{state: h.state, err: err}
	}
	read, err := k.storeAll(id, decision.Events)
	if err != nil {
		return &ran[S, E]{state: h.state, err: err}
	}
	h.state = decision.State
	h.events = append(h.events, read...)
	h.recorded = append(h.recorded, decision.Events...)
	k.checkState(id, h)
	h.impure = h.impure || !pure || !k.checkReplay(id, h)
	r := &ran[S, E]{
		events: decision.Events, state: decision.State,
		receipt: entity.Receipt{Version: h.version(), Events: len(read)},
	}
	if len(read) > 0 {
		r.receipt.Commands = 1
	}
	return r
}
