package entity

import (
	"runtime/debug"
	"time"

	"github.com/dynajournal/dynajournal/entity/internal/kit"
)

// Tx is what a command decides with. It is valid until the command returns, and belongs to the
// goroutine that runs the command.
type Tx[S, E any] struct {
	stage   *stage[S, E]
	state   S
	version int64
	// next is the sequence number that the first event gets, 0 if it is the one after version.
	next int64
	// now is the time in microseconds since 1970. If nobody has asked yet, it is the lowest that
	// the time may be, with a minus: one field less, as allocating a transaction is most of what a
	// small command takes.
	now    int64
	events []E
	// frozen reports that the state belongs to others: Copy is due before Evolve changes it.
	frozen bool
	over   bool
	// snapshot reports that Type.SnapshotWhen wants a snapshot after one of the events.
	snapshot bool

	command func(*Tx[S, E]) error
	// err is why the command has failed. While it runs, it is the panic of Evolve or SnapshotWhen,
	// which counts also if the command recovers from it.
	err error
}

// stage is where commands of an entity are decided.
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

// Version returns the sequence number of the last event that the state contains, also of those that
// the command has recorded: 0 if there is none. Events of commands before this one that are not
// durable yet count.
func (tx *Tx[S, E]) Version() int64 { return tx.version }

// State returns the state, with the events that the command has recorded. The command must not
// change what it points to.
func (tx *Tx[S, E]) State() S { return tx.state }

// Now returns the time that the events of the command get. All calls of a command return the same
// time. It is at least the time of the entity's last event, so it never goes back within an entity.
// Otherwise it is the time of the machine if that is within 5 seconds of the time of DynamoDB's
// last response, and DynamoDB's time if not: a machine whose clock is wrong does not store wrong
// times. DynamoDB's time has whole seconds. After the machine slept, and before the first response,
// Now can be behind by the time it slept. An endpoint whose responses have no Date header is not
// asked: then Now is the time of the machine.
func (tx *Tx[S, E]) Now() time.Time {
	if tx.now <= 0 {
		// The journal stores odd microseconds, so that all have as many digits.
		tx.now = max(tx.stage.clock().UnixMicro(), -tx.now) | 1
	}
	return time.UnixMicro(tx.now).UTC()
}

// Record records events: State contains them from here on, and they are written when the command
// returns nil. All events of a command are written, or none. It panics after the command has
// returned.
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

// askForSnapshot asks whether a snapshot is wanted after an event. A panic continues as a
// *PanicError.
func (tx *Tx[S, E]) askForSnapshot(event E) {
	defer func() {
		if value := recover(); value != nil {
			tx.err = panicked(tx.stage.pid, value)
			panic(tx.err)
		}
	}()
	tx.snapshot = tx.stage.kind.SnapshotWhen(tx.state, event, tx.version)
}

// evolve applies an event to the state. A panic continues as a *PanicError that names the event.
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

// decision is a Tx as kit.Decide takes it.
type decision[S, E any] struct{ tx *Tx[S, E] }

func (d decision[S, E]) Decide() { d.tx.decide() }

// decide runs the command.
func (tx *Tx[S, E]) decide() {
	if err := tx.command(tx); tx.err == nil {
		tx.err = err
	}
}

// run runs the command in the caller's goroutine. A panic becomes the error.
func (tx *Tx[S, E]) run() {
	defer func() {
		tx.over = true
		if value := recover(); value != nil && tx.err == nil {
			tx.err = panicked(tx.stage.pid, value)
		}
	}()
	kit.Decide(decision[S, E]{tx})
}

// panicked returns the error of a panic of a function of the program.
func panicked(pid string, value any) *PanicError {
	if failed, ok := value.(*PanicError); ok {
		return failed
	}
	return &PanicError{PersistenceID: pid, Value: value, Stack: debug.Stack()}
}

// guard calls a function of the program. A panic becomes the error.
func guard(pid string, call func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panicked(pid, value)
		}
	}()
	return call()
}

// Decision is what a command has decided.
type Decision[S, E any] struct {
	// Events are the events that the command has recorded, none if it has failed.
	Events []E
	// State is the state after them, Version their last number.
	State   S
	Version int64
}

// Decide runs a command on a state, without a journal: for tests, and for those who keep events
// elsewhere. The error is the command's, or a *[PanicError].
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
