package systemtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"google.golang.org/protobuf/proto"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/persistentpb"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// goldenDiffers lists the replays of the golden scenarios in which this journal must differ from
// the plug-in. want is its result. All other replays must equal the plug-in's.
var goldenDiffers = map[string]struct{ want, why string }{
	"pekko-1.1.0/batch-120 118..":          {"118-121", partOfBatch},
	"pekko-1.1.0/batch-120 100..":          {"100-121", partOfBatch},
	"pekko-1.1.0/batch-30 33..33":          {"33", partOfBatch},
	"pekko-1.1.0/batch-30 1..33 max 8":     {"1-8", partOfBatch},
	"pekko-1.1.0/batch-cross-100 99..100":  {"99-100", partOfBatch},
	"pekko-1.1.0/batch-cross-100 1..99":    {"1-99", partOfBatch},
	"pekko-1.1.0/batch-cross-100 100..":    {"100-105", partOfBatch},
	"pekko-1.1.0/batch-cross-100 100..101": {"100-101", partOfBatch},
	"pekko-1.1.0/batch-first 2..":          {"2-7", partOfBatch},
	"pekko-1.1.0/batch-mid 6..":            {"6-11", partOfBatch},
	"pekko-1.1.0/batch-mid 7..":            {"7-11", partOfBatch},
	"pekko-1.1.0/batch-mid 1..6":           {"1-6", partOfBatch},
	"pekko-1.1.0/batch-mid 1..5":           {"1-5", partOfBatch},
	"pekko-1.1.0/batch-mid 1..11 max 5":    {"1-5", partOfBatch},
	"pekko-1.1.0/batch-mid 6..6":           {"6", partOfBatch},
	"pekko-1.1.0/batch-start-100 101..":    {"101-103", partOfBatch},
	"pekko-1.1.0/batch-start-100 1..100":   {"1-100", partOfBatch},
	"pekko-1.1.0/delete-inside-batch 1..":  {"5-8", "the rest of an atomic write that a deletion cut counts"},
	"pekko-1.1.0/high-mark-missing 98..":   {"98-103", hiddenTail},
	"pekko-1.1.0/rejected-at-boundary 98..": {
		"98-99,101-103", hiddenTail,
	},
	"pekko-1.1.0/two-writers 1..":           {"1-5", everyWriter},
	"pekko-1.1.0/old-batch-cross-100 103..": {"103-106", partOfBatch},
	"akka-1.1.1/batch-mid 6..":              {"6-11", partOfBatch},
	"akka-1.1.1/batch-mid 1..6":             {"1-6", partOfBatch},
	"akka-1.1.1/batch-start-100 98..":       {"98-104", hiddenTail},
	"akka-1.1.1/two-writers 1..":            {"1-5", everyWriter},
}

const (
	partOfBatch = "a window that cuts a complete atomic write returns its part of it"
	hiddenTail  = "a tail after a missing high mark is found"
	everyWriter = "events of every writer are returned; dropping those of an older one is the replay filter's"
)

// goldenHighest has the highest numbers in scenarios in which the plug-in did not see them.
var goldenHighest = map[string]int64{
	"pekko-1.1.0/high-mark-missing":    103,
	"pekko-1.1.0/rejected-at-boundary": 103,
	"akka-1.1.1/batch-start-100":       104,
}

type goldenFile struct {
	Steps  []goldenStep
	Tables map[string][]map[string]goldenValue
}

type goldenStep struct {
	Op, Pid string
	// From is a number, except in a listing of ids.
	From    json.RawMessage
	To, Max *int64
	Result  struct {
		Events       json.RawMessage
		HighestSeqNr int64
	}
}

// window returns the step's range, and its text, from which the names of replays are made.
func (s *goldenStep) window(tb testing.TB) (dynajournal.Range, string) {
	tb.Helper()
	w := dynajournal.Range{Limit: s.Max}
	if err := json.Unmarshal(s.From, &w.From); err != nil {
		tb.Fatalf("a golden window begins at %s: %v", s.From, err)
	}
	name := fmt.Sprintf("%d..", w.From)
	if s.To != nil {
		w.To = *s.To
		name += strconv.FormatInt(w.To, 10)
	}
	if s.Max != nil {
		name += fmt.Sprintf(" max %d", *s.Max)
	}
	return w, name
}

// changes reports whether the step may change the table.
func (s *goldenStep) changes() bool {
	return slices.Contains([]string{"write", "delete", "purge", "rawDeleteEvents", "rawDeleteItem"}, s.Op)
}

// reads reports whether the step has a window.
func (s *goldenStep) reads() bool { return s.Op == "replay" || s.Op == "currentEvents" }

type goldenEvent struct {
	SeqNr                int64
	PersistenceID        string `json:"persistenceId"`
	Manifest, WriterUUID string
	Class                string
	Value                json.RawMessage
}

