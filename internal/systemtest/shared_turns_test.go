package systemtest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/jvm"
	"github.com/dynajournal/dynajournal/internal/testseed"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

var (
	turnRounds = flag.Int("shared.turns", testsize.Of(8, 60), "how many random entities Go and a JVM take turns with")
	turnSeed   = testseed.Flag("shared.seed")
)

// turns is a shared journal that Go and a JVM use in turns, one at a time.
type turns struct {
	*testing.T
	engine *embedded.Engine
	config dynajournal.Config
	jvm    *jvm.Plugin
	// journal is the journal of a process in Go that never fails.
	journal *dynajournal.Journal
}

func newTurns(t *testing.T, shards int) *turns {
	t.Helper()
	s := &turns{T: t, engine: openEngine(t)}
	s.config = dynajournal.Config{AWS: s.engine.AWSConfig(), SequenceShards: shards}
	quick(&s.config)
	createTables(t, s.config, dynajournal.TableOptions{SharedWithJVM: true})
	s.journal = openJournal(t, s.config)
	client := dynamodb.NewFromConfig(s.engine.AWSConfig())
	s.jvm = jvm.New(client, "pekko-persistence", "pekko-persistence-snapshot", "journal", shards)
	return s
}

// process is a process in Go that dies after some requests: further requests are not sent. The
// first of these that writes can be sent later, with land.
type process struct {
	*turns
	journal *dynajournal.Journal

	mu    sync.Mutex
	left  int
	sent  int
	late  *http.Request
	under http.RoundTripper
}

var errDead = errors.New("the process is dead")

func (s *turns) dying() *process {
	s.Helper()
	p := &process{turns: s, left: -1}
	config := s.config
	config.AWS.HTTPClient = through(s.config.AWS.HTTPClient, func(r *http.Request, send sender) (*http.Response, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.left == 0 {
			if p.late == nil && (operation(r) == "PutItem" || operation(r) == "BatchWriteItem" || operation(r) == "BatchExecuteStatement") {
				p.sendLate(r, send)
			}
			return nil, errDead
		}
		p.left--
		p.sent++
		return send(r)
	})
	p.journal = openJournal(s.T, config)
	return p
}

func (p *process) sendLate(r *http.Request, send sender) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		p.Error(err)
	}
	p.late = r.Clone(context.Background())
	p.late.Body = io.NopCloser(bytes.NewReader(body))
	p.under = roundTrip(send)
}

type roundTrip sender

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// dieAfter makes the process die after some more requests.
func (p *process) dieAfter(requests int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.sent = requests, 0
}

// land sends the request that the process had in flight when it was killed.
func (p *process) land() {
	p.mu.Lock()
	late := p.late
	p.late = nil
	p.mu.Unlock()
	if late == nil {
		return
	}
	response, err := p.under.RoundTrip(late)
	if err != nil {
		p.Error(err)
		return
	}
	_ = response.Body.Close()
}

// truth has the acknowledged events of a persistence id, without events whose deletion has started.
type truth struct {
	*turns
	pid    string
	events map[int64]string
	// top is the highest number that was taken. unsure says that higher numbers may be taken.
	top    int64
	unsure bool
	// skips says that a purge was interrupted, so that a JVM may skip free numbers.
	skips bool
	said  int
}

func (s *turns) truth(pid string) *truth {
	return &truth{turns: s, pid: pid, events: map[int64]string{}}
}

func (m *truth) payloads(n int) []any {
	values := make([]any, n)
	for i := range values {
		m.said++
		values[i] = fmt.Sprintf("%s-%d", m.pid, m.said)
	}
	return values
}

func (m *truth) took(first int64, values []any) {
	for i, v := range values {
		m.events[first+int64(i)] = v.(string)
	}
	m.top = max(m.top, first+int64(len(values))-1)
}

// deleted records that a deletion has started.
func (m *truth) deleted(to int64) {
	for seq := range m.events {
		if seq <= to {
			delete(m.events, seq)
		}
	}
}

// start starts the entity on the JVM, and checks its highest number.
func (m *truth) start(what string) *jvm.Entity {
	m.Helper()
	e, err := m.jvm.Start(m.Context(), m.pid)
	if err != nil {
		m.Fatalf("%s: start the JVM's entity: %v", what, err)
	}
	if e.Highest < m.top || !m.unsure && !m.skips && e.Highest > m.top {
		m.Fatalf("%s: the JVM continues after %d, want %d", what, e.Highest, m.top)
	}
	m.top, m.unsure = e.Highest, false
	return e
}

