package simulate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/explore"
)

// call starts a call of an actor.
func (g *simulation) call(a *actor, c command) {
	if g.erasing[c.entity] || a.writer != nil && g.erasing[a.entity] {
		return // it is being erased, and must not be used meanwhile
	}
	if needsWriter(c.kind) {
		if a.writer == nil {
			c.kind = recoverEntity
		} else {
			c.entity = a.entity
		}
	}
	if g.copies.reserved[c.entity] != nil && !readOnly(c.kind) {
		return // a copy is filling it, and no other writer may write to it
	}
	var do func(ctx context.Context) error
	switch c.kind {
	case recoverEntity:
		do = func(ctx context.Context) error { return g.recover(ctx, a, c.entity, dynajournal.RecoverOptions{}, nil) }
	case recoverFromSnapshot:
		do = func(ctx context.Context) error { return g.recoverFromSnapshot(ctx, a, c.entity) }
	case readEvents:
		do = func(ctx context.Context) error { return g.read(ctx, a.journal, c.entity, int64(c.size)) }
	case listIDs:
		do = func(ctx context.Context) error { return g.list(ctx, a.journal, c.size%2 == 0) }
	case loadSnapshot:
		most := []int64{math.MaxInt64, int64(c.size)}[c.size%2]
		do = func(ctx context.Context) error { _, _, err := g.load(ctx, a.journal, c.entity, most); return err }
	case deleteSnapshots:
		do = func(ctx context.Context) error { return g.deleteSnapshots(ctx, a, c.entity, int64(c.size)) }
	case verifyEntity, repairEntity, repairDryRun, repairOrphans, repairIncomplete, repairMark, repairWithAll:
		do = func(ctx context.Context) error {
			return g.verify(ctx, a.journal, c.entity, c.kind, nil)
		}
	case copyOther, copyRelated, copyBeginning, copyAgain:
		do = g.copying(c)
	default:
		do = g.writing(a, c)
	}
	if do == nil {
		return
	}
	g.sum.calls[c.kind]++
	g.sum.operations++
	ctx, cancel := context.WithCancel(g.Context())
	a.busy, a.cancel, a.doing, a.on = make(chan struct{}), cancel, c.kind, c.entity
	go func() {
		defer close(a.busy)
		defer cancel()
		err := do(ctx)
		if ended(err) {
			a.writer = nil
		}
		if errors.Is(err, dynajournal.ErrOutcomeUnknown) {
			g.checkLater(func() { g.left[c.entity] = time.Now() })
		}
		g.trace(a.name+" ended", err)
	}()
}

// needsWriter reports whether a kind of call needs a writer.
func needsWriter(k kind) bool {
	switch k {
	case appendBatch, appendSingles, deletePrefix, saveSnapshot, purgeEntity:
		return true
	}
	return false
}

// readOnly reports whether a kind of call may run during a copy into an empty persistence id.
func readOnly(k kind) bool {
	switch k {
	case readEvents, listIDs, verifyEntity, repairDryRun, copyOther, copyRelated, copyBeginning, copyAgain:
		return true
	}
	return false
}

// writing returns a call with an actor's writer, or nil if no such call is allowed.
func (g *simulation) writing(a *actor, c command) func(ctx context.Context) error {
	switch c.kind {
	case appendBatch:
		return func(ctx context.Context) error { return g.append(ctx, a, c.size) }
	case appendSingles:
		return func(ctx context.Context) error { return g.appendEach(ctx, a, c.size%7+1) }
	case deletePrefix:
		return func(ctx context.Context) error { return g.delete(ctx, a, c.size) }
	case saveSnapshot:
		// Snapshots are not fenced: a snapshot that is saved during a purge, or after it from an
		// older state, outlives the purge. A state that was recovered during a purge may be older.
		if len(a.knows) == 0 || a.purges != g.purges[a.entity] || g.beingPurged(a.entity) {
			return nil
		}
		return func(ctx context.Context) error { return g.save(ctx, a) }
	case purgeEntity:
		return g.purging(a, g.shared || c.size%3 == 0)
	}
	panic(kinds[c.kind])
}

// patience is longer than the background writes of a journal take: they wait for connections, and
// each put has its own timeout.
const patience = 10 * dynajournal.DefaultOperationTimeout