// goldenValue is a value in DynamoDB JSON.
type goldenValue struct {
	S, N *string
	B    *[]byte
}

func (v goldenValue) attribute() types.AttributeValue {
	switch {
	case v.S != nil:
		return &types.AttributeValueMemberS{Value: *v.S}
	case v.N != nil:
		return &types.AttributeValueMemberN{Value: *v.N}
	}
	return &types.AttributeValueMemberB{Value: *v.B}
}

func (v goldenValue) number(tb testing.TB) int64 {
	tb.Helper()
	if v.N == nil {
		tb.Fatal("a golden item lacks a number")
	}
	n, err := strconv.ParseInt(*v.N, 10, 64)
	if err != nil {
		tb.Fatalf("a golden item has the number %q", *v.N)
	}
	return n
}

func (v goldenValue) text() string {
	if v.S == nil {
		return ""
	}
	return *v.S
}

// scenario is one golden file, loaded into its own journal.
type scenario struct {
	name    string
	steps   []goldenStep
	journal *dynajournal.Journal
	items   []map[string]goldenValue
}

func TestGolden(t *testing.T) {
	t.Parallel()
	testsize.NoRace(t, "it does one thing after the other")
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no golden files (%v)", err)
	}
	differs, highest := maps.Clone(goldenDiffers), maps.Clone(goldenHighest)
	t.Run("scenario", func(t *testing.T) {
		for _, file := range files {
			s := loadScenario(t, file)
			t.Run(s.name, func(t *testing.T) {
				s.checkReplays(t, differs, highest)
				for _, pid := range s.pids() {
					m := s.model(t, pid)
					s.checkWindows(t, pid, m)
					s.checkGoingOn(t, pid, m)
				}
			})
		}
	})
	for name := range differs {
		t.Errorf("the difference %q is in no scenario", name)
	}
	for name := range highest {
		t.Errorf("the highest number of %q is in no scenario", name)
	}
}

func loadScenario(t *testing.T, file string) *scenario {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var golden goldenFile
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createTables(t, config, dynajournal.TableOptions{SharedWithJVM: true})
	name := filepath.Base(filepath.Dir(file)) + "/" + strings.TrimSuffix(filepath.Base(file), ".json")
	s := &scenario{name: name, steps: golden.Steps, journal: openJournal(t, config)}
	for table, items := range golden.Tables {
		if !strings.HasSuffix(table, "snapshot") {
			s.items = items
		}
	}
	items := make([]map[string]types.AttributeValue, len(s.items))
	for i, it := range s.items {
		items[i] = map[string]types.AttributeValue{}
		for name, v := range it {
			items[i][name] = v.attribute()
		}
	}
	putAll(t, dynamodb.NewFromConfig(config.AWS), items)
	return s
}

