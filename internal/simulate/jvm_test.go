package simulate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/explore"
	"github.com/dynajournal/dynajournal/internal/jvm"
)

// jvmName is the process of the JVM.
const jvmName = "jvm"

// turns records what the JVM has done with an entity, and which events it may see.
type turns struct {
	// life is the life of the persistence id that the other fields belong to.
	life int
	// used is the highest number of an event that was acknowledged, by either side.
	used int64
	// ever has all events that were visible at any time.
	ever map[int64]string
	// deleted is the number up to which deletions in Go have ended.
	deleted int64
}

// turnsOf returns the turns of an entity in its present life.
func (g *simulation) turnsOf(entity int) *turns {
	t := &g.turns[entity]
	if life := g.ledgers[entity].Life(); t.life != life || t.ever == nil {
		*t = turns{life: life, ever: map[int64]string{}}
	}
	for _, e := range g.ledgers[entity].Visible() {
		t.ever[e.Number] = e.Text
	}
	return t
}

// takeOver lets the JVM take over an entity: Go's calls on it end or crash, then a persistent actor
// starts, works and stops.
func (g *simulation) takeOver(entity, size int) {
	if !g.jvm || g.erasing[entity] || g.copies.reserved[entity] != nil {
		return
	}
	g.handOver(entity)
	if g.erasing[entity] || g.wrong != nil {
		return
	}
	g.sum.calls[jvmTurn]++
	g.sum.operations++
	for range size%2 + 1 {
		s := g.startJVM(entity)
		for n := range size % 5 {
			if g.wrong != nil {
				return
			}
			s.work(size + n)
		}
	}
	g.check()
}

// session is a life of a persistent actor.
type session struct {
	*simulation

	entity int
	actor  *jvm.Entity
	knows  []explore.Event
}

// startJVM starts a persistent actor, and checks its initial state.
func (g *simulation) startJVM(entity int) *session {
	client := dynamodb.NewFromConfig(g.config(jvmName).AWS)
	plugin := jvm.New(client, journalTable, snapshotTable, "journal", shards)
	plugin.Now = g.now
	g.check()
	t, l := g.turnsOf(entity), g.ledgers[entity]
	start, most := l.StartRead(), g.stored(entity).most
	s := &session{simulation: g, entity: entity}
	g.asJVM("start", func(ctx context.Context) (err error) {
		s.actor, err = plugin.Start(ctx, pid(entity))
		return err
	})
	if s.actor == nil {
		s.actor = &jvm.Entity{}
		return s
	}
	after := int64(0)
	if snapshot := s.actor.Snapshot; snapshot != nil {
		after = snapshot.SequenceNumber
		var err error
		if s.knows, err = eventsOf(string(snapshot.Payload.Bytes)); err != nil {
			g.Fatal(err)
		}
	}
	var got []explore.Event
	for _, e := range s.actor.Events {
		got = append(got, explore.Event{Number: e.SequenceNumber, Text: string(e.Bytes)})
	}
	s.knows = append(s.knows, got...)
	g.trace("jvm starts", fmt.Sprint(pid(entity), " at ", s.actor.Highest, " with ", got, " after ", after))
	if s.actor.Highest < t.used {
		g.fail(fmt.Errorf("%s: the JVM continues after %d, and %d is used", pid(entity), s.actor.Highest, t.used))
	}
	most = max(most, g.stored(entity).most, after) // a late request may have arrived meanwhile
	if s.actor.Highest > most {
		g.fail(fmt.Errorf("%s: the JVM continues after %d, and the highest number is %d",
			pid(entity), s.actor.Highest, most))
	}
	low := l.Low()
	live := slices.IndexFunc(got, func(e explore.Event) bool { return e.Number >= low })
	if live < 0 {
		live = len(got)
	}
	l.Read(after+1, start, got[live:])
	g.cells[entity].read(g.cells[entity].now(), max(after+1, low), l.Highest(), got[live:])
	g.fail(t.resurfaced(entity, got[:live], low))
	if visible := l.Visible(); len(visible) > 0 && visible[len(visible)-1].Number > s.actor.Highest {
		g.sum.injected["hidden from the JVM"]++
	}
	return s
}