// persist makes the JVM persist events.
func (m *truth) persist(e *jvm.Entity, n int, atomic bool) {
	m.Helper()
	values := m.payloads(n)
	write := e.PersistEach
	if atomic {
		write = e.Persist
	}
	first, err := write(m.Context(), values...)
	if err != nil {
		m.Fatalf("persist: %v", err)
	}
	m.took(first, values)
}

func (m *truth) jvmDeletes(e *jvm.Entity, to int64) {
	m.Helper()
	m.deleted(to)
	if err := e.Delete(m.Context(), to); err != nil {
		m.Fatalf("the JVM deletes to %d: %v", to, err)
	}
}

// append makes Go append events.
func (m *truth) append(w *dynajournal.Writer, n int, atomic bool) {
	m.Helper()
	values := m.payloads(n)
	if atomic {
		result, err := w.Append(m.Context(), values...)
		if err != nil {
			m.Fatalf("append: %v", err)
		}
		m.took(result.First, values)
		return
	}
	for _, v := range values {
		result, err := w.Append(m.Context(), v)
		if err != nil {
			m.Fatalf("append: %v", err)
		}
		m.took(result.First, []any{v})
	}
}

// recover recovers the entity in Go, and checks its events and the next number.
func (m *truth) recover(what string) *dynajournal.Writer {
	m.Helper()
	w := recovered(m.T, m.journal, m.pid)
	m.check(what)
	next, err := w.NextSequenceNumber(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	if next <= m.top || !m.unsure && !m.skips && next > m.top+1 {
		m.Fatalf("%s: Go continues at %d, want %d", what, next, m.top+1)
	}
	m.top, m.unsure = next-1, false
	return w
}

// check checks that Go shows every acknowledged event.
func (m *truth) check(what string) {
	m.Helper()
	shown := map[int64]string{}
	for _, e := range readEvents(m.T, m.journal, m.pid, dynajournal.Range{}) {
		v, err := e.Payload(context.Background())
		if err != nil {
			m.Fatal(err)
		}
		shown[e.SequenceNumber] = fmt.Sprint(v)
	}
	for seq, v := range m.events {
		if shown[seq] != v {
			m.Fatalf("%s: the acknowledged event %d is %q in Go, want %q", what, seq, shown[seq], v)
		}
	}
}

// checkJVM checks that a JVM shows every acknowledged event, except events of atomic writes that a
// deletion has cut: a JVM drops the rest of such a write.
func (m *truth) checkJVM(what string, e *jvm.Entity, but ...int64) {
	m.Helper()
	shown := map[int64]string{}
	for _, event := range e.Events {
		shown[event.SequenceNumber] = string(event.Bytes)
	}
	for seq, v := range m.events {
		if shown[seq] != v && !slices.Contains(but, seq) {
			m.Fatalf("%s: the acknowledged event %d is %q for the JVM, want %q", what, seq, shown[seq], v)
		}
	}
}

// goesOn lets the JVM and Go use the entity in turns, and checks every number and event.
func (m *truth) goesOn() {
	m.Helper()
	e := m.start("the JVM takes over")
	m.checkJVM("the JVM takes over", e)
	m.persist(e, 5, false)
	m.checkJVM("the JVM again", m.start("the JVM again"))
	e = m.start("the JVM again")
	m.jvmDeletes(e, m.top)
	e = m.start("the JVM has deleted everything")
	m.persist(e, 3, true)
	m.start("the JVM has persisted")
	w := m.recover("Go takes over")
	m.append(w, 2, true)
	m.deleted(m.top)
	if _, err := w.DeleteTo(m.Context(), m.top); err != nil {
		m.Fatal(err)
	}
	e = m.start("Go has deleted everything")
	m.persist(e, 1, false)
	m.checkJVM("the JVM in the end", m.start("the JVM in the end"))
	m.recover("Go in the end")
}

// After any deletion by Go, a JVM continues after the highest number, before and after its own
// deletions.
func TestJVM_ContinuesAfterDeletionsByGo(t *testing.T) {
	t.Parallel()
	for _, shards := range testsize.Of([]int{10}, []int{1, 2, 10}) {
		s := newTurns(t, shards)
		for _, written := range testsize.Of([]int{1, 20, 99, 100, 101, 200, 250}, []int{1, 5, 20, 98, 99, 100, 101, 150, 199, 200, 201, 250}) {
			tos := []int{1, written / 2, 98, 99, 100, written - 1, written}
			slices.Sort(tos)
			for _, to := range slices.Compact(tos) {
				if to < 1 || to > written {
					continue
				}
				t.Run(fmt.Sprintf("%d shards, %d of %d", shards, to, written), func(t *testing.T) {
					t.Parallel()
					of := *s
					of.T = t
					m := of.truth(fmt.Sprintf("a-%d-%d", written, to))
					w := m.recover("at first")
					m.append(w, written, written%2 == 0)
					m.deleted(int64(to))
					if written%2 == 0 { // a JVM drops the rest of a cut atomic write
						m.deleted(int64(written))
					}
					if _, err := w.DeleteTo(t.Context(), int64(to)); err != nil {
						t.Fatal(err)
					}
					m.goesOn()
				})
			}
		}
	}
}

// Go dies at any request of an operation, and its request in flight lands at any time. The
// unfinished operation must not lead a JVM to a used number, and must not hide events that the JVM
// persists.
func TestJVM_ContinuesAfterGoIsKilled(t *testing.T) {
	t.Parallel()
	testsize.NeedsLong(t, "it kills a process at each request")
	testsize.NoRace(t, "it does one thing after the other")
	for name, c := range map[string]struct {
		events int
		jvm    int
		do     func(context.Context, *dynajournal.Journal, string) error
		// deletes is the number up to which the operation deletes.
		deletes int64
		kind    string
	}{
		"deletion of all":                {7, 0, deletesTo(7), 7, "deletion"},
		"deletion of a part":             {7, 0, deletesTo(4), 4, "deletion"},
		"deletion of all in two blocks":  {105, 0, deletesTo(105), 105, "deletion"},
		"deletion of a part, two blocks": {105, 0, deletesTo(102), 102, "deletion"},
		"deletion of a JVM's":            {0, 6, deletesTo(6), 6, "deletion"},
		"purge":                          {7, 0, purgeAll, 7, "purge"},
		"purge of two blocks":            {105, 0, purgeAll, 105, "purge"},
		"snapshot beyond the journal":    {3, 0, goesOnAfter(50), 50, "snapshot"},
		"snapshot in another block":      {3, 0, goesOnAfter(150), 150, "snapshot"},
		"snapshot at a border":           {3, 0, goesOnAfter(99), 99, "snapshot"},
		"snapshot after a border":        {99, 0, goesOnAfter(100), 100, "snapshot"},
	} {
		for when, kinds := range map[string]string{
			"never":                  "deletion, snapshot, purge",
			"before the JVM":         "deletion, snapshot, purge",
			"after it has persisted": "deletion, snapshot",
			"after it has deleted":   "deletion",
		} {
			if !strings.Contains(kinds, c.kind) {
				continue
			}
			t.Run(name+", lands "+when, func(t *testing.T) {
				t.Parallel()
				s := newTurns(t, 10)
				for requests := 0; ; requests++ {
					m := s.truth(fmt.Sprintf("a-%d", requests))
					if c.events > 0 {
						m.append(m.recover("at first"), c.events, false)
					}
					if c.jvm > 0 {
						m.persist(m.start("at first"), c.jvm, false)
					}
					p := s.dying()
					m.deleted(c.deletes)
					switch c.kind {
					case "snapshot":
						m.unsure = true
					case "purge":
						m.top, m.unsure, m.skips = 0, true, true
					}
					p.dieAfter(requests)
					err := c.do(t.Context(), p.journal, m.pid)
					if when == "before the JVM" {
						p.land()
					}
					m.afterDeath(p, when)
					if err == nil {
						return
					}
				}
			})
		}
	}
}

func (m *truth) afterDeath(p *process, when string) {
	m.Helper()
	e := m.start("Go is dead")
	m.persist(e, 3, false)
	if when == "after it has persisted" {
		m.unsure = p.late != nil
		p.land()
	}
	e = m.start("the JVM has persisted")
	m.checkJVM("the JVM has persisted", e)
	m.check("the JVM has persisted")
	m.jvmDeletes(e, m.top-1)
	if when == "after it has deleted" {
		p.land()
	}
	e = m.start("the JVM has deleted")
	m.persist(e, 2, false)
	m.checkJVM("the JVM in the end", m.start("the JVM in the end"))
	m.goesOn()
}

// A JVM that takes over from a dead writer in Go finds every event that readers have seen, and does
// not overwrite any.
func TestJVM_KilledAppendIsNotOverwritten(t *testing.T) {
	t.Parallel()
	s := newTurns(t, 10)
	for requests := 0; ; requests++ {
		m := s.truth(fmt.Sprintf("a-%d", requests))
		m.append(m.recover("at first"), 99, false)
		p := s.dying()
		w := recovered(t, p.journal, m.pid)
		p.dieAfter(requests)
		_, err := w.Append(t.Context(), "at 100")
		shown := readEvents(t, s.journal, m.pid, dynajournal.Range{From: 100})
		m.unsure = true
		m.persist(m.start("Go is dead"), 1, false)
		after := readEvents(t, s.journal, m.pid, dynajournal.Range{From: 100})
		if len(shown) > 0 && (len(after) < 1 || after[0].WriterUUID != shown[0].WriterUUID) {
			t.Errorf("after %d requests the event at 100 was shown, and then written over", requests)
		}
		m.goesOn()
		if err == nil {
			return
		}
	}
}

func deletesTo(to int64) func(context.Context, *dynajournal.Journal, string) error {
	return func(ctx context.Context, j *dynajournal.Journal, pid string) error {
		w, err := j.Recover(ctx, pid, dynajournal.RecoverOptions{}, nil)
		if err == nil {
			_, err = w.DeleteTo(ctx, to)
		}
		return err
	}
}

func purgeAll(ctx context.Context, j *dynajournal.Journal, pid string) error {
	w, err := j.Recover(ctx, pid, dynajournal.RecoverOptions{}, nil)
	if err == nil {
		_, err = w.Purge(ctx, dynajournal.PurgeOptions{})
	}
	return err
}

func goesOnAfter(snapshot int64) func(context.Context, *dynajournal.Journal, string) error {
	return func(ctx context.Context, j *dynajournal.Journal, pid string) error {
		_, err := j.Recover(ctx, pid, dynajournal.RecoverOptions{Snapshot: snapshot, JournalLost: true}, nil)
		return err
	}
}

// A JVM that deletes less than Go has deleted does not change Go's low mark or the atomic write
// that it cuts.
func TestJVM_DeletesLessThanGo(t *testing.T) {
	t.Parallel()
	s := newTurns(t, 10)
	m := s.truth("a")
	w := m.recover("at first")
	m.append(w, 100, false)
	m.append(w, 5, true) // 101 to 105
	m.append(w, 1, false)
	m.deleted(103)
	if _, err := w.DeleteTo(t.Context(), 103); err != nil {
		t.Fatal(err)
	}
	m.jvmDeletes(m.start("the JVM"), 101)
	client := dynamodb.NewFromConfig(s.engine.AWSConfig())
	for _, num := range []string{"2", "3"} { // their tombstones expire
		if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: aws.String("pekko-persistence"),
			Key: map[string]types.AttributeValue{
				"par": &types.AttributeValueMemberS{Value: "journal-P-a-1"}, "num": &types.AttributeValueMemberN{Value: num},
			},
			ConditionExpression: aws.String("attribute_exists(expires)"),
		}); err != nil {
			t.Fatal(err)
		}
	}
	m.recover("Go")
	if got := numbersText(numbersOf(readEvents(t, s.journal, "a", dynajournal.Range{}))); got != "104-106" {
		t.Errorf("events %s, want 104-106", got)
	}
}

