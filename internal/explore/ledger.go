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

// Event is a number with the text of the event that stands there.
type Event struct {
	Number int64
	Text   string
}

// Acknowledged is an event with those that its writer knew when it wrote it.
type Acknowledged struct {
	Event
	knew []Event
	life int
}

// Ledger is what stands in the table for one persistence id of a journal by the default name, learned from the writes that
// succeeded, and what was said to the writers. It decides by the rules of the protocol alone, knowing everything at once,
// and shares no code with the journal. It is safe for concurrent use.
type Ledger struct {
	pid string

	mu    sync.Mutex
	items map[int64]standing
	// low is the low mark that counts, the highest of those of all shards.
	low  lowMark
	lows map[string]lowMark
	// life counts how often the low mark vanished, after which numbers are used anew.
	life  int
	acked []Acknowledged
	// closed are what recoveries knew: up to the last event that one knew, nothing may appear any more.
	closed [][]Event
	// buried are the events that were put below the low mark: parts of dead batches may be, what is acknowledged may not.
	buried map[Event]bool
	// refused are the texts of events that can never be visible, as their writer was told so.
	refused map[string]bool
	// seen are the events that are visible, ever those that were at any time.
	seen     []Event
	ever     map[Event]bool
	problems []string
}

// standing is what stands at a number: a member of the batch start to last (start = last: a single event) with its text, or a
// seal or tombstone.
type standing struct {
	closed  bool
	expires int64
	batch
	text string
}

// batch names an atomic write.
type batch struct {
	writer      string
	start, last int64
}

// lowMark is a low mark by what counts in Go: `low`, where that is above what a JVM reads.
type lowMark struct {
	seq, expires int64
	cut          batch
	// jvm says that a JVM has put it.
	jvm bool
}

// NewLedger makes an empty ledger.
func NewLedger(pid string) *Ledger {
	return &Ledger{pid: pid, items: map[int64]standing{}, lows: map[string]lowMark{}, buried: map[Event]bool{}, refused: map[string]bool{}, ever: map[Event]bool{}}
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

// Wrote takes note of a write that the service has done and answered, whosever.
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
	if err := json.Unmarshal(answer, &a); len(b.Statements) > 0 && (err != nil || len(a.Responses) != len(b.Statements)) {
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

// Stands takes note of what stands at a key of the journal's table, as it was read: the item, or null.
func (l *Ledger) Stands(key, item []byte) error {
	var k, i storedItem
	if err := errors.Join(json.Unmarshal(key, &k), json.Unmarshal(item, &i)); err != nil {
		return fmt.Errorf("read what stands: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i == nil {
		l.remove(k)
		return nil
	}
	if n, ok := l.number(k); ok && l.items[n] == l.standing(n, i) {
		return nil
	}
	if shard, ok := l.shard(k); ok && l.lows[shard] == lowMarkOf(i) {
		return nil
	}
	l.put(i)
	return nil
}

// Replace takes note that a JVM is going to put an event at a number, whatever is stored there. It
// may not know of an event that nobody was told is stored, with all of its atomic write: that is
// seen no more.
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

// number is the sequence number of a key, if it is one of an event of this persistence id.
func (l *Ledger) number(key storedItem) (int64, bool) {
	partition, ok := strings.CutPrefix(key["par"].S, "journal-P-"+l.pid+"-")
	if !ok {
		return 0, false
	}
	p, err := strconv.ParseInt(partition, 10, 64)
	return p*100 + key.number("num"), err == nil
}

// shard is the shard of a low mark of this persistence id.
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
	}
	l.lows[shard] = low
	if low.counts(l.low) {
		l.low = low
	}
}

// counts reports whether a low mark counts where another one did. Of two that are as high, the one
// counts that a JVM has not put: it says which batch was cut.
func (low lowMark) counts(other lowMark) bool {
	if low.seq == other.seq && low.jvm != other.jvm {
		return other.jvm
	}
	return low.seq >= other.seq
}

func lowMarkOf(i storedItem) lowMark {
	low := lowMark{seq: max(i.number("seq"), i.number("low")), expires: i.number("expires"), jvm: i["removed"].N == ""}
	if i["cut_writer"].S != "" {
		start := i.number("cut_start")
		low.cut = batch{i["cut_writer"].S, start, start + i.number("cut_cnt")}
	}
	return low
}

// standing is what an item says of a number.
func (l *Ledger) standing(n int64, i storedItem) standing {
	s := standing{closed: i["writer_uuid"].S == "", expires: i.number("expires")}
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
	s := l.standing(n, i)
	old, taken := l.items[n]
	switch {
	case taken && !s.closed:
		l.problem("an event was put at %d, where something stood", n)
	case taken && n >= l.low.seq && !old.closed && !l.dead(old.batch):
		l.problem("the event at %d, not below the low mark %d, was overwritten", n, l.low.seq)
	case n < l.low.seq && !s.closed:
		l.buried[Event{n, s.text}] = true
	}
	l.items[n] = s
}

// dead says whether an atomic write can never become whole, as something else stands at the number of a member.
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

// Expired removes what has expired, as the service does by time to live. Deleted events that nothing tells of any more are
// forgotten: their numbers can be used anew.
func (l *Ledger) Expired(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	expired := func(at int64) bool { return at != 0 && at < now.Unix() }
	maps.DeleteFunc(l.items, func(_ int64, s standing) bool { return expired(s.expires) })
	maps.DeleteFunc(l.lows, func(_ string, low lowMark) bool { return expired(low.expires) })
	l.lowVanished()
}

// lowVanished decides which of the low marks left counts. If it is lower than before another life begins, in which nothing
// of the old one may be seen.
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

// Life counts the lives of the persistence id: a new one begins when a purge has taken all trace of the old one.
func (l *Ledger) Life() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.life
}

