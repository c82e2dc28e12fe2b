package jvm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/internal/jvm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	journalTable  = dynajournal.DefaultJournalTable
	snapshotTable = dynajournal.DefaultSnapshotTable
)

type item = map[string]types.AttributeValue

// tables returns empty tables, and the plug-in for them.
func tables(t *testing.T) (dynajournal.Config, *dynamodb.Client, *jvm.Plugin) {
	t.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	config := dynajournal.Config{AWS: engine.AWSConfig()}
	if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{SharedWithJVM: true}); err != nil {
		t.Fatal(err)
	}
	client := dynamodb.NewFromConfig(config.AWS)
	// Only the journal's header is stored, which no plug-in writes.
	for _, i := range stored(t, client, journalTable) {
		remove(t, client, item{"par": i["par"], "num": i["num"]})
	}
	return config, client, jvm.New(client, journalTable, snapshotTable, "journal", 10)
}

// stored returns all items of a table in the order of their keys.
func stored(t *testing.T, client *dynamodb.Client, table string) []item {
	t.Helper()
	var all []item
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Items...)
	}
	slices.SortFunc(all, func(a, b item) int { return strings.Compare(keyOf(a, table), keyOf(b, table)) })
	return all
}

// keyOf formats the key of an item. The results sort as the keys.
func keyOf(i item, table string) string {
	name := "num"
	if table == snapshotTable {
		name = "seq"
	}
	n, err := strconv.ParseInt(i[name].(*types.AttributeValueMemberN).Value, 10, 64)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%s/%019d", i["par"].(*types.AttributeValueMemberS).Value, n)
}

func remove(t *testing.T, client *dynamodb.Client, key item) {
	t.Helper()
	_, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(journalTable), Key: key})
	if err != nil {
		t.Fatal(err)
	}
}

// goldenFile is a scenario that was run with the real plug-in, with its results and items.
type goldenFile struct {
	Steps  []goldenStep
	Tables map[string][]goldenItem
}

type goldenEvent struct {
	T string
	V json.RawMessage
	N int
}

type goldenStep struct {
	Op, PID string
	N       int64
	V       *string
	Events  []goldenEvent
	Event   goldenEvent
	Atomic  bool
	Writer  string
	File    string
	Par     string
	Num     string
	Next    int64
	Seq     int64
	Seqs    []int64
	// From is a number in all steps except the listing of ids.
	From                                json.RawMessage
	To, Max                             *int64
	MinSeq, MaxSeq, MinTS, MaxTS, ToSeq *int64
	Result                              goldenResult
}

type goldenResult struct {
	Events          json.RawMessage
	HighestSeqNr    int64
	Lowest, Highest []int64
	Errors          []string
	SeqNr           *int64
	Timestamp       int64
	Value           json.RawMessage
}

// goldenItem is an item in DynamoDB JSON.
type goldenItem map[string]struct {
	S, N *string
	B    *[]byte
}

func (g goldenItem) attributes() item {
	i := item{}
	for name, v := range g {
		switch {
		case v.S != nil:
			i[name] = &types.AttributeValueMemberS{Value: *v.S}
		case v.N != nil:
			i[name] = &types.AttributeValueMemberN{Value: *v.N}
		default:
			i[name] = &types.AttributeValueMemberB{Value: *v.B}
		}
	}
	return i
}

func readGolden(t *testing.T, file string) goldenFile {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var golden goldenFile
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return golden
}

// scenario is a golden file that is run again.
type scenario struct {
	*testing.T

	client *dynamodb.Client
	plugin *jvm.Plugin
	golden goldenFile
	next   map[string]int64
}

// TestPlugin_PekkoGolden runs every scenario of Pekko's plug-in: each step must have the same
// result, and the items must be equal at the end.
func TestPlugin_PekkoGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "systemtest", "testdata", "golden", "pekko-1.1.0", "*.json"))
	if err != nil || len(files) < 30 {
		t.Fatalf("there are %d golden files (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			s := scenario{T: t, golden: readGolden(t, file), next: map[string]int64{}}
			_, s.client, s.plugin = tables(t)
			for n, step := range s.golden.Steps {
				s.play(fmt.Sprintf("step %d, %s", n, step.Op), step)
			}
			s.compare()
		})
	}
}

func (s *scenario) compare() {
	s.Helper()
	for table, want := range s.golden.Tables {
		items := make([]item, len(want))
		for n, g := range want {
			items[n] = g.attributes()
		}
		slices.SortFunc(items, func(a, b item) int { return strings.Compare(keyOf(a, table), keyOf(b, table)) })
		got := stored(s.T, s.client, table)
		if len(got) != len(items) {
			s.Errorf("there are %d items in %s, want %d", len(got), table, len(items))
		}
		for n := range min(len(got), len(items)) {
			if !reflect.DeepEqual(got[n], items[n]) {
				s.Errorf("an item of %s is\n%v, want\n%v", table, got[n], items[n])
			}
		}
	}
}