// A JVM's low mark replaces the low mark that names an atomic write cut by a deletion in Go. The
// rest of the atomic write stays visible to readers, to a copy, and to the next writer.
func TestRestOfACutAtomicWriteOutlivesAJVMsLowMark(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, members, cut, jvmTo int64 }{
		"of two":            {0, 2, 1, 0},
		"after others":      {3, 5, 5, 2},
		"in two partitions": {95, 10, 102, 3},
		"after a border":    {95, 10, 99, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTurns(t, 1)
			m := s.truth("a")
			w := m.recover("at first")
			m.append(w, int(c.before), false)
			m.append(w, int(c.members), true)
			m.deleted(c.cut)
			if _, err := w.DeleteTo(t.Context(), c.cut); err != nil {
				t.Fatal(err)
			}
			e := m.start("the JVM")
			m.persist(e, 1, false)
			m.jvmDeletes(e, c.jvmTo)
			m.check("a reader")
			var records []dynajournal.Record
			for r, err := range s.journal.Records(t.Context(), m.pid, dynajournal.RecordsOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				records = append(records, r)
			}
			to := *s
			to.journal, to.config.JournalName = nil, "copy"
			to.journal = openJournal(t, to.config)
			if _, err := to.journal.PutRecords(t.Context(), m.pid, each(records), dynajournal.PutRecordsOptions{}); err != nil {
				t.Fatal(err)
			}
			copied := *m
			copied.turns = &to
			copied.check("a copy")
			p := s.dying()
			for requests, dead := 1, true; dead; requests++ { // a recovery that dies at any request
				p.dieAfter(requests)
				_, err := p.journal.Recover(t.Context(), m.pid, dynajournal.RecoverOptions{}, nil)
				dead = err != nil
				p.land()
				m.check(fmt.Sprintf("a recovery died after %d requests", requests))
			}
			m.recover("Go")
			m.append(m.recover("Go again"), 1, false)
		})
	}
}

