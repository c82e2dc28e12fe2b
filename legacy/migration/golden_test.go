package migration_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"google.golang.org/protobuf/proto"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/persistentpb"
	"github.com/dynajournal/dynajournal/legacy"
	"github.com/dynajournal/dynajournal/legacy/migration"
)

// goldenItem is an item that the plug-in of 2014 has written, in DynamoDB JSON.
type goldenItem struct {
	Key           struct{ S string }
	Payload       *struct{ B []byte }
	SequenceNr    *struct{ N string }
	Deleted       *struct{ S string }
	Confirmations *struct{ SS []string }
}

func (it *goldenItem) attributes() map[string]types.AttributeValue {
	all := map[string]types.AttributeValue{"key": &types.AttributeValueMemberS{Value: it.Key.S}}
	if it.Payload != nil {
		all["payload"] = &types.AttributeValueMemberB{Value: it.Payload.B}
	}
	if it.SequenceNr != nil {
		all["sequenceNr"] = &types.AttributeValueMemberN{Value: it.SequenceNr.N}
	}
	if it.Deleted != nil {
		all["deleted"] = &types.AttributeValueMemberS{Value: it.Deleted.S}
	}
	if it.Confirmations != nil {
		all["confirmations"] = &types.AttributeValueMemberSS{Value: it.Confirmations.SS}
	}
	return all
}

func goldenItems(t *testing.T) []goldenItem {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "golden", "sclasen-0.3", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no golden files (%v)", err)
	}
	var all []goldenItem
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var golden struct{ Tables map[string][]goldenItem }
		if err := json.Unmarshal(data, &golden); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, golden.Tables["sclasen-journal"]...)
	}
	return all
}

// goldenHistory is the content of the items of a persistence id.
type goldenHistory struct {
	highest int64
	events  map[int64]*persistentpb.PersistentPayload
	notes   map[int64]migration.Note
}

func (h *goldenHistory) add(t *testing.T, pid string, kind string, n int64, it *goldenItem) {
	t.Helper()
	if kind == "SH" {
		seq, err := strconv.ParseInt(it.SequenceNr.N, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		h.highest = max(h.highest, seq)
	}
	if kind != "P" || it.Payload == nil {
		return
	}
	note := migration.Note{PersistenceID: pid, SequenceNumber: n, MarkedDeleted: it.Deleted.S == "true"}
	if it.Confirmations != nil {
		note.Confirmations = slices.Sorted(slices.Values(it.Confirmations.SS))
	}
	if note.MarkedDeleted || note.Confirmations != nil {
		h.notes[n] = note
	}
	if note.MarkedDeleted {
		return
	}
	var m persistentpb.PersistentMessage
	if err := proto.Unmarshal(it.Payload.B, &m); err != nil {
		t.Fatal(err)
	}
	h.events[n] = m.GetPayload()
}

// historiesOf returns the content of the items by persistence id.
func historiesOf(t *testing.T, items []goldenItem) map[string]*goldenHistory {
	t.Helper()
	all := map[string]*goldenHistory{}
	for _, it := range items {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(it.Key.S, "journal-"), "-")
		dash := strings.LastIndexByte(rest, '-')
		n, err := strconv.ParseInt(rest[dash+1:], 10, 64)
		if err != nil {
			t.Fatalf("key %q: %v", it.Key.S, err)
		}
		pid := rest[:dash]
		if all[pid] == nil {
			all[pid] = &goldenHistory{events: map[int64]*persistentpb.PersistentPayload{},
				notes: map[int64]migration.Note{}}
		}
		all[pid].add(t, pid, kind, n, &it)
	}
	return all
}

