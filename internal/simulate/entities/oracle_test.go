package entities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
)

// oracle checks all results against the stored events. It reads the journal without faults.
type oracle struct {
	g *simulation

	mu    sync.Mutex
	clock int
	logs  []*log
	wrong error
}

// log has all events that were ever stored of an entity, and the results of calls on it.
type log struct {
	entity int
	// events has all events that were ever visible, including the events of earlier lives: a life
	// ends with a purge.
	events []logged
	// last is the state after all events.
	last point
	// start is the index of the first event of this life.
	start int
	lives int
	// at has the index after the last event of a state, by its digest.
	at map[uint64]int
	// stored has the events of each command.
	stored map[int][]logged
	// named has, for each id, the commands of this life with stored events. There may be at most
	// one.
	named map[string][]int
	// purged has the same of earlier lives.
	purged map[string][]int
	// refused has the commands that have failed permanently, with the reasons.
	refused map[int]string
	// given has the rising highest versions that calls have returned, with the times.
	given []given
	// memory has, for each life of a host, the number of events that its views in memory have
	// shown.
	memory map[*host]int
	// closed reports whether the entity is being purged.
	closed bool
	judged []operation
}

type given struct {
	version int64
	when    time.Time
}

// logged is a stored event, the state after it, and when the oracle has seen it.
type logged struct {
	Event

	number int64
	after  point
	when   int
}

func newOracle(g *simulation) *oracle {
	o := &oracle{g: g}
	for e := range g.entities {
		o.logs = append(o.logs, &log{
			entity: e, at: map[uint64]int{}, stored: map[int][]logged{}, named: map[string][]int{}, purged: map[string][]int{}, refused: map[int]string{}, memory: map[*host]int{},
		})
	}
	return o
}

// fail records the first error.
func (o *oracle) fail(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failLocked(format, args...)
}

func (o *oracle) failLocked(format string, args ...any) {
	if o.wrong == nil {
		o.wrong = fmt.Errorf(format, args...)
		o.g.trace("wrong", o.wrong)
	}
}

func (o *oracle) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.wrong
}

func (o *oracle) count(stats entity.Stats) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.g.sum.add(stats)
}

func (o *oracle) tick() int {
	o.clock++
	return o.clock
}

// start records the oracle's state in a call that begins.
func (o *oracle) start(c *call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.logs[c.entity]
	c.start, c.seen, c.knew = o.tick(), l.seen(), l.memory[c.host]
}

// seen returns the highest version that a call has returned.
func (l *log) seen() int64 {
	if len(l.given) == 0 {
		return 0
	}
	return l.given[len(l.given)-1].version
}

// give records that a call has returned a version.
func (l *log) give(version int64) {
	if version > l.seen() {
		l.given = append(l.given, given{version, time.Now()})
	}
}

// givenBefore returns the highest version that a call had returned before a time.
func (l *log) givenBefore(when time.Time) int64 {
	var version int64
	for _, g := range l.given {
		if g.when.Before(when) {
			version = g.version
		}
	}
	return version
}

// readNew reads the events that were stored since its last call.
func (o *oracle) readNew() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.logs {
		o.readNewOf(l)
	}
}

func (o *oracle) readNewOf(l *log) {
	for event, err := range o.g.auditor.Events(context.Background(), pid(l.entity), dynajournal.Range{From: l.last.version + 1}) {
		if err != nil {
			o.failLocked("read %s: %v", pid(l.entity), err)
			return
		}
		value, err := event.Payload(context.Background())
		if err != nil {
			o.failLocked("read %s: %v", pid(l.entity), err)
			return
		}
		o.append(l, value.(Event), event.SequenceNumber)
	}
}