// A deletion by Go that cuts an atomic write dies at any request. Then a JVM with one shard, whose
// low mark replaces Go's, deletes less. The events after both deletions stay visible.
func TestRestOfAnAtomicWriteIsKeptByAnInterruptedDeletion(t *testing.T) {
	t.Parallel()
	testsize.NoRace(t, "it does one thing after the other")
	for name, c := range map[string]struct{ before, members, cut int64 }{
		"of the first events": {0, 7, 4},
		"after others":        {3, 7, 7},
		"in two partitions":   {95, 10, 102},
		"after a border":      {97, 10, 105},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTurns(t, 1)
			for jvmTo := max(c.before-1, 0); jvmTo < c.cut; jvmTo += testsize.Of[int64](9, 1) {
				s.cutShort(t, c.before, c.members, c.cut, jvmTo)
			}
		})
	}
}

// cutShort appends single events and an atomic write. It then deletes up to a member of the atomic
// write, in a process that dies at each request in turn. After that a JVM deletes to jvmTo.
func (s *turns) cutShort(t *testing.T, before, members, cut, jvmTo int64) {
	for requests, dead := 0, true; dead; requests++ {
		of := *s
		of.T = t
		m := of.truth(fmt.Sprintf("a-%d-%d", jvmTo, requests))
		w := m.recover("at first")
		m.append(w, int(before), false)
		m.append(w, int(members), true)
		m.deleted(cut)
		p := of.dying()
		p.dieAfter(requests)
		dead = deletesTo(cut)(t.Context(), p.journal, m.pid) != nil
		p.land()
		e := m.start("the JVM")
		m.persist(e, 1, false)
		m.jvmDeletes(e, jvmTo)
		what := fmt.Sprintf("Go died after %d requests, the JVM deleted to %d", requests, jvmTo)
		m.check(what)
		m.append(m.recover(what), 1, false)
		m.recover(what)
	}
}

