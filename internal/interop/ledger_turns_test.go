//go:build interop

package interop_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// ledgerTurns is a persistence id that an entity and a behavior use in turns, with the state that
// both must find.
type ledgerTurns struct {
	*turns

	id        string
	random    *rand.Rand
	done      *turnsDone
	byJVMNext bool

	// hosted are the entities that write. watched are entities that only read and stay in memory.
	hosted, watched *ledgers
	saved           <-chan entity.Snapshot
	recovered       <-chan entity.Recovery
	inGo, inJVM     retention

	state totals
	// requested is the number up to which events may be deleted, because a behavior that was
	// stopped hurriedly has requested the deletion.
	requested int64
}

// commands returns the events of some commands.
func (u *ledgerTurns) commands() [][]any {
	const mostCommands, mostEvents, large = 4, 6, 120
	commands := make([][]any, u.random.IntN(mostCommands+1))
	number := u.highest
	for i := range commands {
		n := u.random.IntN(mostEvents) + 1
		if u.random.IntN(40) == 0 {
			n = u.random.IntN(large) + 1 // over a border of a block
		}
		if n > 1 {
			u.done.Batches++
		}
		for range n {
			number++
			commands[i] = append(commands[i], u.event(number))
		}
	}
	return commands
}

// event returns a random event.
func (u *ledgerTurns) event(number int64) any {
	id, amount, note := fmt.Sprintf("order-%d", number), u.random.Int64N(1000), fmt.Sprintf("note-%x", u.random.Uint32())
	if u.random.IntN(2) == 0 {
		return orderPlaced{ID: id, Amount: amount, Note: note}
	}
	return orderShipped{ID: id, Amount: amount, Note: note}
}

// recorded records the events of a command that a side has acknowledged.
func (u *ledgerTurns) recorded(events []any) {
	u.Helper()
	u.did("writes %d", len(events))
	u.stored(true, events)
	for _, event := range events {
		u.state = u.state.after(event)
	}
}

// takeTurnOfGo sends commands to the entity, and stops it.
func (u *ledgerTurns) takeTurnOfGo() {
	u.Helper()
	u.done.ByGo++
	u.did("Go begins")
	for _, events := range u.commands() {
		receipt, err := u.hosted.Update(u.Context(), u.id, func(tx *entity.Tx[totals, any]) error {
			u.sameState("an entity", tx.State(), tx.Version())
			tx.Record(events...)
			return nil
		})
		if err != nil {
			u.fatal("run a command in Go: %v", err)
		}
		u.recorded(events)
		if receipt.Version != u.highest {
			u.fatal("the version is %d after the command, want %d", receipt.Version, u.highest)
		}
	}
	if err := u.hosted.Drop(u.Context(), u.id); err != nil {
		u.fatal("stop the entity: %v", err)
	}
	u.loaded()
}

// loaded checks the snapshot from which the entity was loaded, and records the snapshots that it
// has saved since.
func (u *ledgerTurns) loaded() {
	u.Helper()
	var snapshots []int64 // the snapshots that the entity knows
	for len(u.recovered) > 0 {
		r := <-u.recovered
		if errors.Is(r.Err, dynajournal.ErrDeletedMeanwhile) {
			continue // it loads a snapshot again
		}
		// A type without snapshots may also start with the first event while it is stored.
		from := r.Snapshot == u.snapshot || r.Snapshot == 0 && u.inGo.Every == 0 && u.deleted == 0
		if r.Err != nil || !from {
			u.fatal("the entity is loaded from %+v, want from the snapshot at %d", r, u.snapshot)
		}
		if r.Snapshot > 0 {
			snapshots = append(snapshots, r.Snapshot)
		}
	}
	for len(u.saved) > 0 {
		s := <-u.saved
		if s.Err != nil {
			u.fatal("save a snapshot in Go: %+v", s)
		}
		u.did("snapshot at %d", s.Version)
		u.done.SnapshotsOfGo++
		u.snapshot = s.Version
		if snapshots = append(snapshots, s.Version); len(snapshots) > u.inGo.Keep {
			snapshots = snapshots[len(snapshots)-u.inGo.Keep:]
		}
		if len(snapshots) == u.inGo.Keep && u.inGo.DeleteEvents && snapshots[0] > u.deleted {
			u.did("deleted to %d", snapshots[0])
			u.done.DeletionsOfGo++
			u.deletedTo(snapshots[0])
			u.requested = max(u.requested, u.deleted)
		}
	}
}

