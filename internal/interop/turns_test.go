//go:build interop

package interop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
)

// turns is an entity that Go and a JVM use in turns, one at a time, with its expected state. After
// each step, both sides must find the same highest number, and every event that either side has
// acknowledged and that no deletion covers. A check does not recover in Go or start an actor, so it
// does not repair anything.
type turns struct {
	*testing.T

	// s is nil if no JVM reads the journal.
	s   *service
	j   *dynajournal.Journal
	pid string

	highest int64
	// deleted is the number up to which everything is deleted.
	deleted int64
	events  []turnEvent
	// snapshot is the number of the newest snapshot, or 0.
	snapshot int64
	// superseded is the number of the newest snapshot that was beyond the journal, or 0.
	superseded int64
	// history lists the steps so far, for error texts.
	history []string
}

// turnEvent is an acknowledged event, with the first number of its atomic write.
type turnEvent struct {
	seen

	first int64
}

func newTurns(t *testing.T, s *service, j *dynajournal.Journal) *turns {
	t.Helper()
	return &turns{T: t, s: s, j: j, pid: newPID(t)}
}

// fatal ends the test, and prints the history.
func (u *turns) fatal(format string, args ...any) {
	u.Helper()
	u.Fatalf("after %s:\n%s", strings.Join(u.history, ", "), fmt.Sprintf(format, args...))
}

func (u *turns) did(format string, args ...any) {
	u.history = append(u.history, fmt.Sprintf(format, args...))
}

// visible returns the events after a number that a side shows. Only Go shows the rest of an atomic
// write that a deletion cuts.
func (u *turns) visible(after int64, inJVM bool) []seen {
	var shown []seen
	for _, e := range u.events {
		if e.seq > max(after, u.deleted) && (!inJVM || e.first > u.deleted) {
			shown = append(shown, e.seen)
		}
	}
	return shown
}

// check checks the events that both sides read.
func (u *turns) check() {
	u.Helper()
	bounds, err := u.j.Bounds(u.Context(), u.pid)
	if err != nil {
		u.fatal("read the bounds: %v", err)
	}
	if bounds.Highest != u.highest {
		u.fatal("Go finds the highest number %d, want %d\n%s", bounds.Highest, u.highest, u.table())
	}
	u.same("Go", readGo(u, u.j, u.pid, dynajournal.Range{}), u.visible(0, false))
	if u.s == nil {
		return
	}
	replayed := u.s.jvm.ask(u, request{Op: "replay", PID: u.pid})
	if replayed.Failure != "" {
		u.fatal("the JVM fails to replay: %s", replayed.Failure)
	}
	if replayed.Highest != u.highest {
		u.fatal("the JVM finds the highest number %d, want %d\n%s", replayed.Highest, u.highest, u.table())
	}
	// Events that a snapshot beyond the journal covers are not removed: a JVM that replays from
	// before the snapshot may still show them.
	shown := slices.DeleteFunc(seenJVM(replayed), func(e seen) bool { return e.seq <= u.superseded })
	u.same("the JVM", shown, u.visible(0, true))
}

// same checks the events that a side sees.
func (u *turns) same(side string, got, want []seen) {
	u.Helper()
	if !slices.EqualFunc(got, want, func(a, b seen) bool { return a.seq == b.seq && a.event.same(b.event) }) {
		u.fatal("%s sees %v, want %v\n%s", side, spans(got), spans(want), u.table())
	}
}

// spans formats the numbers of events, with the values at both ends of each span.
func spans(events []seen) string {
	var text []string
	for first := 0; first < len(events); {
		last := first
		for last+1 < len(events) && events[last+1].seq == events[last].seq+1 {
			last++
		}
		text = append(text, fmt.Sprintf("%v to %v", events[first], events[last]))
		first = last + 1
	}
	return "[" + strings.Join(text, ", ") + "]"
}

// ranges formats ascending numbers, adjacent ones as a range.
func ranges(numbers []int64) string {
	var text []string
	for first := 0; first < len(numbers); {
		last := first
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		if first == last {
			text = append(text, fmt.Sprint(numbers[first]))
		} else {
			text = append(text, fmt.Sprintf("%d-%d", numbers[first], numbers[last]))
		}
		first = last + 1
	}
	return "[" + strings.Join(text, " ") + "]"
}