// purging returns a purge, or nil if a purge is not allowed. A purge that erases does not fence
// writers: no other writer may be active or have requests in flight, and the id must not be used
// until the purge and its requests have ended.
func (g *simulation) purging(a *actor, now bool) func(context.Context) error {
	for _, other := range g.actors {
		if other != a && !other.idle() && other.on == a.entity && other.doing == saveSnapshot {
			return nil
		}
	}
	if g.snapshotsUnderWay(a.entity) || now && !g.alone(a, a.entity) {
		return nil
	}
	if now {
		g.sum.erasures++
		g.erasing[a.entity] = true
		g.dismiss(a, a.entity)
	}
	g.purges[a.entity]++
	return func(ctx context.Context) error { return g.purge(ctx, a, now) }
}

// beingPurged reports whether a purge of an entity is under way.
func (g *simulation) beingPurged(entity int) bool {
	return slices.ContainsFunc(g.actors, func(a *actor) bool { return !a.idle() && a.doing == purgeEntity && a.on == entity })
}

// alone reports whether only one actor uses an entity, and no request of others is in flight.
func (g *simulation) alone(a *actor, entity int) bool {
	for _, other := range g.actors {
		if other != a && !other.idle() && other.on == entity {
			return false
		}
	}
	return !g.underWay(entity) && time.Since(g.left[entity]) >= patience
}

// dismiss makes all other actors drop their writers of an entity.
func (g *simulation) dismiss(a *actor, entity int) {
	for _, other := range g.actors {
		if other != a && other.entity == entity {
			other.writer = nil
		}
	}
}

func (g *simulation) snapshotsUnderWay(entity int) bool {
	about := func(r *explore.Request) bool {
		return r.Changes() && bytes.Contains(r.Body, []byte(snapshotTable)) && bytes.Contains(r.Body, []byte(pid(entity)))
	}
	return slices.ContainsFunc(g.net.Late(), about) || slices.ContainsFunc(g.inside, func(i inside) bool { return about(i.Request) })
}

// ended reports whether an error has certainly ended the writer.
func ended(err error) bool {
	return errors.Is(err, dynajournal.ErrWriterConflict) || errors.Is(err, dynajournal.ErrOutcomeUnknown) || errors.Is(err, dynajournal.ErrWriterEnded)
}

func (g *simulation) recover(
	ctx context.Context, a *actor, entity int, opts dynajournal.RecoverOptions, knows []explore.Event,
) error {
	l, purges := g.ledgers[entity], g.purges[entity]
	start := l.StartRead()
	a.writer = nil
	var got []explore.Event
	w, err := a.journal.Recover(ctx, pid(entity), opts, func(e dynajournal.Event) error {
		got = append(got, explore.Event{Number: e.SequenceNumber, Text: string(e.Bytes)})
		return nil
	})
	if err != nil {
		return err
	}
	knows = append(knows, got...)
	g.checkLater(func() {
		l.Recovered(start, got, knows)
		l.Read(opts.Snapshot+1, start, got)
	})
	a.writer, a.entity, a.knows, a.purges = w, entity, knows, purges
	return nil
}

// recoverFromSnapshot loads the newest snapshot, and recovers the events after it.
func (g *simulation) recoverFromSnapshot(ctx context.Context, a *actor, entity int) error {
	number, state, err := g.load(ctx, a.journal, entity, math.MaxInt64)
	if err != nil {
		return err
	}
	var knows []explore.Event
	if number > 0 {
		if knows, err = eventsOf(state); err != nil {
			return err
		}
	}
	return g.recover(ctx, a, entity, dynajournal.RecoverOptions{Snapshot: number}, knows)
}

// load loads the newest snapshot up to a number. It returns 0 if there is no snapshot.
func (g *simulation) load(ctx context.Context, j *dynajournal.Journal, entity int, most int64) (int64, string, error) {
	s := g.snapshots[entity]
	start := s.now()
	snapshot, found, err := j.LoadSnapshot(ctx, pid(entity), dynajournal.SnapshotCriteria{MaxSequenceNumber: most})
	if err != nil {
		return 0, "", err
	}
	var number int64
	if found {
		number = snapshot.SequenceNumber
	}
	g.checkLater(func() { g.fail(s.loaded(start, most, number, string(snapshot.Bytes))) })
	return number, string(snapshot.Bytes), nil
}