// append checks the next stored event.
func (o *oracle) append(l *log, e Event, number int64) {
	own := l.stored[e.Command]
	switch {
	case e.Index == 0 && e.Digest != l.last.digest:
		o.failLocked("%s: event %d of command %d was decided on another state than that before it, of version %d: it was on version %d",
			pid(l.entity), number, e.Command, l.last.version, e.Version)
	case e.Index == 0 && !l.isVersion(e.Version, len(l.events)):
		o.failLocked("%s: event %d of command %d was decided on version %d, before it is %d", pid(l.entity), number, e.Command, e.Version, l.last.version)
	case e.Index == 0 && len(own) > 0:
		o.failLocked("%s: command %d is stored twice, by runs %d and %d", pid(l.entity), e.Command, own[0].Run, e.Run)
	case e.Index > 0 && (len(own) != e.Index || own[len(own)-1].Run != e.Run || own[len(own)-1].number != number-1):
		o.failLocked("%s: event %d of command %d at %d does not follow the one before it: %v", pid(l.entity), e.Index, e.Command, number, own)
	case l.refused[e.Command] != "":
		o.failLocked("%s: the event %s is stored, but its command has failed: %s", pid(l.entity), e.Text, l.refused[e.Command])
	}
	if e.Index == 0 && e.ID != "" {
		l.named[e.ID] = append(l.named[e.ID], e.Command)
		if len(l.named[e.ID]) > 1 {
			o.failLocked("%s: commands %d with the id %q are stored", pid(l.entity), l.named[e.ID], e.ID)
		}
	}
	state := next(State{Register: l.last.register, Counter: l.last.counter, Digest: l.last.digest}, &e)
	if state.Counter < 0 {
		o.failLocked("%s: the counter is %d after event %d", pid(l.entity), state.Counter, number)
	}
	l.last = pointOf(&state, number)
	entry := logged{e, number, l.last, o.tick()}
	l.events = append(l.events, entry)
	l.stored[e.Command] = append(own, entry)
	l.at[state.Digest] = len(l.events)
	o.g.sum.events++
	o.g.trace("stored", fmt.Sprintf("%s %d %s", pid(l.entity), number, e.Text))
}

// index returns the number of events that lead to a state.
func (l *log) index(p point) (int, bool) {
	if p.digest == 0 {
		return l.start, true
	}
	index, ok := l.at[p.digest]
	return index, ok
}

// ends reports whether the last event of one of the commands has the number.
func (l *log) ends(commands []int, number int64) bool {
	return slices.ContainsFunc(commands, func(command int) bool {
		events := l.stored[command]
		return events[len(events)-1].number == number
	})
}

// isVersion reports whether version is the version of the state after the first index events. A
// state without events has version 0, or a number that a purge has taken: of the last purge or, in
// a process that does not know of it yet, of an earlier one.
func (l *log) isVersion(version int64, index int) bool {
	lastLife := index > 0 && l.events[index-1].number == version
	if index == l.start && !lastLife {
		return version == 0 || l.lives > 0 && !slices.ContainsFunc(l.events, func(e logged) bool { return e.number == version })
	}
	return index > 0 && l.events[index-1].number == version
}

// prefix checks a state that a call has returned: it must be the state after the first stored
// events. It returns the number of these events.
func (o *oracle) prefix(l *log, c *call, p point) int {
	index, ok := l.index(p)
	switch {
	case !ok:
		o.failLocked("%v was given a state of version %d that is not durable", c, p.version)
		return 0
	case !l.isVersion(p.version, index):
		o.failLocked("%v was given the version %d for the state after %d events", c, p.version, index)
	case index > l.start && (l.events[index-1].after.register != p.register || l.events[index-1].after.counter != p.counter):
		o.failLocked("%v was given %+v, which is %+v", c, p, l.events[index-1].after)
	}
	return index
}

func (o *oracle) outcome(c *call, err error) {
	name := "ok"
	switch {
	case err == nil:
	case errors.Is(err, errOwn), errors.Is(err, errTooFew):
		name = "own error"
	default:
		name = "another error"
		for _, known := range []error{
			entity.ErrOutcomeUnknown, entity.ErrBusy, entity.ErrClosed, entity.ErrContended, entity.ErrDuplicate, entity.ErrPanic, entity.ErrVersion,
			dynajournal.ErrThrottled, dynajournal.ErrRejected, context.Canceled, context.DeadlineExceeded,
		} {
			if errors.Is(err, known) {
				name = known.Error()
				break
			}
		}
	}
	o.g.sum.outcomes[name]++
	o.g.trace("ended", fmt.Sprint(c, ": ", err))
	for _, known := range unexpected {
		if errors.Is(err, known) && !errors.Is(err, entity.ErrOutcomeUnknown) {
			o.failLocked("%v: %v", c, err)
		}
	}
	if _, ok := errors.AsType[*entity.PanicError](err); ok && c.what != recordAndPanic {
		o.failLocked("%v: %v", c, err)
	}
}