// table returns the stored numbers and marks of the entity, for error texts.
func (u *turns) table() string {
	listing, err := u.j.List(u.Context(), u.pid)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("stored: low marks %d, high marks %d, events %s, tombstones %s, seals %s",
		listing.LowMarks, listing.HighMarks, ranges(listing.SequenceNumbers), ranges(listing.Tombstones), ranges(listing.Seals))
}

// stored records acknowledged events.
func (u *turns) stored(atomically bool, values []any) {
	u.Helper()
	start := u.highest + 1
	for i, value := range values {
		seq := start + int64(i)
		first := seq
		if atomically {
			first = start
		}
		u.events = append(u.events, turnEvent{seen{seq, typedOf(u, value)}, first})
	}
	u.highest += int64(len(values))
}

// deletedTo records a deletion.
func (u *turns) deletedTo(to int64) { u.deleted = max(u.deleted, min(to, u.highest)) }

// operation is an operation of the side whose turn it is.
type operation struct {
	// singles is the number of events to write one by one. batch is the number of events in an
	// atomic write.
	singles, batch int
	// deleteTo is the last deleted number; all deletes everything.
	deleteTo int64
	// save saves a snapshot at the highest number.
	save bool
	// restart stops the entity and starts it again.
	restart bool
}

const all = int64(1) << 40

func (o operation) String() string {
	switch {
	case o.singles > 0:
		return fmt.Sprintf("writes %d", o.singles)
	case o.batch > 0:
		return fmt.Sprintf("writes %d atomically", o.batch)
	case o.deleteTo == all:
		return "deletes all"
	case o.deleteTo > 0:
		return fmt.Sprintf("deletes to %d", o.deleteTo)
	case o.save:
		return "saves a snapshot"
	}
	return "restarts"
}

// values returns the values of an operation that writes.
func (u *turns) values(o operation) []any {
	return texts(fmt.Sprintf("after-%d", u.highest), o.singles+o.batch)
}

// byGo is a turn of Go: it recovers, runs the operations, and stops.
func (u *turns) byGo(operations ...operation) {
	u.Helper()
	u.did("Go recovers")
	w := u.recoverGo()
	for _, o := range operations {
		u.did("%v", o)
		switch {
		case o.singles+o.batch > 0:
			values := u.values(o)
			w.appendAll(u, o.batch > 0, values...)
			u.stored(o.batch > 0, values)
		case o.deleteTo > 0:
			if _, err := w.DeleteTo(u.Context(), o.deleteTo); err != nil {
				u.fatal("delete in Go: %v", err)
			}
			u.deletedTo(o.deleteTo)
		case o.save && u.highest > 0:
			saveGo(u, u.j, u.pid, u.highest, fmt.Sprintf("state at %d", u.highest))
			u.snapshot = u.highest
		case o.restart:
			w = u.recoverGo()
		}
		u.check()
	}
}

// recoverGo recovers in Go from the newest snapshot, like an application.
func (u *turns) recoverGo() recovered {
	u.Helper()
	if loaded := loadGo(u, u.j, u.pid, dynajournal.SnapshotCriteria{}); loaded.seq != u.snapshot {
		u.fatal("Go loads the snapshot at %d, want %d", loaded.seq, u.snapshot)
	}
	w := recoverGo(u, u.j, u.pid, u.snapshot)
	next, err := w.NextSequenceNumber(u.Context())
	if err != nil || next != u.highest+1 {
		u.fatal("Go continues at %d (%v), want %d\n%s", next, err, u.highest+1, u.table())
	}
	u.same("Go, recovering,", w.events, u.visible(u.snapshot, false))
	u.check()
	return w
}

// byJVM is a turn of the JVM: a persistent actor starts, runs the operations, and stops.
func (u *turns) byJVM(operations ...operation) {
	u.Helper()
	u.did("the JVM starts")
	u.start()
	for _, o := range operations {
		u.did("%v", o)
		switch {
		case o.singles+o.batch > 0:
			values := u.values(o)
			u.s.persistJVM(u, u.pid, o.batch > 0, values...)
			u.stored(o.batch > 0, values)
		case o.deleteTo > 0:
			// An actor must not delete beyond the highest number that it knows.
			u.s.deleteJVM(u, u.pid, min(o.deleteTo, u.highest))
			u.deletedTo(o.deleteTo)
		case o.save && u.highest > 0:
			state := typedOf(u, fmt.Sprintf("state at %d", u.highest))
			u.s.jvm.do(u, request{Op: "save", PID: u.pid, State: &state})
			u.snapshot = u.highest
		case o.restart:
			u.s.stopJVM(u, u.pid)
			u.start()
		}
		u.check()
	}
	u.s.stopJVM(u, u.pid)
}