// save saves the state that the actor knows.
func (g *simulation) save(ctx context.Context, a *actor) error {
	// All states of a process are different, so a loaded state identifies its save.
	a.saves++
	number, state := a.knows[len(a.knows)-1].Number, stateOf(a.knows)+strings.Repeat(" ", a.saves)
	g.snapshots[a.entity].saving(number, state)
	_, err := a.journal.SaveSnapshot(ctx, dynajournal.SnapshotMetadata{PersistenceID: pid(a.entity), SequenceNumber: number}, state)
	return err
}

func (g *simulation) deleteSnapshots(ctx context.Context, a *actor, entity int, most int64) error {
	s := g.snapshots[entity]
	start := s.now()
	_, err := a.journal.DeleteSnapshots(ctx, pid(entity), dynajournal.SnapshotCriteria{MaxSequenceNumber: most})
	if err == nil {
		g.checkLater(func() { g.fail(s.deleted(start, most)) })
	}
	return err
}

func (g *simulation) read(ctx context.Context, j *dynajournal.Journal, entity int, from int64) error {
	l := g.ledgers[entity]
	read, start := l.StartRead(), g.cells[entity].now()
	var got []explore.Event
	for e, err := range j.Events(ctx, pid(entity), dynajournal.Range{From: from}) {
		if err != nil {
			return err
		}
		got = append(got, explore.Event{Number: e.SequenceNumber, Text: string(e.Bytes)})
	}
	g.checkLater(func() {
		l.Read(from, read, got)
		g.cells[entity].read(start, from, l.Highest(), got)
	})
	return nil
}

// list lists the ids, with any index lag. It must get only existing ids, and in a native journal no
// id twice, except by a scan during which an id is erased.
func (g *simulation) list(ctx context.Context, j *dynajournal.Journal, scan bool) error {
	listed := map[string]int{}
	for id, err := range j.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{Scan: scan}) {
		if err != nil {
			return err
		}
		listed[id]++
	}
	for e := range entities {
		if n := listed[pid(e)]; n > 1 && !g.shared {
			g.checkLater(func() {
				if !scan || g.purges[e] == 0 {
					g.fail(fmt.Errorf("%s was listed %d times", pid(e), n))
				}
			})
		}
		delete(listed, pid(e))
	}
	if len(listed) > 0 {
		g.checkLater(func() { g.fail(fmt.Errorf("there are no such ids: %v", listed)) })
	}
	return nil
}

// verify verifies an entity, or repairs it in one of the ways. Findings may concern writes in
// flight, and are passed to found.
func (g *simulation) verify(
	ctx context.Context, j *dynajournal.Journal, entity int, form kind, found func(dynajournal.Finding),
) error {
	check, opts := j.Verify, dynajournal.VerifyOptions{}
	if form != verifyEntity {
		check = j.Repair
		all := form == repairWithAll || form == repairDryRun
		opts.DryRun = form == repairDryRun
		opts.RemoveOrphans = form == repairOrphans || all
		opts.RemoveIncomplete = form == repairIncomplete || all
		opts.RestoreHighMark = form == repairMark || all
		opts.Archive = func(dynajournal.RemovedItem) error { return nil }
	}
	for f, err := range check(ctx, pid(entity), opts) {
		if err != nil {
			return err
		}
		if found != nil {
			found(f)
		}
		if f.Repaired && form == repairDryRun {
			g.checkLater(func() { g.fail(fmt.Errorf("a dry run has repaired %v", f)) })
		}
		if f.Repaired {
			g.checkLater(func() { g.sum.repaired[f.Kind]++ })
		}
	}
	return nil
}

// texts returns the texts of the next events of an actor, each of which is unique.
func (a *actor) texts(n int) ([]any, []string) {
	values, texts := make([]any, n), make([]string, n)
	for i := range n {
		a.count++
		texts[i] = fmt.Sprintf("%s-%d", a.name, a.count)
		if n > 1 {
			texts[i] = member + texts[i]
		}
		values[i] = texts[i]
	}
	return values, texts
}

