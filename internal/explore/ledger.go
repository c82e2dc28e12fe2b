package explore

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Event is a sequence number with the text of the event at that number.
type Event struct {
	Number int64
	Text   string
}

// Acknowledged is an acknowledged event, with the events that its writer knew when it wrote the
// event.
type Acknowledged struct {
	Event
	knew []Event
	life int
}

// Ledger is the expected state of one persistence id of a journal with the default name. It learns
// from the writes that succeeded and from the results of the writers. It checks only the rules of
// the protocol, with complete knowledge, and shares no code with the journal. It is safe for
// concurrent use.
type Ledger struct {
	pid string

	mu    sync.Mutex
	items map[int64]slot
	// low is the low mark that counts, the highest of all shards.
	low  lowMark
	lows map[string]lowMark
	// life counts how often the low mark vanished, after which numbers are used again.
	life  int
	acked []Acknowledged
	// closed has the events that each recovery knew. No new event may appear up to the last of
	// them.
	closed [][]Event
	// buried has the events that were put below the low mark. They may be members of dead batches,
	// but not acknowledged events.
	buried map[Event]bool
	// refused has the texts of events that must never be visible, because they were reported as not
	// written.
	refused map[string]bool
	// seen has the events that were visible in the last check.
	seen []Event
	// ever has all events that were visible at any time.
	ever     map[Event]bool
	problems []string
}

// slot is the item at a number: a member of the batch start to last (start = last is a single
// event) with its text, or a seal or tombstone.
type slot struct {
	closed  bool
	expires int64
	batch
	text string
}

// batch identifies an atomic write.
type batch struct {
	writer      string
	start, last int64
}

// lowMark is a low mark as Go reads it: `low`, if that is above `seq`, which a JVM reads.
type lowMark struct {
	seq int64
	// purged is the highest purged number.
	purged int64
	cut    batch
	// jvm reports whether a JVM has put it.
	jvm bool
}

// NewLedger returns an empty ledger.
func NewLedger(pid string) *Ledger {
	return &Ledger{pid: pid, items: map[int64]slot{}, lows: map[string]lowMark{}, buried: map[Event]bool{},
		refused: map[string]bool{}, ever: map[Event]bool{}}
}

type storedValue struct{ S, N, B string }

type storedItem map[string]storedValue

