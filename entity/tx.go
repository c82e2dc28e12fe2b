package entity

import (
	"runtime/debug"
	"time"

	"github.com/dynajournal/dynajournal/entity/internal/kit"
)

// Tx gives a command the state of its entity, and takes the events that the command records. It is
// valid until the command returns. Only the goroutine that runs the command may use it.
type Tx[S, E any] struct {
	stage   *stage[S, E]
	state   S
	version int64
	// next is the sequence number of the first event, or 0 if that is version+1.
	next int64
	// now is the time in microseconds since 1970. Before the first call of Now, it is the lower
	// bound of the time, negated: sharing the field keeps Tx small, and allocating it is most of
	// the cost of a small command.
	now    int64
	events []E
	// frozen reports that the state is shared: Copy must be called before Evolve changes it.
	frozen bool
	over   bool
	// snapshot reports that Type.SnapshotWhen has asked for a snapshot after one of the events.
	snapshot bool

	command func(*Tx[S, E]) error
	// err is the error of the command. While the command runs, it is a panic of Evolve or
	// SnapshotWhen, which counts even if the command recovers from it.
	err error
}

// stage is the part of a Tx that all commands of an entity share.
type stage[S, E any] struct {
	kind *Type[S, E]
	id   string
	// pid is the persistence id.
	pid string
	// clock returns the time.
	clock func() time.Time
}

// ID returns the id of the entity, without the name of the type.
func (tx *Tx[S, E]) ID() string { return tx.stage.id }

// Version returns the sequence number of the last event in the state, or 0 without events. It
// includes events that the command has recorded, and events of earlier commands that are not
// durable yet.
func (tx *Tx[S, E]) Version() int64 { return tx.version }

// State returns the state, including the events that the command has recorded. The command must not
// change what the state points to.
func (tx *Tx[S, E]) State() S { return tx.state }

// Now returns the time of the command's events. All calls of a command return the same time. It is
// at least the time of the entity's last event, so it never goes back within an entity. Otherwise
// it is the machine's time if that is within 5 seconds of the time of DynamoDB's last response, and
// DynamoDB's time if not, so that a machine with a wrong clock does not store wrong times.
// DynamoDB's time has whole seconds. After the machine was asleep, and until the next response, Now
// can be late by the time that the machine slept. If responses have no Date header, Now is the
// machine's time.
func (tx *Tx[S, E]) Now() time.Time {
	if tx.now <= 0 {
		// The journal stores odd microseconds, so that all have as many digits.
		tx.now = max(tx.stage.clock().UnixMicro(), -tx.now) | 1
	}
	return time.UnixMicro(tx.now).UTC()
}

// Record records events. State contains them from then on. When the command returns nil, all its
// events are written, or none. Record panics after the command has returned.
func (tx *Tx[S, E]) Record(events ...E) {
	if tx.over {
		panic("entity: Tx.Record was called after its command had returned")
	}
	for _, event := range events {
		tx.evolve(event)
		tx.events = append(tx.events, event)
		tx.version = max(tx.version+1, tx.next)
		if !tx.snapshot && tx.stage.kind.SnapshotWhen != nil {
			tx.askForSnapshot(event)
		}
	}
}

// askForSnapshot calls Type.SnapshotWhen for an event. If that panics, askForSnapshot panics with a
// [*PanicError].
func (tx *Tx[S, E]) askForSnapshot(event E) {
	defer func() {
		if value := recover(); value != nil {
			tx.err = panicked(tx.stage.pid, value)
			panic(tx.err)
		}
	}()
	tx.snapshot = tx.stage.kind.SnapshotWhen(tx.state, event, tx.version)
}

// evolve applies an event to the state. If Evolve panics, evolve panics with a [*PanicError] that
// names the event.
func (tx *Tx[S, E]) evolve(event E) {
	defer func() {
		if value := recover(); value != nil {
			tx.err = &PanicError{
				PersistenceID: tx.stage.pid, Event: event, Value: value, Stack: debug.Stack(),
			}
			panic(tx.err)
		}
	}()
	if tx.frozen && tx.stage.kind.Copy != nil {
		tx.state = tx.stage.kind.Copy(tx.state)
	}
	tx.frozen = false
	tx.state = tx.stage.kind.Evolve(tx.state, event)
}

// decision adapts a Tx to kit.Decider.
type decision[S, E any] struct{ tx *Tx[S, E] }

func (d decision[S, E]) Decide() { d.tx.decide() }

// decide runs the command.
func (tx *Tx[S, E]) decide() {
	if err := tx.command(tx); tx.err == nil {
		tx.err = err
	}
}

// run runs the command in the caller's goroutine. A panic becomes tx.err.
func (tx *Tx[S, E]) run() {
	defer func() {
		tx.over = true
		if value := recover(); value != nil && tx.err == nil {
			tx.err = panicked(tx.stage.pid, value)
		}
	}()
	kit.Decide(decision[S, E]{tx})
}

// panicked returns the error for a panic of a function of the program.
func panicked(pid string, value any) *PanicError {
	if failed, ok := value.(*PanicError); ok {
		return failed
	}
	return &PanicError{PersistenceID: pid, Value: value, Stack: debug.Stack()}
}

// guard calls a function of the program, and returns a panic as an error.
func guard(pid string, call func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panicked(pid, value)
		}
	}()
	return call()
}

// Decision is the result of [Decide].
type Decision[S, E any] struct {
	// Events are the recorded events, or none if the command has failed.
	Events []E
	// State is the state after Events. Version is the sequence number of its last event.
	State   S
	Version int64
}

// Decide runs a command on a state, without a journal: for tests, and for programs that store
// events elsewhere. The error is the command's, or a [*PanicError].
func Decide[S, E any](
	kind Type[S, E], id string, state S, version int64, now time.Time, command func(*Tx[S, E]) error,
) (Decision[S, E], error) {
	tx := &Tx[S, E]{
		stage: &stage[S, E]{&kind, id, kind.PersistenceID(id), func() time.Time { return now }}, state: state, version: version,
		frozen: true, command: command,
	}
	tx.run()
	if tx.err != nil {
		return Decision[S, E]{State: state, Version: version}, tx.err
	}
	return Decision[S, E]{Events: tx.events, State: tx.state, Version: tx.version}, nil
}