// Listed says whether the persistence id must be listed: something is visible, or was and is deleted, but not purged.
func (l *Ledger) Listed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.visible()) > 0 || l.low.seq > 0 && l.low.expires == 0
}

func (l *Ledger) problem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// Visible are the events that every reader must see: the members of whole batches from the low mark on. A member below it
// counts as there if the low mark says that it cut this very batch.
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

// Low is the first number that is not deleted, 0 if nothing is.
func (l *Ledger) Low() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.low.seq
}

// Cut is the last number of the atomic write that the low mark cuts, if its rest is visible; 0 for
// none.
func (l *Ledger) Cut() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cut := l.low.cut; cut.last >= l.low.seq && l.whole(cut) {
		return cut.last
	}
	return 0
}

// Highest is the highest number that is taken.
func (l *Ledger) Highest() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	highest := max(l.low.seq-1, 0)
	for n := range l.items {
		highest = max(highest, n)
	}
	return highest
}

// Beginning is what holds when somebody begins to read: those who read must be given what is due, and nothing deleted.
type Beginning struct {
	due  []Acknowledged
	low  int64
	life int
}

// Begin is to be called when somebody begins to read.
func (l *Ledger) Begin() Beginning {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Beginning{slices.Clone(l.acked), l.low.seq, l.life}
}

// Acknowledge takes note of the events of an atomic write that were acknowledged, which their writer had decided on by those
// it knew.
func (l *Ledger) Acknowledge(knew, events []Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, e := range events {
		before := append(slices.Clone(knew), events[:i]...)
		l.acked = append(l.acked, Acknowledged{e, before, l.life})
	}
}

// Refuse takes note of the texts of events of which their writer was told that they are not written, and never will be.
func (l *Ledger) Refuse(texts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range texts {
		l.refused[t] = true
	}
}

// Check says what is wrong, if anything is.
func (l *Ledger) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	visible := l.visible()
	there := make(map[Event]bool, len(visible))
	for _, e := range visible {
		there[e] = true
		l.ever[e] = true
		if l.refused[e.Text] {
			l.problem("the event %v is visible, which its writer was told is not written", e)
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
			l.problem("E: a recovery knew %v, and now stand %v", knew, visible[:i])
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
		l.problem("B: the event %v was decided on %v, before it now stand %v", a.Event, knew, visible[:i])
	}
}

// Recovered judges a recovery. It was handed events, and knows of those and of others before them: that must be all there
// ever is up to the last of them.
func (l *Ledger) Recovered(began Beginning, handed, knows []Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life != began.life {
		return
	}
	for _, e := range handed {
		if e.Number < began.low {
			l.problem("D: a recovery returned %v, deleted before it began", e)
		}
	}
	if len(knows) > 0 {
		l.closed = append(l.closed, slices.Clone(knows))
	}
}

// Read judges what a reader from a number on was given: all events that were acknowledged when it began and are not deleted,
// none left out below what was given, each once, in order.
func (l *Ledger) Read(from int64, began Beginning, got []Event) {
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
	if l.life != began.life {
		return
	}
	for _, a := range began.due {
		if a.Number >= max(l.low.seq, from) && !given[a.Event] {
			l.problem("a reader was not given %v, acknowledged before it began: %v", a.Event, got)
		}
	}
	for _, e := range visible {
		if e.Number >= from && e.Number < last && !given[e] {
			l.problem("a reader was not given %v, but what stands behind it: %v", e, got)
		}
	}
}

// live are those of events that are not deleted.
func (l *Ledger) live(events []Event) []Event {
	var live []Event
	for _, e := range events {
		if e.Number >= l.low.seq {
			live = append(live, e)
		}
	}
	return live
}

// Digest is what stands in the table in one line, for telling whether two runs have come to the same point.
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

// Items is at how many numbers something stands.
func (l *Ledger) Items() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.items)
}