func (i storedItem) number(name string) int64 {
	n, err := strconv.ParseInt(i[name].N, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Wrote records a write that the service has performed and responded to, by any process.
func (l *Ledger) Wrote(body, answer []byte) error {
	var b struct {
		Item         storedItem
		RequestItems map[string][]struct {
			PutRequest    struct{ Item storedItem }
			DeleteRequest struct{ Key storedItem }
		}
		Statements []statement[storedValue]
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return fmt.Errorf("read a write: %w", err)
	}
	var a struct {
		Responses []struct{ Error *struct{ Code string } }
	}
	if err := json.Unmarshal(answer, &a); len(b.Statements) > 0 &&
		(err != nil || len(a.Responses) != len(b.Statements)) {
		return fmt.Errorf("an answer with %d responses to %d statements: %w", len(a.Responses), len(b.Statements), err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(b.Item)
	for _, writes := range b.RequestItems {
		for _, w := range writes {
			l.put(w.PutRequest.Item)
			l.remove(w.DeleteRequest.Key)
		}
	}
	for i, s := range b.Statements {
		if a.Responses[i].Error == nil {
			l.put(s.item())
		}
	}
	return nil
}

// Stored records the item at a key of the journal's table, or null if there is none.
func (l *Ledger) Stored(key, item []byte) error {
	var k, i storedItem
	if err := errors.Join(json.Unmarshal(key, &k), json.Unmarshal(item, &i)); err != nil {
		return fmt.Errorf("decode the stored item: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i == nil {
		l.remove(k)
		return nil
	}
	if n, ok := l.number(k); ok && l.items[n] == l.decode(n, i) {
		return nil
	}
	if shard, ok := l.shard(k); ok && l.lows[shard] == lowMarkOf(i) {
		return nil
	}
	l.put(i)
	return nil
}

// Replace records that a JVM is about to put an event at a number, unconditionally. The JVM may not
// know of an event that was not acknowledged: that event, with its whole atomic write, is no longer
// visible.
func (l *Ledger) Replace(number int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old, taken := l.items[number]
	delete(l.items, number)
	if !taken || old.closed {
		return
	}
	l.seen = slices.DeleteFunc(l.seen, func(e Event) bool { return old.start <= e.Number && e.Number <= old.last })
}

// number returns the sequence number of a key. It reports false unless the key is of an event of
// this persistence id.
func (l *Ledger) number(key storedItem) (int64, bool) {
	partition, ok := strings.CutPrefix(key["par"].S, "journal-P-"+l.pid+"-")
	if !ok {
		return 0, false
	}
	p, err := strconv.ParseInt(partition, 10, 64)
	return p*100 + key.number("num"), err == nil
}

// shard returns the shard of a key. It reports false unless the key is of a low mark of this
// persistence id.
func (l *Ledger) shard(key storedItem) (string, bool) {
	return strings.CutPrefix(key["par"].S, "journal-SL-"+l.pid+"-")
}

func (l *Ledger) put(i storedItem) {
	if n, ok := l.number(i); ok {
		l.putEvent(n, i)
		return
	}
	shard, ok := l.shard(i)
	if !ok {
		return
	}
	low := lowMarkOf(i)
	if before := l.lows[shard]; low.seq < before.seq {
		l.problem("the low mark in shard %s went down from %d to %d", shard, before.seq, low.seq)
	} else if low.purged < before.purged {
		l.problem("the low mark in shard %s forgets the purge up to %d", shard, before.purged)
	}
	l.lows[shard] = low
	if low.counts(l.low) {
		l.low = low
	}
}

// counts reports whether a low mark counts instead of another one: the higher one counts. If both
// are equally high, the one that no JVM has put counts, because it names the cut batch.
func (low lowMark) counts(other lowMark) bool {
	if low.seq == other.seq && low.jvm != other.jvm {
		return other.jvm
	}
	return low.seq >= other.seq
}

func lowMarkOf(i storedItem) lowMark {
	low := lowMark{seq: max(i.number("seq"), i.number("low")), purged: i.number("purged"), jvm: i["removed"].N == ""}
	if i["cut_writer"].S != "" {
		start := i.number("cut_start")
		low.cut = batch{i["cut_writer"].S, start, start + i.number("cut_cnt")}
	}
	return low
}

// decode decodes the item of a number.
func (l *Ledger) decode(n int64, i storedItem) slot {
	s := slot{closed: i["writer_uuid"].S == "", expires: i.number("expires")}
	if s.closed {
		return s
	}
	s.batch = batch{i["writer_uuid"].S, n, n}
	text, err := base64.StdEncoding.DecodeString(i["event"].B)
	if err != nil {
		l.problem("the bytes of the event at %d: %v", n, err)
	}
	s.text = string(text)
	if i["cnt"].N != "" {
		s.start = n - i.number("idx")
		s.last = s.start + i.number("cnt")
	}
	return s
}

func (l *Ledger) putEvent(n int64, i storedItem) {
	s := l.decode(n, i)
	old, taken := l.items[n]
	switch {
	case taken && !s.closed:
		l.problem("an event was put at %d, where something was stored", n)
	case taken && n >= l.low.seq && !old.closed && !l.dead(old.batch):
		l.problem("the event at %d, not below the low mark %d, was overwritten", n, l.low.seq)
	case n < l.low.seq && !s.closed:
		l.buried[Event{n, s.text}] = true
	}
	l.items[n] = s
}

// dead reports whether an atomic write can never become whole, because something else is stored at
// a member's number.
func (l *Ledger) dead(b batch) bool {
	for n := max(b.start, l.low.seq); n <= b.last; n++ {
		if there, taken := l.items[n]; taken && (there.closed || there.batch != b) {
			return true
		}
	}
	return b.start < l.low.seq && b != l.low.cut
}

func (l *Ledger) remove(key storedItem) {
	if n, ok := l.number(key); ok {
		delete(l.items, n)
	}
	if shard, ok := l.shard(key); ok {
		delete(l.lows, shard)
		l.lowVanished()
	}
}

// Expired removes the expired tombstones, like DynamoDB's time to live. Low marks do not expire.
func (l *Ledger) Expired(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	expired := func(at int64) bool { return at != 0 && at < now.Unix() }
	maps.DeleteFunc(l.items, func(_ int64, s slot) bool { return expired(s.expires) })
}

// lowVanished decides which of the remaining low marks counts. If it is lower than before, another
// life begins, in which no event of the old life may be visible.
func (l *Ledger) lowVanished() {
	before := l.low
	l.low = lowMark{}
	for _, low := range l.lows {
		if low.seq > 0 && low.counts(l.low) {
			l.low = low
		}
	}
	if l.low.seq >= before.seq {
		return
	}
	for n, s := range l.items {
		if n < before.seq && !s.closed {
			l.problem("the event at %d, below the low mark %d, is still there when that vanishes", n, before.seq)
		}
	}
	l.acked = slices.DeleteFunc(l.acked, func(a Acknowledged) bool { return a.Number < before.seq })
	l.seen = slices.DeleteFunc(l.seen, func(e Event) bool { return e.Number < before.seq })
	l.closed = nil
	l.life++
	for i := range l.acked {
		l.acked[i].life = l.life
	}
}

// Life returns how often the numbers of the persistence id have started again: they do when an
// erasure has removed the low mark.
func (l *Ledger) Life() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.life
}

// Listed reports whether the persistence id must be listed: something is visible, or was and is
// deleted, but not purged.
func (l *Ledger) Listed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.visible()) > 0 || l.low.seq > l.low.purged+1
}

func (l *Ledger) problem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// Visible returns the events that every reader must see: the members of whole batches from the low
// mark on. Members below the low mark count as stored if the low mark names their batch as cut.
func (l *Ledger) Visible() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.visible()
}

func (l *Ledger) visible() []Event {
	whole := map[batch]bool{}
	var all []Event
	for n, s := range l.items {
		if s.closed || n < l.low.seq {
			continue
		}
		is, known := whole[s.batch]
		if !known {
			is = l.whole(s.batch)
			whole[s.batch] = is
		}
		if is {
			all = append(all, Event{n, s.text})
		}
	}
	slices.SortFunc(all, func(a, b Event) int { return int(a.Number - b.Number) })
	return all
}

func (l *Ledger) whole(b batch) bool {
	for n := b.start; n <= b.last; n++ {
		if there, ok := l.items[n]; ok && !there.closed && there.batch == b {
			continue
		}
		if n >= l.low.seq || b != l.low.cut {
			return false
		}
	}
	return true
}

// Low returns the first number that is not deleted, or 0.
func (l *Ledger) Low() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.low.seq
}