func (s *scenario) play(name string, step goldenStep) {
	s.Helper()
	ctx := s.Context()
	switch step.Op {
	case "write":
		s.write(name, step)
	case "replay":
		s.replay(name, step)
	case "delete":
		s.must(name, s.plugin.Delete(ctx, step.PID, *step.To))
	case "purge":
		s.must(name, s.plugin.Purge(ctx, step.PID))
		s.next[step.PID] = 1
	case "seq":
		s.next[step.PID] = step.Next
	case "import":
		s.load(step)
	case "listAll":
		marks, err := s.plugin.ReadMarks(ctx, step.PID)
		s.must(name, err)
		slices.Sort(step.Result.Lowest)
		slices.Sort(step.Result.Highest)
		if !slices.Equal(marks.Low, step.Result.Lowest) || !slices.Equal(marks.High, step.Result.Highest) {
			s.Errorf("%s: the marks are %v, want %v and %v", name, marks, step.Result.Lowest, step.Result.Highest)
		}
	case "rawDeleteEvents":
		for _, seq := range step.Seqs {
			s.lose(fmt.Sprintf("journal-P-%s-%d", step.PID, seq/100), strconv.FormatInt(seq%100, 10))
		}
	case "rawDeleteItem":
		s.lose(step.Par, step.Num)
	case "saveSnapshot":
		payload, ts := s.savedAs(step)
		s.must(name, s.plugin.SaveSnapshot(ctx, step.PID, jvm.Snapshot{SequenceNumber: step.Seq, Timestamp: ts, Payload: payload}))
	case "loadSnapshot":
		s.loadSnapshot(name, step)
	case "deleteSnapshot":
		s.must(name, s.plugin.DeleteSnapshot(ctx, step.PID, step.Seq))
	case "deleteSnapshots":
		s.must(name, s.plugin.DeleteSnapshots(ctx, step.PID, criteria(step)))
	case "ids", "idsAlphabetical", "currentEvents", "sleep":
	default:
		s.Errorf("%s: it is not known", name)
	}
}

func (s *scenario) must(name string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", name, err)
	}
}

func (s *scenario) lose(par, num string) {
	s.Helper()
	remove(s.T, s.client, item{"par": &types.AttributeValueMemberS{Value: par}, "num": &types.AttributeValueMemberN{Value: num}})
}

// load puts the items of a scenario of Akka's plug-in.
func (s *scenario) load(step goldenStep) {
	s.Helper()
	file := filepath.Join("..", "systemtest", "testdata", "golden", "akka-1.1.1", filepath.Base(step.File))
	for table, items := range readGolden(s.T, file).Tables {
		to := journalTable
		if strings.HasSuffix(table, "snapshot") {
			to = snapshotTable
		}
		for _, g := range items {
			if _, err := s.client.PutItem(s.Context(), &dynamodb.PutItemInput{TableName: &to, Item: g.attributes()}); err != nil {
				s.Fatal(err)
			}
		}
	}
	s.next[step.PID] = step.Next
}

// goldenWriter is the writer UUID of a step that does not name one.
const goldenWriter = "11111111-2222-3333-4444-555555555555"

func (s *scenario) write(name string, step goldenStep) {
	s.Helper()
	first := max(s.next[step.PID], 1)
	named := first // the number in the events' names, even if their numbers differ
	if step.From != nil {
		s.must(name, json.Unmarshal(step.From, &first))
	}
	events := step.Events
	for n := range step.N {
		prefix := "event-"
		if step.V != nil {
			prefix = *step.V
		}
		events = append(events, goldenEvent{T: "string", V: fmt.Appendf(nil, "%q", prefix+strconv.FormatInt(named+n, 10))})
	}
	writer := step.Writer
	if writer == "" {
		writer = goldenWriter
	}
	var writes []jvm.Write
	for n, e := range events {
		seq := first + int64(n)
		payload, manifest := s.serialized(step.PID, seq, e)
		w := jvm.Write{PersistenceID: step.PID, First: seq, Writer: writer, Events: []jvm.NewEvent{{Payload: payload, Adapter: manifest}}}
		if step.Atomic && n > 0 {
			writes[0].Events = append(writes[0].Events, w.Events...)
		} else {
			writes = append(writes, w)
		}
	}
	rejected := 0
	for _, w := range writes {
		err := s.plugin.Write(s.Context(), w)
		rejection, ok := errors.AsType[*jvm.RejectionError](err)
		if !ok {
			s.must(name, err)
			continue
		}
		for range w.Events {
			size := fmt.Sprintf(": %d > 400000", rejection.Size)
			if rejected < len(step.Result.Errors) && !strings.HasSuffix(step.Result.Errors[rejected], size) {
				s.Errorf("%s: %v, want %s", name, err, step.Result.Errors[rejected])
			}
			rejected++
		}
	}
	if rejected != len(step.Result.Errors) {
		s.Errorf("%s: %d events are rejected, want %v", name, rejected, step.Result.Errors)
	}
	s.next[step.PID] = max(s.next[step.PID], first+int64(len(events)))
}