// start starts the actor.
func (u *turns) start() {
	u.Helper()
	started := u.s.startJVM(u, u.pid)
	snapshot := int64(0)
	if started.Snapshot != nil {
		snapshot = *started.Snapshot
	}
	if snapshot != u.snapshot {
		u.fatal("the JVM begins with the snapshot at %d, want %d", snapshot, u.snapshot)
	}
	if started.Last != u.highest {
		u.fatal("the JVM continues after %d, want %d\n%s", started.Last, u.highest, u.table())
	}
	u.same("the JVM, starting,", seenJVM(started), u.visible(u.snapshot, true))
}

// goesOnAfterSnapshot makes Go continue after a snapshot that is newer than the journal. Everything
// before it counts as deleted.
func (u *turns) goesOnAfterSnapshot(beyond int64) {
	u.Helper()
	seq := u.highest + beyond
	u.did("Go continues after a snapshot at %d", seq)
	saveGo(u, u.j, u.pid, seq, fmt.Sprintf("state at %d", seq))
	loseJournal(u, u.j, u.pid, seq)
	u.snapshot, u.highest, u.deleted, u.superseded = seq, seq, seq, seq
	u.recoverGo()
}

// purge makes Go purge the entity. Its numbers start again.
func (u *turns) purge() {
	u.Helper()
	u.did("Go purges")
	if _, err := u.recoverGo().Purge(u.Context(), dynajournal.PurgeOptions{}); err != nil {
		u.fatal("purge in Go: %v", err)
	}
	u.highest, u.deleted, u.snapshot, u.superseded, u.events = 0, 0, 0, 0, nil
	u.check()
}

// expire removes the tombstones for which the function returns true, as DynamoDB does when they
// expire.
func (u *turns) expire(which func() bool) {
	u.Helper()
	u.did("tombstones expire")
	listing, err := u.j.List(u.Context(), u.pid)
	if err != nil {
		u.fatal("list the items: %v", err)
	}
	for _, n := range listing.Tombstones {
		if which() {
			u.s.lose(u, u.pid, n)
		}
	}
	u.check()
}

func always() bool { return true }

// goesOn runs several turns of both sides after a deletion in Go. The numbers must continue, and no
// stored event may be lost.
func (u *turns) goesOn(saves bool) {
	u.Helper()
	save := operation{save: saves, restart: !saves}
	// The JVM writes, deletes a part and then everything, stops and starts.
	u.byJVM(operation{singles: 5}, save, operation{restart: true})
	u.byJVM(operation{deleteTo: u.highest - 3}, operation{restart: true}, operation{singles: 1}, operation{deleteTo: all})
	u.byJVM()
	u.byJVM(operation{singles: 2}, operation{restart: true})
	// Go does the same, after the JVM's deletion.
	u.byGo(operation{singles: 4}, operation{batch: 4}, save, operation{deleteTo: u.highest + 3}, operation{restart: true})
	u.byJVM(operation{batch: 3}, operation{deleteTo: u.highest - 2}, operation{restart: true}, operation{singles: 1})
	u.byGo(operation{deleteTo: all}, operation{restart: true})
	// The JVM deletes up to a number below Go's deletion.
	u.byJVM(operation{singles: 2}, operation{deleteTo: max(u.deleted-5, 1)}, operation{restart: true})
	u.byJVM(operation{deleteTo: all}, operation{restart: true}, operation{batch: 2}, save)
	u.expire(always)
	u.byJVM(operation{singles: 1})
	u.byGo(operation{singles: 1}, operation{restart: true})
}