// TestRun_GoldenJournals copies journals of the plug-in of 2014 to the current layout. Every
// event that is not deleted is copied byte for byte, marked events and confirmations are reported
// in notes, numbers stay taken, and a writer continues after the highest number.
func TestRun_GoldenJournals(t *testing.T) {
	t.Parallel()
	from := open(t, false)
	config := legacy.Config{Layout: legacy.HashKey, Journal: from.config}
	config.Journal.JournalTable = oldTable
	if err := legacy.CreateTable(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	items := goldenItems(t)
	for _, it := range items {
		if _, err := from.client.PutItem(t.Context(),
			&dynamodb.PutItemInput{TableName: new(oldTable), Item: it.attributes()}); err != nil {
			t.Fatal(err)
		}
	}
	j, err := legacy.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	want := historiesOf(t, items)
	for _, marked := range []migration.Marked{migration.MarkedSkip, migration.MarkedTombstones} {
		checkGoldenMigration(t, migration.Legacy{Journal: j, Marked: marked}, want)
	}
}

func checkGoldenMigration(t *testing.T, source migration.Source, want map[string]*goldenHistory) {
	t.Helper()
	to := open(t, false)
	notes := map[string]map[int64]migration.Note{}
	for pid := range want {
		notes[pid] = map[int64]migration.Note{}
	}
	s, err := migration.Run(t.Context(), source, to.Journal, migration.Options{Note: func(n migration.Note) {
		notes[n.PersistenceID][n.SequenceNumber] = n
	}})
	if err != nil {
		t.Fatal(err)
	}
	var sum migration.Summary
	for pid, history := range want {
		checkGoldenHistory(t, to, pid, history)
		if !maps.EqualFunc(notes[pid], history.notes, sameNote) {
			t.Errorf("%s: notes %+v, want %+v", pid, notes[pid], history.notes)
		}
		sum.PersistenceIDs++
		for _, n := range history.notes {
			if n.MarkedDeleted {
				sum.MarkedDeleted++
			}
			if len(n.Confirmations) > 0 {
				sum.Confirmed++
			}
			sum.Confirmations += int64(len(n.Confirmations))
		}
	}
	if s.PersistenceIDs != sum.PersistenceIDs || s.MarkedDeleted != sum.MarkedDeleted || s.Confirmed != sum.Confirmed ||
		s.Confirmations != sum.Confirmations || s.Unreadable != 0 || s.Failed != 0 {
		t.Errorf("summary %+v, want %+v", s, sum)
	}
	if c, err := migration.Verify(t.Context(), source, to.Journal, migration.Options{}); err != nil ||
		c.PersistenceIDs != sum.PersistenceIDs {
		t.Errorf("compared: %+v, %v", c, err)
	}
	for f, err := range to.VerifyAll(t.Context(), dynajournal.VerifyOptions{}) {
		t.Errorf("finding %+v, %v", f, err)
	}
	for pid, history := range want {
		w := to.writer(t, pid)
		if result, err := w.Append(t.Context(), "next"); err != nil || result.First != history.highest+1 {
			t.Errorf("%s continues at %d (%v), want %d", pid, result.First, err, history.highest+1)
		}
	}
}

func sameNote(a, b migration.Note) bool {
	return a.PersistenceID == b.PersistenceID && a.SequenceNumber == b.SequenceNumber &&
		a.MarkedDeleted == b.MarkedDeleted &&
		slices.Equal(a.Confirmations, b.Confirmations) && a.Unreadable == nil && b.Unreadable == nil
}

func checkGoldenHistory(t *testing.T, to *fixture, pid string, want *goldenHistory) {
	t.Helper()
	numbers, next := slices.Sorted(maps.Keys(want.events)), 0
	for e, err := range to.Events(t.Context(), pid, dynajournal.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if next == len(numbers) || e.SequenceNumber != numbers[next] {
			t.Errorf("%s: event %d is there, want %v", pid, e.SequenceNumber, numbers)
			return
		}
		next++
		if p := want.events[e.SequenceNumber]; e.SerializerID != p.GetSerializerId() ||
			string(e.Bytes) != string(p.GetPayload()) {
			t.Errorf("%s: event %d is %d, %q, want %d, %q", pid, e.SequenceNumber, e.SerializerID, e.Bytes,
				p.GetSerializerId(), p.GetPayload())
		}
	}
	if next != len(numbers) {
		t.Errorf("%s: %d events, want %d", pid, next, len(numbers))
	}
	if b, err := to.Bounds(t.Context(), pid); err != nil || b.Highest != want.highest {
		t.Errorf("%s: %+v, %v, want the highest number %d", pid, b, err, want.highest)
	}
}