// serialized returns the payload of an event and its manifest. It serializes strings and bytes.
// Other payloads are those that the real plug-in has stored.
func (s *scenario) serialized(pid string, seq int64, e goldenEvent) (payload jvm.Payload, manifest string) {
	s.Helper()
	switch e.T {
	case "string":
		var v string
		s.must("a string", json.Unmarshal(e.V, &v))
		return jvm.Payload{Bytes: []byte(v), Serializer: 20}, ""
	case "bigstring":
		var v string
		s.must("a string", json.Unmarshal(e.V, &v))
		return jvm.Payload{Bytes: bytes.Repeat([]byte(v), e.N), Serializer: 20}, ""
	case "bytes":
		var v []byte
		s.must("bytes", json.Unmarshal(e.V, &v))
		return jvm.Payload{Bytes: v, Serializer: 4}, ""
	}
	i := s.left(journalTable, fmt.Sprintf("journal-P-%s-%d/%019d", pid, seq/100, seq%100))
	return jvm.Payload{
		Bytes: *i["event"].B, Serializer: int32(s.number(i, "ev_ser_id")), Manifest: textOf(i, "ev_ser_manifest"),
	}, textOf(i, "manifest")
}

// left returns the item that the real plug-in left at a key.
func (s *scenario) left(table, key string) goldenItem {
	s.Helper()
	for _, i := range s.golden.Tables[table] {
		if keyOf(i.attributes(), table) == key {
			return i
		}
	}
	s.Fatalf("nothing was left at %s", key)
	return nil
}

func textOf(i goldenItem, name string) string {
	if v := i[name].S; v != nil {
		return *v
	}
	return ""
}

func (s *scenario) number(i goldenItem, name string) int64 {
	s.Helper()
	n, err := strconv.ParseInt(*i[name].N, 10, 64)
	s.must(name, err)
	return n
}

func (s *scenario) replay(name string, step goldenStep) {
	s.Helper()
	from, to, most := int64(0), int64(math.MaxInt64), int64(math.MaxInt64)
	s.must(name, json.Unmarshal(step.From, &from))
	if step.To != nil {
		to = *step.To
	}
	if step.Max != nil {
		most = *step.Max
	}
	got, high, err := s.plugin.Replay(s.Context(), step.PID, from, to, most)
	s.must(name, err)
	var want []struct {
		SeqNr                               int64
		PersistenceID, Manifest, WriterUUID string
		Class                               string
		Value                               json.RawMessage
	}
	s.must(name, json.Unmarshal(step.Result.Events, &want))
	if high != step.Result.HighestSeqNr || len(got) != len(want) {
		s.Errorf("%s: %d events, highest %d; want %d, %d", name, len(got), high, len(want), step.Result.HighestSeqNr)
		return
	}
	for n, w := range want {
		g := got[n]
		if g.SequenceNumber != w.SeqNr || g.PersistenceID != w.PersistenceID || g.Writer != w.WriterUUID {
			s.Errorf("%s: event %d is %v, want %v", name, n, g, w)
		}
		if text := ""; w.Class == "java.lang.String" && g.Serializer == 20 && json.Unmarshal(w.Value, &text) == nil && text != "" {
			if string(g.Bytes) != text {
				s.Errorf("%s: event %d is %q, want %q", name, n, g.Bytes, text)
			}
		}
	}
}

func criteria(step goldenStep) jvm.Criteria {
	c := jvm.All()
	for _, bound := range []struct {
		given *int64
		of    *int64
	}{
		{step.MinSeq, &c.MinSequenceNumber},
		{step.MaxSeq, &c.MaxSequenceNumber},
		{step.ToSeq, &c.MaxSequenceNumber},
		{step.MinTS, &c.MinTimestamp},
		{step.MaxTS, &c.MaxTimestamp},
	} {
		if bound.given != nil {
			*bound.of = *bound.given
		}
	}
	return c
}

// savedAs returns the payload of a snapshot and its time.
func (s *scenario) savedAs(step goldenStep) (jvm.Payload, int64) {
	s.Helper()
	if step.Event.T == "string" {
		payload, _ := s.serialized(step.PID, step.Seq, step.Event)
		return payload, step.Result.Timestamp
	}
	i := s.left(snapshotTable, fmt.Sprintf("journal-P-%s/%019d", step.PID, step.Seq))
	return jvm.Payload{Bytes: *i["pay_data"].B, Serializer: int32(s.number(i, "ser_id")), Manifest: textOf(i, "ser_manifest")}, step.Result.Timestamp
}

func (s *scenario) loadSnapshot(name string, step goldenStep) {
	s.Helper()
	got, err := s.plugin.LoadSnapshot(s.Context(), step.PID, criteria(step))
	s.must(name, err)
	want := step.Result
	switch {
	case want.SeqNr == nil && got != nil:
		s.Errorf("%s: loaded that at %d, want none", name, got.SequenceNumber)
	case want.SeqNr != nil && (got == nil || got.SequenceNumber != *want.SeqNr || got.Timestamp != want.Timestamp):
		s.Errorf("%s: loaded %v, want that at %d of %d", name, got, *want.SeqNr, want.Timestamp)
	}
}