// Cut returns the last number of the atomic write that the low mark cuts, if its rest is visible,
// or 0.
func (l *Ledger) Cut() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cut := l.low.cut; cut.last >= l.low.seq && l.whole(cut) {
		return cut.last
	}
	return 0
}

// Highest returns the highest number that is taken.
func (l *Ledger) Highest() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	highest := max(l.low.seq-1, 0)
	for n := range l.items {
		highest = max(highest, n)
	}
	return highest
}

// ReadStart is the state when a read begins: the read must return the events that were acknowledged
// then, and no deleted ones.
type ReadStart struct {
	due  []Acknowledged
	low  int64
	life int
}

// StartRead returns the state for a read that begins now.
func (l *Ledger) StartRead() ReadStart {
	l.mu.Lock()
	defer l.mu.Unlock()
	return ReadStart{slices.Clone(l.acked), l.low.seq, l.life}
}

// Acknowledge records the acknowledged events of an atomic write, and the events that its writer
// knew when it wrote them.
func (l *Ledger) Acknowledge(knew, events []Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, e := range events {
		before := append(slices.Clone(knew), events[:i]...)
		l.acked = append(l.acked, Acknowledged{e, before, l.life})
	}
}

// Refuse records the texts of events that were reported to their writer as not written.
func (l *Ledger) Refuse(texts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range texts {
		l.refused[t] = true
	}
}