// A JVM deletes where members of a refused atomic write are stored. Readers must not see these
// members.
func TestPartsOfARefusedAtomicWriteStayHidden(t *testing.T) {
	t.Parallel()
	s := newTurns(t, 10)
	m := s.truth("a")
	w := m.recover("at first")
	m.append(w, 9, false)
	stale := recovered(t, s.journal, "a")
	m.append(w, 2, true) // 10 and 11
	if _, err := stale.Append(t.Context(), m.payloads(8)...); !errors.Is(err, dynajournal.ErrWriterConflict) {
		t.Fatalf("a stale writer's append of 10 to 17: %v", err)
	}
	m.unsure = true
	e := m.start("the JVM")
	m.persist(e, 5, false)
	m.jvmDeletes(e, 11)
	if got := numbersText(numbersOf(readEvents(t, s.journal, "a", dynajournal.Range{}))); got != "18-22" {
		t.Errorf("events %s, want 18-22", got)
	}
}

// Seals of earlier complete deletions are removed.
func TestDeletionsOfEverythingLeaveOneSeal(t *testing.T) {
	t.Parallel()
	s := newTurns(t, 10)
	m := s.truth("a")
	w := m.recover("at first")
	for range 5 {
		m.append(w, 2, false)
		m.deleted(m.top)
		if _, err := w.DeleteTo(t.Context(), m.top); err != nil {
			t.Fatal(err)
		}
	}
	listing, err := s.journal.List(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(listing.Seals, []int64{10}) || len(listing.Tombstones) != 9 {
		t.Errorf("seals %v, tombstones %v; want a seal at 10 and 9 tombstones", listing.Seals, listing.Tombstones)
	}
}

// Go and a JVM take turns at random. Go dies at any request, and its request in flight lands at any
// time of its turn, or of the JVM's turn until the JVM deletes.
func TestRandomTurns(t *testing.T) {
	t.Parallel()
	seed := *turnSeed
	for _, shards := range []int{1, 10} {
		t.Run(fmt.Sprintf("%d shards", shards), func(t *testing.T) {
			t.Parallel()
			s := newTurns(t, shards)
			// Each member of an atomic write is a request, so that a part of it can be stored.
			single := *s
			single.config.GroupCommit = dynajournal.GroupCommitOff
			p := single.dying()
			for i := range *turnRounds {
				draw := rand.New(rand.NewPCG(seed, uint64(i)))
				m := s.truth(fmt.Sprintf("a-%d", i))
				if !t.Run(fmt.Sprintf("entity %d of seed %d", i, seed), func(t *testing.T) {
					of := *s
					of.T = t
					m.turns = &of
					m.takeTurns(p, draw)
				}) {
					return
				}
			}
		})
	}
}

// takeTurns runs some random turns.
func (m *truth) takeTurns(p *process, draw *rand.Rand) {
	var cut []int64 // events of atomic writes that deletions have cut
	size := func() int { return []int{1, 2, 5, 30, 97, 99, 100, 103}[draw.IntN(8)] }
	for range 3 + draw.IntN(8) {
		some := m.top - int64(draw.IntN(7))
		if draw.IntN(3) == 0 {
			some = draw.Int64N(m.top + 1)
		}
		switch draw.IntN(7) {
		case 0, 1:
			e := m.start("JVM")
			if len(cut) == 0 {
				m.checkJVM("JVM", e)
			}
			m.persist(e, size(), draw.IntN(2) == 0)
			if draw.IntN(2) == 0 {
				m.jvmDeletes(e, max(0, some))
				cut = append(cut, 1)
			}
		case 2:
			m.append(m.recover("Go"), size(), false)
		case 3:
			w := m.recover("Go")
			m.append(w, size(), draw.IntN(2) == 0)
			m.deleted(some)
			cut = append(cut, 1)
			if _, err := w.DeleteTo(m.Context(), max(0, some)); err != nil {
				m.Fatal(err)
			}
		case 4: // an interrupted deletion
			cut = append(cut, 1)
			m.deleted(some)
			p.dieAfter(draw.IntN(12))
			_ = deletesTo(max(0, some))(m.Context(), p.journal, m.pid)
			p.land()
			m.recover("Go is dead")
		case 5: // an interrupted purge
			m.recover("Go")
			if draw.IntN(4) > 0 {
				continue
			}
			m.deleted(m.top)
			m.top, m.unsure, m.skips = 0, true, true
			p.dieAfter(draw.IntN(12))
			_ = purgeAll(m.Context(), p.journal, m.pid)
			p.land()
		case 6: // an interrupted append
			m.appendCutShort(p, size(), draw.IntN(10))
			m.recover("Go is dead")
		}
		m.check("after a turn")
	}
}

// appendCutShort appends an atomic write of n events in a process that dies after some requests.
func (m *truth) appendCutShort(p *process, n, requests int) {
	m.Helper()
	p.dieAfter(-1)
	w := recovered(m.T, p.journal, m.pid)
	p.dieAfter(requests)
	values := m.payloads(n)
	result, err := w.Append(m.Context(), values...)
	p.land()
	m.unsure, m.skips = true, true // a high mark without its event
	if err == nil {
		m.took(result.First, values)
	}
}