// Strictly one side writes at a time. Go deletes up to any number, and the numbers must continue
// for both sides.
func TestNumbersGoOnAfterADeletionInGo(t *testing.T) {
	deletions := map[string][]operation{
		"10 of 20":                {{singles: 20}, {deleteTo: 10}},
		"20 of 20":                {{singles: 20}, {deleteTo: 20}},
		"across 99":               {{singles: 120}, {deleteTo: 110}},
		"99 of 120":               {{singles: 120}, {deleteTo: 99}},
		"100 of 120":              {{singles: 120}, {deleteTo: 100}},
		"150 of 160":              {{singles: 160}, {deleteTo: 150}},
		"99 of 99":                {{singles: 99}, {deleteTo: all}},
		"100 of 100":              {{singles: 100}, {deleteTo: all}},
		"199 of 199":              {{singles: 199}, {deleteTo: all}},
		"199 of 205":              {{singles: 205}, {deleteTo: 199}},
		"200 of 205":              {{singles: 205}, {deleteTo: 200}},
		"200 of 200":              {{singles: 200}, {deleteTo: all}},
		"inside a batch":          {{singles: 10}, {batch: 10}, {deleteTo: 15}},
		"inside a batch over 100": {{singles: 95}, {batch: 10}, {singles: 2}, {deleteTo: 99}},
		"twice":                   {{singles: 60}, {deleteTo: 30}, {deleteTo: 50}},
		"all, twice":              {{singles: 20}, {deleteTo: all}, {singles: 10}, {deleteTo: all}},
	}
	eachPlugin(t, func(t *testing.T, s *service) {
		j := s.open(t)
		for _, saves := range []bool{false, true} {
			for name, operations := range deletions {
				if saves {
					name += ", with snapshots"
				}
				t.Run(name, func(t *testing.T) {
					u := newTurns(t, s, j)
					if last := len(operations) - 1; saves {
						operations = slices.Insert(slices.Clone(operations), last, operation{save: true})
					}
					u.byGo(operations...)
					u.goesOn(saves)
				})
			}
		}
	})
}

// A JVM writes the events, and Go only deletes them.
func TestNumbersGoOnAfterADeletionInGoOfAJVMsEvents(t *testing.T) {
	eachChosen(t, func(t *testing.T, s *service) {
		j := s.open(t)
		for name, do := range map[string]struct {
			before []operation
			to     int64
		}{
			"a part":                      {[]operation{{singles: 20}}, 10},
			"all":                         {[]operation{{singles: 20}}, all},
			"a part after its own":        {[]operation{{singles: 60}, {deleteTo: 30}}, 40},
			"all after its own":           {[]operation{{singles: 120}, {deleteTo: 30}}, all},
			"the rest of a write":         {[]operation{{singles: 97}, {batch: 6}, {deleteTo: 98}}, 101},
			"less than the JVM's own":     {[]operation{{singles: 20}, {deleteTo: 10}}, 5},
			"everything, which was empty": {[]operation{{singles: 20}, {deleteTo: all}}, all},
		} {
			t.Run(name, func(t *testing.T) {
				u := newTurns(t, s, j)
				u.byJVM(do.before...)
				u.byGo(operation{deleteTo: do.to})
				u.goesOn(false)
			})
		}
	})
}

// Go continues after a snapshot that is newer than the journal. Then the JVM takes over the entity.
func TestNumbersGoOnAfterASnapshotBeyondTheJournal(t *testing.T) {
	eachChosen(t, func(t *testing.T, s *service) {
		j := s.open(t)
		for name, test := range map[string]struct {
			before int
			beyond int64
		}{
			"in the same block":       {3, 47},
			"at the end of a block":   {3, 96},
			"at the beginning of one": {3, 97},
			"in another block":        {3, 247},
			"of an empty journal":     {0, 250},
			"after a longer journal":  {105, 145},
		} {
			t.Run(name, func(t *testing.T) {
				u := newTurns(t, s, j)
				if test.before > 0 {
					u.byJVM(operation{singles: test.before})
				}
				u.goesOnAfterSnapshot(test.beyond)
				u.goesOn(true)
			})
		}
	})
}

// A purged persistence id starts again at 1, for both sides.
func TestPurge_NumbersStartAgain(t *testing.T) {
	eachChosen(t, func(t *testing.T, s *service) {
		j := s.open(t)
		u := newTurns(t, s, j)
		for _, events := range []int{20, 120} {
			u.byJVM(operation{singles: events}, operation{save: true})
			u.byGo(operation{deleteTo: int64(events) - 5}, operation{singles: 2})
			u.purge()
			u.byJVM(operation{singles: 3})
			u.byGo(operation{deleteTo: all})
			u.byJVM(operation{singles: 3}, operation{deleteTo: all}, operation{restart: true}, operation{singles: 1})
			u.purge()
		}
		u.goesOnFresh()
	})
}

// goesOnFresh is goesOn for an entity without events.
func (u *turns) goesOnFresh() {
	u.Helper()
	u.byGo(operation{singles: 20}, operation{deleteTo: 10})
	u.goesOn(false)
}