// refused records that a command has failed, so that no event of it may be stored.
func (o *oracle) refused(c *call, why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refuse(c, why)
}

func (o *oracle) refuse(c *call, why string) {
	l := o.logs[c.entity]
	l.refused[c.number] = why
	if len(l.stored[c.number]) > 0 {
		o.failLocked("%v has failed, but it is stored: %s", c, why)
	}
}

func (o *oracle) dropped(c *call, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.outcome(c, err)
}

// updated checks the result of a command.
func (o *oracle) updated(c *call, receipt entity.Receipt, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.outcome(c, err)
	l := o.logs[c.entity]
	o.readNewOf(l)
	c.ended = o.tick()
	duplicate, isDuplicate := errors.AsType[*entity.DuplicateError](err)
	version, isVersion := errors.AsType[*dynajournal.VersionError](err)
	switch {
	case err == nil && len(c.recorded) > 0:
		o.acknowledged(l, c, receipt)
	case err == nil || errors.Is(err, errOwn) || errors.Is(err, errTooFew):
		if err != nil {
			o.refuse(c, err.Error())
		} else if receipt.Version != c.before.version || receipt.Events != 0 {
			o.failLocked("%v has read version %d, its receipt is %+v", c, c.before.version, receipt)
		}
		o.prefix(l, c, c.before)
		if c.fresh && c.before.version < c.seen && c.before.version > 0 {
			o.failLocked("%v was given version %d, which is older than %d, which was given before", c, c.before.version, c.seen)
		}
		if c.at && c.before.version != c.version {
			o.failLocked("%v was decided on version %d, not %d", c, c.before.version, c.version)
		}
		l.give(c.before.version)
		if c.fresh && c.before.version > 0 {
			l.judged = append(l.judged, readOperation(c, c.before))
		}
	case isDuplicate:
		// It may be a duplicate of itself: its events were stored by a write whose response was
		// lost, and then deleted.
		if len(l.stored[c.number]) == 0 {
			o.refuse(c, err.Error())
		}
		switch {
		case l.ends(l.named[c.name], duplicate.Version):
			l.give(duplicate.Version)
		// A host need not know of a purge by another one.
		case c.fresh || !l.ends(l.purged[c.name], duplicate.Version):
			o.failLocked("%v is a duplicate of version %d, with which it has not ended", c, duplicate.Version)
		}
	case isVersion:
		o.refuse(c, err.Error())
		durable := slices.ContainsFunc(l.events, func(e logged) bool { return e.number == version.Last }) || l.isVersion(version.Last, l.start)
		if !c.at || version.Expected != c.version || version.Last == c.version || !durable {
			o.failLocked("%v: %v, there are %v", c, err, l.last)
		}
		l.give(version.Last)
	case !dynajournal.MaybeApplied(err):
		o.refuse(c, err.Error())
	case !errors.Is(err, entity.ErrOutcomeUnknown):
		o.failLocked("%v may have been applied, but has the error %v", c, err)
	}
}

// acknowledged checks the result of a command with events.
func (o *oracle) acknowledged(l *log, c *call, receipt entity.Receipt) {
	events := l.stored[c.number]
	if len(events) != len(c.recorded) || events[0].Text != c.recorded[0].Text {
		o.failLocked("%v was acknowledged in run %d with %+v, stored is %v, the last event is at %d", c, c.runs, receipt, events, l.last.version)
		return
	}
	last := events[len(events)-1]
	switch {
	case receipt.Version != last.number || receipt.Events != len(events):
		o.failLocked("%v was stored up to %d, its receipt is %+v", c, last.number, receipt)
	case c.after.version != last.number:
		o.failLocked("%v was shown the version %d after its events, which was stored at %d", c, c.after.version, last.number)
	case events[0].number <= c.seen:
		o.failLocked("%v is stored at %d, but version %d was given before it began", c, events[0].number, c.seen)
	case c.at && events[0].Version != c.version:
		o.failLocked("%v was decided on version %d, not %d", c, events[0].Version, c.version)
	}
	o.prefix(l, c, c.after)
	c.acknowledged = true
	l.give(last.number)
}