// takeTurnOfJVM sends commands to the behavior, and stops it.
func (u *ledgerTurns) takeTurnOfJVM() {
	u.Helper()
	u.done.ByJVM++
	u.did("the JVM begins")
	u.answered(u.s.jvm.do(u, request{Op: "behave", PID: u.pid, retention: u.inJVM}))
	hurried := u.random.IntN(4) == 0
	if hurried {
		u.done.Hurried++
	}
	for _, events := range u.commands() {
		a := u.s.jvm.do(u, request{Op: "command", PID: u.pid, Events: typedAll(u, events...), Hurried: hurried})
		u.recorded(events)
		u.answered(a)
	}
	u.view() // while the behavior runs
	u.answered(u.s.jvm.do(u, request{Op: "show", PID: u.pid}))
	u.s.jvm.do(u, request{Op: "halt", PID: u.pid})
}

// answered checks the state in a behavior's answer, and records its snapshot and deletion.
func (u *ledgerTurns) answered(a answer) {
	u.Helper()
	if a.Last != u.highest || a.State == nil || !a.State.same(typedOf(u, u.state)) {
		u.fatal("a behavior at %d has %v, want %v at %d\n%s", a.Last, a.State, typedOf(u, u.state), u.highest, u.table())
	}
	if a.Seq != nil {
		u.did("snapshot at %d", *a.Seq)
		u.done.SnapshotsOfJVM++
		u.snapshot = *a.Seq
	}
	if a.DeletesTo > u.requested {
		u.did("deletes to %d", a.DeletesTo)
		u.done.DeletionsOfJVM++
		u.requested = a.DeletesTo
		if u.cut(a.DeletesTo) {
			u.done.CutByTheJVM++
		}
	}
	if !a.Deleting && a.DeletesTo > 0 && u.requested > u.deleted {
		u.deletedTo(u.requested)
	}
}

// view checks the state that readers see in Go.
func (u *ledgerTurns) view() {
	u.Helper()
	var state totals
	version, err := u.watched.View(u.Context(), u.id, func(shown totals) error {
		state = shown
		return nil
	})
	if err != nil {
		u.fatal("view in Go: %v", err)
	}
	u.sameState("a View", state, version)
}

func (u *ledgerTurns) sameState(who string, state totals, version int64) {
	u.Helper()
	if got, want := typedOf(u, state), typedOf(u, u.state); !got.same(want) || version != u.highest {
		u.fatal("%s at %d has %s, want %s at %d\n%s", who, version, got.Value, want.Value, u.highest, u.table())
	}
}

// checkLedger checks the state in Go, and all events that both sides show. It ignores events that a
// stopped behavior may still delete.
func (u *ledgerTurns) checkLedger() {
	u.Helper()
	u.view()
	replayed := u.s.jvm.do(u, request{Op: "replay", PID: u.pid})
	if replayed.Highest != u.highest {
		u.fatal("the JVM finds the highest number %d, want %d\n%s", replayed.Highest, u.highest, u.table())
	}
	u.sameBeyond("Go", readGo(u, u.j, u.pid, dynajournal.Range{}), u.lowered())
	u.sameBeyond("the JVM", seenJVM(replayed), true)
}

// lowered reports whether two concurrent deletions of the behavior have, or may have, lowered its
// low mark. Then Go also hides the rest of an atomic write that they have cut.
func (u *ledgerTurns) lowered() bool {
	u.Helper()
	listing, err := u.j.List(u.Context(), u.pid)
	if err != nil {
		u.fatal("read the low marks: %v", err)
	}
	to := max(u.deleted, u.requested)
	return to > 0 && !slices.ContainsFunc(listing.LowMarks, func(low int64) bool { return low > to })
}

// cut reports whether a deletion up to a number cuts an atomic write.
func (u *ledgerTurns) cut(to int64) bool {
	return to < u.highest && u.events[to].first <= to // the event at to+1
}

// sameBeyond checks the events that a side shows. cutHidden says that the side hides an atomic
// write that a deletion has cut.
func (u *ledgerTurns) sameBeyond(side string, got []seen, cutHidden bool) {
	u.Helper()
	open := func(e seen) bool {
		n := e.seq
		if cutHidden && n <= int64(len(u.events)) {
			n = u.events[n-1].first
		}
		return e.seq > u.deleted && n <= u.requested
	}
	want := u.visible(0, cutHidden)
	if u.requested > u.deleted {
		got, want = slices.DeleteFunc(got, open), slices.DeleteFunc(want, open)
	}
	u.same(side, got, want)
}