func (g *simulation) append(ctx context.Context, a *actor, size int) error {
	values, texts := a.texts(size)
	start := g.cells[a.entity].now()
	result, err := a.writer.Append(ctx, values...)
	if err == nil {
		g.acknowledged(a, start, result.First, texts)
		return nil
	}
	if size == 1 {
		g.failed(a, start, err, texts[0])
	} else if !errors.Is(err, dynajournal.ErrOutcomeUnknown) {
		g.ledgers[a.entity].Refuse(texts)
	}
	return err
}

func (g *simulation) acknowledged(a *actor, start int, first int64, texts []string) {
	events := make([]explore.Event, len(texts))
	for i, t := range texts {
		events[i] = explore.Event{Number: first + int64(i), Text: t}
	}
	entity, knew := a.entity, a.knows
	a.knows = append(slices.Clone(a.knows), events...)
	g.checkLater(func() {
		g.ledgers[entity].Acknowledge(knew, events)
		g.sum.acknowledged += len(texts)
		t := g.turnsOf(entity)
		t.used = max(t.used, first+int64(len(texts))-1)
		if len(texts) == 1 {
			g.cells[entity].wrote(start, first, texts[0])
		}
	})
}

// appendEach writes events one after the other. Each event is recorded as acknowledged when the
// next one is written, because a purge can erase the entity before the call ends.
func (g *simulation) appendEach(ctx context.Context, a *actor, n int) error {
	w, start := a.writer, g.cells[a.entity].now()
	values, texts := make([]any, n), make([]string, n)
	written := make([]int64, n) // the numbers of the events acknowledged so far
	last := int64(0)            // the next number when the event before was written
	for i := range n {
		_, t := a.texts(1)
		texts[i] = t[0]
		values[i] = queued{t[0], func() {
			next, err := w.NextSequenceNumber(g.Context())
			if err != nil {
				return // the writer has ended: nothing is written
			}
			if last > 0 && next > last {
				written[i-1] = last
				g.acknowledged(a, start, last, texts[i-1:i])
			}
			last = next
		}}
	}
	outcomes, err := w.AppendEach(ctx, values...)
	for i, o := range outcomes {
		switch {
		case written[i] > 0:
			if o.Err != nil || o.SequenceNumber != written[i] {
				g.checkLater(func() {
					g.fail(fmt.Errorf("%s was written at %d, and its outcome is %+v",
						texts[i], written[i], o))
				})
			}
		case o.Err == nil:
			g.acknowledged(a, start, o.SequenceNumber, texts[i:i+1])
		default:
			g.failed(a, start, o.Err, texts[i])
		}
	}
	return err
}

// failed records a single event that was not acknowledged.
func (g *simulation) failed(a *actor, start int, err error, text string) {
	if unknown, ok := errors.AsType[*dynajournal.OutcomeUnknownError](err); ok {
		g.cells[a.entity].perhaps(start, unknown.First, text)
		return
	}
	g.ledgers[a.entity].Refuse([]string{text})
}

// delete deletes some of the events.
func (g *simulation) delete(ctx context.Context, a *actor, size int) error {
	next, err := a.writer.NextSequenceNumber(ctx)
	if err != nil {
		return err
	}
	start := g.cells[a.entity].now()
	to := next - 1 - int64(size%5)*(next-1-g.ledgers[a.entity].Low())/5
	if g.jvm {
		to = g.endOfWrite(a.entity, to, next-1)
	}
	entity := a.entity
	_, err = a.writer.DeleteTo(ctx, max(to, 0))
	g.cells[entity].deleted(start, max(to, 0))
	if err == nil {
		g.checkLater(func() {
			t := g.turnsOf(entity)
			t.deleted = max(t.deleted, to)
		})
	}
	return err
}

func (g *simulation) purge(ctx context.Context, a *actor, now bool) error {
	next, err := a.writer.NextSequenceNumber(ctx)
	if err != nil {
		return err
	}
	start, entity := g.cells[a.entity].now(), a.entity
	defer g.checkLater(func() { g.purges[entity]++ })
	_, err = a.writer.Purge(ctx, dynajournal.PurgeOptions{Now: now})
	g.cells[a.entity].deleted(start, next)
	if err == nil || now {
		a.writer = nil
	}
	return err
}