// viewed checks the result of a view.
func (o *oracle) viewed(c *call, s *State, version int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.outcome(c, err)
	if err != nil {
		return
	}
	l := o.logs[c.entity]
	o.readNewOf(l)
	c.ended = o.tick()
	shown := pointOf(s, version)
	index := o.prefix(l, c, shown)
	if known := len(s.Seen); index > l.start && known != index-l.start || shown.digest == 0 && known > 0 {
		o.failLocked("%v was shown the texts of %d events in a state after %d", c, known, index-l.start)
	}
	switch c.what {
	case view:
		if version < c.seen && version > 0 {
			o.failLocked("%v was shown version %d, which is older than %d, which was given before", c, version, c.seen)
		}
		if index > l.start {
			l.judged = append(l.judged, readOperation(c, shown))
		}
	case viewOfAge:
		age := ages[c.size%len(ages)]
		if before := l.givenBefore(c.called.Add(-age)); version < before && version > 0 {
			o.failLocked("%v was shown version %d, which is older than %d, which was given %v before", c, version, before, age)
		}
	}
	if index < c.knew {
		o.failLocked("%v was shown %d events, after %d in the same host", c, index, c.knew)
	}
	l.memory[c.host] = max(l.memory[c.host], index)
	l.give(version)
}

// purged begins another life of an entity.
func (o *oracle) purged(entity int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.logs[entity]
	l.lives++
	l.start, l.last = len(l.events), point{version: l.last.version}
	if o.g.shared { // nothing is left, and the numbers start again
		l.last.version = 0
	}
	for name, commands := range l.named {
		l.purged[name] = append(l.purged[name], commands...)
	}
	l.named, l.given = map[string][]int{}, nil
	l.judged = append(l.judged, cleared(o.tick(), o.tick()))
}

// finish checks the remaining results at the end.
func (o *oracle) finish() {
	o.readNew()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.logs {
		o.compare(l)
		o.inOrder(l)
		if err := o.linearizable(l); err != nil {
			o.failLocked("%s: %w", pid(l.entity), err)
		}
	}
	o.goOn()
}

// compare compares the events that are stored now with the events that were stored in this life.
func (o *oracle) compare(l *log) {
	var numbers []int64
	for event, err := range o.g.auditor.Events(context.Background(), pid(l.entity), dynajournal.Range{}) {
		if err != nil {
			o.failLocked("read %s: %v", pid(l.entity), err)
			return
		}
		numbers = append(numbers, event.SequenceNumber)
	}
	var want []int64
	for _, e := range l.events[l.start:] {
		if len(numbers) > 0 && e.number >= numbers[0] {
			want = append(want, e.number)
		}
	}
	if !slices.Equal(numbers, want) {
		o.failLocked("%s: there were %v, now there are %v", pid(l.entity), want, numbers)
	}
}

// inOrder checks that the commands of each host are stored in the order of their calls.
func (o *oracle) inOrder(l *log) {
	last := map[*host]int{}
	for _, e := range l.events {
		c := o.g.calls[e.Command]
		// A fresh command reads before it takes its turn. A command with an id may be decided again
		// after its id was looked up.
		if c.fresh || c.name != "" || e.Index > 0 {
			continue
		}
		if before, ok := last[c.host]; ok && before > c.number {
			o.failLocked("%s: call %d is stored after %d of the same host", pid(l.entity), c.number, before)
		}
		last[c.host] = c.number
	}
}

// goOn opens the entities again, with and without snapshots, and runs a command on each.
func (o *oracle) goOn() {
	for _, snapshots := range []entity.Snapshots{{}, {Every: 2}} {
		entities := o.g.open(o.g.auditor, snapshots)
		for _, l := range o.logs {
			var seen State
			version, err := entities.View(context.Background(), id(l.entity), func(s State) error {
				seen = clone(s)
				return nil
			})
			index, ok := l.index(pointOf(&seen, version))
			if err != nil || !ok || index != len(l.events) || len(seen.Seen) != index-l.start || !l.isVersion(version, index) {
				o.failLocked("%s: at the end there are %d events, the last is %d, and a new host is shown %d, version %d: %v",
					pid(l.entity), len(l.events), l.last.version, index, version, err)
			}
		}
		if err := entities.Close(context.Background()); err != nil {
			o.failLocked("close: %v", err)
		}
	}
}