func (s *scenario) pids() []string {
	var pids []string
	for i := range s.steps {
		if pid := s.steps[i].Pid; pid != "" && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// model returns the model of a persistence id, made from the items.
func (s *scenario) model(tb testing.TB, pid string) *model {
	tb.Helper()
	m := &model{items: map[int64]modelItem{}, shared: true}
	for _, it := range s.items {
		par, num := it["par"].text(), it["num"].number(tb)
		if p, ok := partitionOf(par, "journal-P-"+pid); ok {
			seq := p*modelBlock + num
			m.items[seq] = goldenItem(tb, it, seq)
		} else if _, ok := partitionOf(par, "journal-SH-"+pid); ok {
			m.high = max(m.high, it["seq"].number(tb))
		} else if _, ok := partitionOf(par, "journal-SL-"+pid); ok {
			m.low.seq, m.low.jvm = max(m.low.seq, it["seq"].number(tb)), true
		}
	}
	return m
}

// partitionOf returns the number after the prefix and a dash.
func partitionOf(par, prefix string) (int64, bool) {
	tail, ok := strings.CutPrefix(par, prefix+"-")
	if !ok || strings.Trim(tail, "0123456789") != "" {
		return 0, false
	}
	p, err := strconv.ParseInt(tail, 10, 64)
	return p, err == nil
}

// goldenItem decodes an event, in the current form or in Akka 1.1's form.
func goldenItem(tb testing.TB, it map[string]goldenValue, seq int64) modelItem {
	tb.Helper()
	event := modelItem{event: true}
	if pay := it["pay"].B; pay != nil {
		var message persistentpb.PersistentMessage
		if err := proto.Unmarshal(*pay, &message); err != nil {
			tb.Fatalf("the golden event %d is no message: %v", seq, err)
		}
		event.writer, event.manifest = message.GetWriterUuid(), message.GetManifest()
		event.bytes, event.serializer = message.GetPayload().GetPayload(), message.GetPayload().GetSerializerId()
		event.serializerManifest = string(message.GetPayload().GetPayloadManifest())
	} else {
		event.writer, event.manifest = it["writer_uuid"].text(), it["manifest"].text()
		event.bytes, event.serializer = *it["event"].B, int32(it["ev_ser_id"].number(tb))
		event.serializerManifest = it["ev_ser_manifest"].text()
	}
	if it["idx"].N != nil {
		start := seq - it["idx"].number(tb)
		event.batch = modelBatch{start, start + it["cnt"].number(tb), event.writer}
	}
	return event
}

// checkReplays compares replays with the plug-in's, if nothing was changed after them.
func (s *scenario) checkReplays(t *testing.T, differs map[string]struct{ want, why string }, highest map[string]int64) {
	t.Helper()
	changed := map[string]int{}
	for i := range s.steps {
		step := &s.steps[i]
		if !step.changes() {
			continue
		}
		for _, pid := range s.pids() {
			if step.Pid == pid || step.Pid == "" {
				changed[pid] = i
			}
		}
	}
	for i := range s.steps {
		step := &s.steps[i]
		if step.Op != "replay" || i < changed[step.Pid] {
			continue
		}
		w, name := step.window(t)
		var events []goldenEvent
		if err := json.Unmarshal(step.Result.Events, &events); err != nil {
			t.Fatalf("the events of step %d: %v", i, err)
		}
		want := make([]int64, len(events))
		for k, e := range events {
			want[k] = e.SeqNr
		}
		wantText, why := numbersText(want), "as the plug-in"
		if d, ok := goldenDiffers[s.name+" "+name]; ok {
			if d.want == wantText {
				t.Errorf("replay %s is named as different, but is not", name)
			}
			wantText, why = d.want, d.why
			delete(differs, s.name+" "+name)
		}
		got := readEvents(t, s.journal, step.Pid, w)
		if text := numbersText(numbersOf(got)); text != wantText {
			t.Errorf("Events(%.40q, %s) returned %s, want %s: %s", step.Pid, name, text, wantText, why)
		}
		checkDecoded(t, got, events)
		wantHighest := step.Result.HighestSeqNr
		if h, ok := goldenHighest[s.name]; ok {
			wantHighest = h
			delete(highest, s.name)
		}
		if b := readBounds(t, s.journal, step.Pid); b.Highest != wantHighest {
			t.Errorf("the highest number of %.40q is %d, want %d", step.Pid, b.Highest, wantHighest)
		}
	}
}

// checkDecoded compares events with the events that the plug-in decoded.
func checkDecoded(t *testing.T, got []dynajournal.Event, want []goldenEvent) {
	t.Helper()
	for _, w := range want {
		i := slices.IndexFunc(got, func(e dynajournal.Event) bool { return e.SequenceNumber == w.SeqNr })
		if i < 0 {
			continue // its number was checked before
		}
		e := got[i]
		if e.PersistenceID != w.PersistenceID || e.Manifest != w.Manifest || e.WriterUUID != w.WriterUUID {
			t.Errorf("event %d is of %q, manifest %q, writer %q, want %q, %q, %q",
				w.SeqNr, e.PersistenceID, e.Manifest, e.WriterUUID, w.PersistenceID, w.Manifest, w.WriterUUID)
		}
		switch w.Class {
		case "java.lang.String":
			checkPayload[string](t, e, w.Value)
		case "[B":
			checkPayload[[]byte](t, e, w.Value)
		}
	}
}

func checkPayload[T string | []byte](t *testing.T, e dynajournal.Event, value json.RawMessage) {
	t.Helper()
	var want T
	if value == nil { // a long value, of which the file has only the length
		return
	}
	if err := json.Unmarshal(value, &want); err != nil {
		t.Fatalf("the golden value of event %d: %v", e.SequenceNumber, err)
	}
	got, err := dynajournal.Decode[T](t.Context(), e)
	if err != nil || string(got) != string(want) {
		t.Errorf("event %d is %q, %v; want %q", e.SequenceNumber, got, err, want)
	}
}

// checkWindows compares reads with the model: the file's windows, windows that start and end near
// each event, and random windows.
func (s *scenario) checkWindows(t *testing.T, pid string, m *model) {
	t.Helper()
	var windows []dynajournal.Range
	for i := range s.steps {
		if step := &s.steps[i]; step.Pid == pid && step.reads() && step.From != nil {
			w, _ := step.window(t)
			windows = append(windows, w)
		}
	}
	windows = append(windows, dynajournal.Range{}, dynajournal.Range{From: m.highest(), To: math.MaxInt64})
	random := rand.New(rand.NewPCG(uint64(len(s.items)), uint64(len(pid))))
	for range 30 {
		windows = append(windows, randomWindow(random.Int64N, m.highest()))
	}
	for _, w := range windows {
		checkEvents(t, s.journal, pid, m, w)
	}
	b := readBounds(t, s.journal, pid)
	if want := (dynajournal.Bounds{Lowest: m.low.seq, Highest: m.highest()}); b != want {
		t.Errorf("Bounds(%.40q) = %+v, want %+v", pid, b, want)
	}
}

// randomWindow returns a window around the numbers up to highest. n draws a number from 0 up to,
// but not including, its argument.
func randomWindow(n func(int64) int64, highest int64) dynajournal.Range {
	var w dynajournal.Range
	if n(4) > 0 {
		w.From = n(highest + 3)
	}
	if n(3) > 0 {
		w.To = max(w.From-2, 0) + n(highest-min(w.From, highest)+4)
	}
	if n(3) == 0 {
		w.Limit = aws.Int64(n(min(highest, 12) + 2))
	}
	return w
}

// checkEvents compares the events of a window with the model, including every attribute of each
// event.
func checkEvents(tb testing.TB, j *dynajournal.Journal, pid string, m *model, w dynajournal.Range) {
	tb.Helper()
	got := readEvents(tb, j, pid, w)
	if got, want := numbersText(numbersOf(got)), numbersText(m.events(w)); got != want {
		tb.Errorf("Events(%.40q, %s) returned %s, the model says %s", pid, windowText(w), got, want)
	}
	for _, e := range got {
		checkStored(tb, e, pid, m.items[e.SequenceNumber])
	}
}

func checkStored(tb testing.TB, e dynajournal.Event, pid string, want modelItem) {
	tb.Helper()
	if e.PersistenceID != pid || e.WriterUUID != want.writer || e.Manifest != want.manifest || e.SerializerID != want.serializer ||
		e.SerializerManifest != want.serializerManifest || string(e.Bytes) != string(want.bytes) {
		tb.Errorf("event %d is %+v, stored is %+v", e.SequenceNumber, e, want)
	}
}

// checkGoingOn recovers, appends and replays.
func (s *scenario) checkGoingOn(t *testing.T, pid string, m *model) {
	t.Helper()
	before, next := m.events(dynajournal.Range{}), m.next()
	w := checkRecovery(t, s.journal, pid, m, dynajournal.RecoverOptions{})
	if _, err := w.Append(t.Context(), "single"); err != nil {
		t.Fatalf("Append to %.40q: %v", pid, err)
	}
	result, err := w.Append(t.Context(), "atomic", []byte("write"), "of three")
	if err != nil || result.First != next+1 || result.Last != next+3 {
		t.Fatalf("Append to %.40q gave %+v, %v; want %d to %d", pid, result, err, next+1, next+3)
	}
	got := readEvents(t, s.journal, pid, dynajournal.Range{})
	if got, want := numbersText(numbersOf(got)), numbersText(append(before, next, next+1, next+2, next+3)); got != want {
		t.Errorf("after the append, Events(%.40q) returned %s, want %s", pid, got, want)
	}
}

// checkRecovery compares a recovery with the model: the replayed events, the closed numbers, and
// the next number.
func checkRecovery(tb testing.TB, j *dynajournal.Journal, pid string, m *model, o dynajournal.RecoverOptions) *dynajournal.Writer {
	tb.Helper()
	var got []int64
	w, err := j.Recover(tb.Context(), pid, o, func(e dynajournal.Event) error {
		checkStored(tb, e, pid, m.items[e.SequenceNumber])
		got = append(got, e.SequenceNumber)
		return nil
	})
	if err != nil {
		tb.Fatalf("Recover(%.40q, %+v): %v", pid, o, err)
	}
	if got, want := numbersText(got), numbersText(m.replay(o)); got != want {
		tb.Errorf("Recover(%.40q, after %d, %s) replayed %s, the model says %s",
			pid, o.After, windowText(dynajournal.Range{To: o.To, Limit: o.Limit}), got, want)
	}
	next, err := w.NextSequenceNumber(tb.Context())
	if err != nil || next != m.next() {
		tb.Errorf("Recover(%.40q): the writer continues at %d (%v), want %d", pid, next, err, m.next())
	}
	listing, err := j.List(tb.Context(), pid)
	if err != nil {
		tb.Fatalf("List(%.40q): %v", pid, err)
	}
	for _, seq := range m.gaps(o.After) {
		if !slices.Contains(listing.Seals, seq) {
			tb.Errorf("Recover(%.40q) did not seal %d", pid, seq)
		}
	}
	if mark := m.highest() / modelBlock * modelBlock; mark > 0 && m.low.seq <= m.highest() && !slices.ContainsFunc(listing.HighMarks, func(h int64) bool { return h >= mark }) {
		tb.Errorf("Recover(%.40q) left the high marks at %v, want %d", pid, listing.HighMarks, mark)
	}
	return w
}