// resurfaced checks deleted events that the JVM has received: only an interrupted deletion may
// leave some, and they must be the last of the deleted events.
func (t *turns) resurfaced(entity int, got []explore.Event, low int64) error {
	if len(got) == 0 {
		return nil
	}
	given := map[int64]bool{}
	for _, e := range got {
		given[e.Number] = true
		if e.Number <= t.deleted {
			return fmt.Errorf("%s: the JVM was given %v, and all up to %d is deleted", pid(entity), e, t.deleted)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(t.ever)) {
		if n > got[0].Number && n < low && !given[n] {
			return fmt.Errorf("%s: of what a deletion has left the JVM was given %v, without %d", pid(entity), got, n)
		}
	}
	return nil
}

// work runs one operation.
func (s *session) work(size int) {
	if s.rand.IntN(4) == 0 {
		s.expire()
	}
	switch s.rand.IntN(8) {
	case 0, 1:
		s.persist(size%30 + 1)
	case 2:
		s.persist(size)
	case 3, 4:
		for range size%5 + 1 {
			s.persist(1)
		}
	case 5:
		s.delete(s.actor.Highest)
	case 6:
		s.delete(s.actor.Highest * s.rand.Int64N(10) / 10)
	case 7:
		s.save()
	}
}

// persist persists n events as one atomic write.
func (s *session) persist(n int) {
	values, texts := make([]any, n), make([]string, n)
	for i := range n {
		s.jvmTexts++
		texts[i] = fmt.Sprint("jvm-", s.jvmTexts)
		if n > 1 {
			texts[i] = member + texts[i]
		}
		values[i] = texts[i]
	}
	start := s.cells[s.entity].now()
	var first int64
	s.asJVM("persist", func(ctx context.Context) (err error) {
		first, err = s.actor.Persist(ctx, values...)
		return err
	})
	events := make([]explore.Event, n)
	for i, text := range texts {
		events[i] = explore.Event{Number: first + int64(i), Text: text}
	}
	s.ledgers[s.entity].Acknowledge(s.knows, events)
	s.knows = append(slices.Clone(s.knows), events...)
	s.sum.acknowledged += n
	if n == 1 {
		s.cells[s.entity].wrote(start, first, texts[0])
	}
	t := s.turnsOf(s.entity)
	t.used = max(t.used, first+int64(n)-1)
}

// delete deletes up to the end of a write: the JVM would no longer see a write that is cut, but Go
// would see the rest of it.
func (s *session) delete(to int64) {
	to = s.endOfWrite(s.entity, to, s.actor.Highest)
	start := s.cells[s.entity].now()
	s.cells[s.entity].deleted(start, to)
	s.asJVM("delete", func(ctx context.Context) error { return s.actor.Delete(ctx, to) })
}

// save saves a snapshot, and sometimes deletes the previous ones.
func (s *session) save() {
	if len(s.knows) == 0 || s.knows[len(s.knows)-1].Number != s.actor.Highest {
		return // Go expects a snapshot to have the number of its last event
	}
	s.jvmSaves++
	state := stateOf(s.knows) + strings.Repeat("\n", s.jvmSaves)
	s.snapshots[s.entity].saving(s.actor.Highest, state)
	s.asJVM("save", func(ctx context.Context) error { return s.actor.SaveSnapshot(ctx, state) })
	if s.rand.IntN(3) == 0 {
		c := jvm.All()
		c.MaxSequenceNumber = s.actor.Highest - 1
		s.asJVM("delete snapshots", func(ctx context.Context) error { return s.actor.DeleteSnapshots(ctx, c) })
	}
}

// asJVM runs a call as the JVM, whose requests all succeed. Late requests of Go may arrive at any
// time.
func (g *simulation) asJVM(what string, do func(ctx context.Context) error) {
	g.trace("jvm", what)
	g.net.Block(jvmName)
	done := make(chan error, 1)
	go func() { done <- do(g.Context()) }()
	for {
		time.Sleep(time.Microsecond)
		synctest.Wait()
		select {
		case err := <-done:
			g.net.Free(jvmName)
			if err != nil {
				g.fail(fmt.Errorf("the JVM can't %s: %w", what, err))
			}
			g.catchUp()
			return
		default:
		}
		if late := g.net.Late(); len(late) > 0 && g.rand.IntN(8) == 0 {
			g.sum.landed++
			g.carry(late[g.rand.IntN(len(late))])
			continue
		}
		for _, r := range g.net.Pending() {
			if r.Process == jvmName {
				g.trace("", r)
				g.carryForJVM(r)
			}
		}
	}
}

// carryForJVM delivers a request of the JVM, which replaces stored items without a condition.
func (g *simulation) carryForJVM(r *explore.Request) {
	if !r.Changes() {
		g.net.Deliver(r)
		return
	}
	if !strings.Contains(string(r.Body), snapshotTable) {
		for _, k := range touched(r) {
			g.replaces(k)
		}
	}
	g.carry(r)
}

// replaces notifies the ledgers of a number at which the JVM is about to put or remove an item.
func (g *simulation) replaces(k tableKey) {
	var key struct {
		Par struct{ S string }
		Num struct{ N string }
	}
	if err := json.Unmarshal(k.key, &key); err != nil {
		g.Fatal(err)
	}
	for e, l := range g.ledgers {
		partition, ok := strings.CutPrefix(key.Par.S, "journal-P-"+pid(e)+"-")
		if !ok {
			continue
		}
		block, err := strconv.ParseInt(partition, 10, 64)
		num, err2 := strconv.ParseInt(key.Num.N, 10, 64)
		if err != nil || err2 != nil {
			g.Fatal(err, err2)
		}
		l.Replace(block*100 + num)
	}
}

// shards is the plug-in's default number of shards of marks.
const shards = 10

// handOver ends Go's calls on an entity, or crashes their processes.
func (g *simulation) handOver(entity int) {
	left := time.Since(g.left[entity]) < patience
	for _, a := range g.actors {
		if g.rand.IntN(2) == 0 && !left {
			g.end(a, entity)
		} else if !a.idle() && a.on == entity || left {
			g.crash(a)
		}
		if a.entity == entity {
			a.writer = nil
		}
	}
	if !*harsh {
		g.land()
		g.uncut(entity)
		g.mark(entity)
		g.closeIncomplete(entity)
	}
}

// land lets the delayed events and seals arrive, or loses them. If an event arrived after a JVM had
// deleted its number, it would stay, below the low mark that the JVM reads. If members of an atomic
// write arrived after a JVM had deleted the others, they would count as the rest of a write that
// the JVM's deletion has cut.
func (g *simulation) land() {
	for len(g.inside) > 0 {
		g.sleep(time.Second)
	}
	for _, r := range g.net.Late() {
		if !strings.Contains(r.Label, "event ") && !strings.Contains(r.Label, "seal ") {
			continue
		}
		if g.rand.IntN(2) == 0 {
			g.sum.landed++
			g.carry(r)
		} else {
			g.net.Fail(r)
		}
	}
}

// uncut lets Go delete the rest of an atomic write that a deletion has cut: a JVM does not see it.
// The deletions of a history end where a write ends, but a write that lacks its last member can
// become whole at that moment.
func (g *simulation) uncut(entity int) {
	to := g.ledgers[entity].Cut()
	if to == 0 {
		return
	}
	g.sum.injected["cut write"]++
	a := &actor{name: fmt.Sprint("uncuts", entity), journal: g.auditor}
	g.serving("auditor", func() error {
		err := g.recover(g.Context(), a, entity, dynajournal.RecoverOptions{}, nil)
		if err == nil {
			g.cells[entity].deleted(g.cells[entity].now(), to)
			_, err = a.writer.DeleteTo(g.Context(), to)
		}
		return err
	})
}

// mark lets Go recover if the high mark that leads a JVM to the stored events is missing, because a
// writer has crashed between the events and their mark. Otherwise the JVM would overwrite events
// that are visible in Go.
func (g *simulation) mark(entity int) {
	if high := g.stored(entity).high; g.ledgers[entity].Highest() < high+100 {
		return
	}
	g.sum.injected["high mark missing"]++
	last := &actor{name: fmt.Sprint("marks", entity), journal: g.auditor}
	g.serving("auditor", func() error {
		return g.recover(g.Context(), last, entity, dynajournal.RecoverOptions{}, nil)
	})
}

// closeIncomplete lets Go recover if the journal ends with a part of an atomic write, because a
// writer has crashed before it has put all members. Otherwise a JVM would leave out an atomic write
// of its own that ends at the same number.
func (g *simulation) closeIncomplete(entity int) {
	taken := g.stored(entity).taken
	if _, last := g.writeAt(entity, taken); last <= taken {
		return
	}
	g.sum.injected["incomplete atomic write"]++
	closer := &actor{name: fmt.Sprint("closes", entity), journal: g.auditor}
	g.serving("auditor", func() error {
		return g.recover(g.Context(), closer, entity, dynajournal.RecoverOptions{}, nil)
	})
}

// end waits until the call of a process on an entity has ended.
func (g *simulation) end(a *actor, entity int) {
	if a.idle() || a.on != entity {
		return
	}
	g.trace("ends", a.name)
	a.paused = false
	if a.machine.Sleeps() {
		g.sleepOrWake(a)
	}
	const enough = 10_000
	for n := 0; !a.idle(); n++ {
		if n == enough {
			g.crash(a)
			return
		}
		if !g.step() {
			g.sleep(time.Second)
		}
	}
	if time.Since(g.left[entity]) < patience {
		g.crash(a)
	}
}

// crash ends a process at once, and restarts it. Its requests stay in flight.
func (g *simulation) crash(a *actor) {
	g.trace("crashes", a.name)
	g.sum.injected["crash"]++
	a.paused = false
	if a.machine.Sleeps() {
		g.sleepOrWake(a)
	}
	g.net.Crash(a.name)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		if a.busy != nil {
			<-a.busy
		}
		_ = a.journal.Close()
	}()
	for waiting := true; waiting; {
		g.sleep(time.Second)
		select {
		case <-closed:
			waiting = false
		default:
		}
	}
	g.net.Restart(a.name)
	g.net.Free(a.name)
	a.writer = nil
	a.journal = g.journal(a.name, a.machine)
	g.net.Block(a.name)
}