// Check checks the visible events. It returns an error with all problems that were found so far.
func (l *Ledger) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	visible := l.visible()
	there := make(map[Event]bool, len(visible))
	for _, e := range visible {
		there[e] = true
		l.ever[e] = true
		if l.refused[e.Text] {
			l.problem("the event %v is visible, which was reported as not written", e)
		}
	}
	for _, a := range l.acked {
		if l.buried[a.Event] {
			l.problem("C: the acknowledged event %v was put below the low mark", a.Event)
		}
		if a.Number >= l.low.seq {
			l.checkAcknowledged(a, visible, there)
		}
	}
	for _, knew := range l.closed {
		last := knew[len(knew)-1].Number
		i, _ := slices.BinarySearchFunc(visible, last+1, func(e Event, n int64) int { return int(e.Number - n) })
		if knew = l.live(knew); !slices.Equal(visible[:i], knew) {
			l.problem("E: a recovery knew %v, and now there are %v", knew, visible[:i])
		}
	}
	for _, e := range l.live(l.seen) {
		if !there[e] {
			l.problem("the event %v was visible, and is no more", e)
		}
	}
	l.seen = visible
	if len(l.problems) > 0 {
		return errors.New(strings.Join(l.problems, "\n"))
	}
	return nil
}

func (l *Ledger) checkAcknowledged(a Acknowledged, visible []Event, there map[Event]bool) {
	if !there[a.Event] {
		l.problem("A: the acknowledged event %v is not visible", a.Event)
		return
	}
	i, _ := slices.BinarySearchFunc(visible, a.Number, func(e Event, n int64) int { return int(e.Number - n) })
	if knew := l.live(a.knew); !slices.Equal(visible[:i], knew) {
		l.problem("B: the event %v was decided on %v, before it now are %v", a.Event, knew, visible[:i])
	}
}

// Recovered checks a recovery. start is the state at its start. handed has the events that it
// returned. knows also has the events before them: up to the last of these there must never be
// other events.
func (l *Ledger) Recovered(start ReadStart, handed, knows []Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life != start.life {
		return
	}
	for _, e := range handed {
		if e.Number < start.low {
			l.problem("D: a recovery returned %v, deleted before it began", e)
		}
	}
	if len(knows) > 0 {
		l.closed = append(l.closed, slices.Clone(knows))
	}
}

// Read checks the events that a reader received from a number on. It must have received all events
// that were acknowledged when it started and are not deleted, without a gap, each once, in order.
func (l *Ledger) Read(from int64, start ReadStart, got []Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	given := make(map[Event]bool, len(got))
	last := int64(0)
	visible := l.visible()
	for _, e := range visible {
		l.ever[e] = true
	}
	for _, e := range got {
		given[e] = true
		if e.Number <= last {
			l.problem("a reader was given %v after %d", e, last)
		}
		last = e.Number
		if !l.ever[e] {
			l.problem("a reader was given %v, which was never there", e)
		}
	}
	if l.life != start.life {
		return
	}
	for _, a := range start.due {
		if a.Number >= max(l.low.seq, from) && !given[a.Event] {
			l.problem("a reader was not given %v, acknowledged before it began: %v", a.Event, got)
		}
	}
	for _, e := range visible {
		if e.Number >= from && e.Number < last && !given[e] {
			l.problem("a reader was not given %v, but events after it: %v", e, got)
		}
	}
}

// live returns the events that are not deleted.
func (l *Ledger) live(events []Event) []Event {
	var live []Event
	for _, e := range events {
		if e.Number >= l.low.seq {
			live = append(live, e)
		}
	}
	return live
}

// Digest returns the state of the table in one line, to compare the points of two runs.
func (l *Ledger) Digest() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	fmt.Fprint(&b, l.low.seq, l.low.cut)
	for _, n := range slices.Sorted(maps.Keys(l.items)) {
		s := l.items[n]
		fmt.Fprint(&b, n, s.closed, s.batch, s.text)
	}
	return b.String()
}

// Items returns the number of sequence numbers at which an item is stored.
func (l *Ledger) Items() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.items)
}