// endOfWrite returns the first number, from number up to most, up to which a deletion does not cut
// an atomic write, whole or dead.
func (g *simulation) endOfWrite(entity int, number, most int64) int64 {
	for number < most {
		if _, last := g.writeAt(entity, number); last > number {
			number = last
			continue
		}
		first, last := g.writeAt(entity, number+1)
		if first > number || *harsh {
			return number
		}
		number = last
	}
	return most
}

// writeAt returns the first and the last number of the atomic write that a number is a member of,
// or the number itself.
func (g *simulation) writeAt(entity int, number int64) (first, last int64) {
	var got struct {
		Item struct {
			WriterUUID struct{ S string } `json:"writer_uuid"`
			Idx, Cnt   struct{ N string }
		}
	}
	key := map[string]any{
		"par": map[string]string{"S": fmt.Sprintf("journal-P-%s-%d", pid(entity), number/100)},
		"num": map[string]string{"N": strconv.FormatInt(number%100, 10)},
	}
	g.ask("GetItem", map[string]any{"TableName": journalTable, "Key": key, "ConsistentRead": true}, &got)
	if got.Item.WriterUUID.S == "" || got.Item.Cnt.N == "" {
		return number, number
	}
	index, err := strconv.ParseInt(got.Item.Idx.N, 10, 64)
	count, err2 := strconv.ParseInt(got.Item.Cnt.N, 10, 64)
	if err != nil || err2 != nil {
		g.Fatal(err, err2)
	}
	return number - index, number - index + count
}

// extent is the range of the items of an entity.
type extent struct {
	// most is the highest number that any item names. high is the highest high mark. taken is the
	// highest number at which an item is stored.
	most, high, taken int64
}

func (g *simulation) stored(entity int) (x extent) {
	for _, row := range g.scan(journalTable) {
		var i struct {
			Par           struct{ S string }
			Num, Seq, Low struct{ N string }
		}
		if err := json.Unmarshal(row, &i); err != nil {
			g.Fatal(err)
		}
		number := func(text string) int64 {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
		if partition, ok := strings.CutPrefix(i.Par.S, "journal-P-"+pid(entity)+"-"); ok {
			x.taken = max(x.taken, number(partition)*100+number(i.Num.N))
		} else if strings.HasPrefix(i.Par.S, "journal-SL-"+pid(entity)+"-") {
			x.most = max(x.most, number(i.Seq.N)-1, number(i.Low.N)-1)
		} else if strings.HasPrefix(i.Par.S, "journal-SH-"+pid(entity)+"-") {
			x.high = max(x.high, number(i.Seq.N))
		}
	}
	x.most = max(x.most, x.high, x.taken)
	return x
}
