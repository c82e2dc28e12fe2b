package migration_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
	"github.com/dynajournal/dynajournal/legacy"
	"github.com/dynajournal/dynajournal/legacy/migration"
)

const oldTable = "old"

// openLegacy makes a journal of an older layout on the engine of a fixture.
func openLegacy(tb testing.TB, p *fixture, layout legacy.Layout) *legacy.Journal {
	tb.Helper()
	config := legacy.Config{Layout: layout, Journal: p.config}
	config.Journal.JournalTable, config.Journal.SequenceShards = oldTable, 10
	if err := legacy.CreateTable(tb.Context(), config); err != nil {
		tb.Fatal(err)
	}
	j, err := legacy.Open(tb.Context(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = j.Close() })
	return j
}

func writeOlder(tb testing.TB, j *legacy.Journal, pid string, n int) *legacy.Writer {
	tb.Helper()
	w, err := j.Recover(tb.Context(), pid, dynajournal.RecoverOptions{}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		if _, err := w.Append(tb.Context(), fmt.Sprint(pid, i)); err != nil {
			tb.Fatal(err)
		}
	}
	return w
}

// remove removes the item of an event of the hash-key layout, and nothing else.
func remove(tb testing.TB, p *fixture, key string) {
	tb.Helper()
	if _, err := p.client.DeleteItem(tb.Context(), &dynamodb.DeleteItemInput{
		TableName: new(oldTable), Key: map[string]types.AttributeValue{"key": &types.AttributeValueMemberS{Value: key}},
	}); err != nil {
		tb.Fatal(err)
	}
}

// mark marks an event of the hash-key layout as deleted, and confirms it.
func mark(tb testing.TB, p *fixture, key string) {
	tb.Helper()
	if _, err := p.client.UpdateItem(tb.Context(), &dynamodb.UpdateItemInput{
		TableName: new(oldTable), Key: map[string]types.AttributeValue{"key": &types.AttributeValueMemberS{Value: key}},
		UpdateExpression: new("SET deleted = :d ADD confirmations :c"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":d": &types.AttributeValueMemberS{Value: "true"}, ":c": &types.AttributeValueMemberSS{Value: []string{"x", "y"}},
		},
	}); err != nil {
		tb.Fatal(err)
	}
}

// tear makes an event of the hash-key layout unreadable.
func tear(tb testing.TB, p *fixture, key string) {
	tb.Helper()
	if _, err := p.client.UpdateItem(tb.Context(), &dynamodb.UpdateItemInput{
		TableName: new(oldTable), Key: map[string]types.AttributeValue{"key": &types.AttributeValueMemberS{Value: key}},
		UpdateExpression:          new("SET payload = :p"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberB{Value: []byte("no message")}},
	}); err != nil {
		tb.Fatal(err)
	}
}

func describe(tb testing.TB, s migration.Source, pid string, from int64) string {
	tb.Helper()
	var parts []string
	for r, err := range s.Records(tb.Context(), pid, migration.ReadOptions{From: from}) {
		if err != nil {
			tb.Fatal(err)
		}
		switch r.Kind {
		case dynajournal.RecordLowMark:
			parts = append(parts, fmt.Sprint("low ", r.SequenceNumber))
		case dynajournal.RecordClosed:
			parts = append(parts, fmt.Sprintf("closed %d-%d", r.SequenceNumber, r.Last))
		case dynajournal.RecordDeleted:
			parts = append(parts, fmt.Sprintf("deleted %d-%d", r.SequenceNumber, r.Last))
		default:
			parts = append(parts, fmt.Sprint(r.SequenceNumber))
		}
	}
	return strings.Join(parts, ", ")
}

func TestLegacy_HashKeyHistories(t *testing.T) {
	t.Parallel()
	p := open(t, false)
	j := openLegacy(t, p, legacy.HashKey)
	for _, pid := range []string{"hole", "tail", "marked", "within", "all", "gone", "unmarked", "torn"} {
		writeOlder(t, j, pid, 6)
	}
	remove(t, p, "journal-P-torn-3")
	tear(t, p, "journal-P-torn-4")
	remove(t, p, "journal-P-hole-3")
	remove(t, p, "journal-P-tail-5")
	remove(t, p, "journal-P-tail-6")
	mark(t, p, "journal-P-marked-1")
	mark(t, p, "journal-P-marked-2")
	remove(t, p, "journal-P-marked-3")
	mark(t, p, "journal-P-within-4")
	for shard := range 10 {
		remove(t, p, fmt.Sprint("journal-SH-unmarked-", shard))
	}
	for seq := 1; seq <= 6; seq++ {
		mark(t, p, fmt.Sprint("journal-P-all-", seq))
		remove(t, p, fmt.Sprint("journal-P-gone-", seq))
	}
	skip, tombstones := migration.Legacy{Journal: j}, migration.Legacy{Journal: j, Marked: migration.MarkedTombstones}
	live := migration.Legacy{Journal: j, Live: true}
	for _, c := range []struct {
		source migration.Source
		pid    string
		from   int64
		want   string
	}{
		{skip, "hole", 0, "1, 2, closed 3-3, 4, 5, 6"},
		{live, "hole", 0, "1, 2"},
		{skip, "hole", 4, "4, 5, 6"},
		{skip, "tail", 0, "1, 2, 3, 4, closed 5-6"},
		{live, "tail", 0, "1, 2, 3, 4"},
		{skip, "marked", 0, "low 4, 4, 5, 6"},
		{tombstones, "marked", 0, "low 4, deleted 1-2, 4, 5, 6"},
		{tombstones, "within", 0, "1, 2, 3, closed 4-4, 5, 6"},
		{skip, "all", 0, "low 7"},
		{tombstones, "all", 0, "low 7, deleted 1-6"},
		{skip, "gone", 0, "low 7"},
		{live, "gone", 0, ""},
		{skip, "unmarked", 0, "1, 2, 3, 4, 5, 6"},
		{skip, "torn", 0, "1, 2, closed 3-3, 4, 5, 6"},
		{live, "torn", 0, "1, 2"},
		{skip, "never", 0, ""},
	} {
		if got := describe(t, c.source, c.pid, c.from); got != c.want {
			t.Errorf("%s from %d: %q, want %q", c.pid, c.from, got, c.want)
		}
	}
	to := open(t, false)
	var notes []migration.Note
	s, err := migration.Run(t.Context(), tombstones, to.Journal,
		migration.Options{Note: func(n migration.Note) { notes = append(notes, n) }})
	if err != nil || s.MarkedDeleted != 9 || s.Confirmed != 9 || s.Confirmations != 18 || s.Unreadable != 1 ||
		len(notes) != 10 || s.PersistenceIDs != 8 {
		t.Errorf("%+v, %v, %d notes", s, err, len(notes))
	}
	if c, err := migration.Verify(t.Context(), tombstones, to.Journal, migration.Options{}); err != nil ||
		c.PersistenceIDs != 8 {
		t.Errorf("%+v, %v", c, err)
	}
	copied := to.items(t)
	if s, err := migration.Run(t.Context(), tombstones, to.Journal, migration.Options{}); err != nil || s.Written != 0 {
		t.Errorf("again: %+v, %v", s, err)
	}
	wantItems(t, to.items(t), copied)
	for pid, want := range map[string]dynajournal.Bounds{
		"hole": {Highest: 6}, "tail": {Highest: 6}, "marked": {Lowest: 4, Highest: 6}, "all": {Lowest: 7,
			Highest: 6}, "gone": {Lowest: 7, Highest: 6},
	} {
		if got, err := to.Bounds(t.Context(), pid); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", pid, got, err, want)
		}
	}
	list, err := to.List(t.Context(), "marked")
	if err != nil || !slices.Equal(list.Tombstones, []int64{1, 2}) {
		t.Errorf("%+v, %v", list, err)
	}
	for f, err := range to.VerifyAll(t.Context(), dynajournal.VerifyOptions{}) {
		if f.Kind != dynajournal.FindingUndecodable || f.PersistenceID != "torn" || f.SequenceNumber != 4 {
			t.Errorf("finding %+v, %v", f, err)
		}
	}
}

// TestRun_OlderLayoutKilledFiftyTimes is
// TestRun_KilledFiftyTimes for an older layout, with deleted prefixes
// and tombstones.
func TestRun_OlderLayoutKilledFiftyTimes(t *testing.T) {
	t.Parallel()
	testsize.NeedsLong(t, "another test kills a migration of the current layout")
	from := open(t, false)
	j := openLegacy(t, from, legacy.HashKey)
	for i := range 8 {
		writeOlder(t, j, fmt.Sprint("id-", i), 10+i*14)
		mark(t, from, fmt.Sprintf("journal-P-id-%d-1", i))
		remove(t, from, fmt.Sprintf("journal-P-id-%d-2", i))
		mark(t, from, fmt.Sprintf("journal-P-id-%d-3", i))
		mark(t, from, fmt.Sprintf("journal-P-id-%d-7", i))
	}
	source := migration.Legacy{Journal: j, Marked: migration.MarkedTombstones}
	undisturbed, to := open(t, false), open(t, false)
	if _, err := migration.Run(t.Context(), source, undisturbed.Journal, migration.Options{}); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(5, 6))
	for dead := 0; dead < 50; {
		if killedRun(t, source, to, 3+random.Int64N(120)) == nil {
			to = open(t, false) // the run before was complete: start again
			continue
		}
		dead++
	}
	if err := killedRun(t, source, to, 1<<40); err != nil {
		t.Fatal(err)
	}
	wantItems(t, to.items(t), undisturbed.items(t))
}

func killedRun(t *testing.T, source migration.Source, to *fixture, requests int64) error {
	t.Helper()
	config := to.config
	m := &mortal{inner: config.AWS.HTTPClient, late: requests%2 == 0}
	m.left.Store(1 << 40)
	config.AWS.HTTPClient = m
	j, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	m.left.Store(requests)
	_, err = migration.Run(t.Context(), source, j, migration.Options{Retries: -1, Parallelism: 3})
	if err != nil && !errors.Is(err, dynajournal.ErrUnavailable) {
		t.Fatalf("Run: %v", err)
	}
	return err
}

// The hook of an older journal counts the capacity of its reads, and the limit includes it.
func TestRun_CapacityOfOlderSource(t *testing.T) {
	t.Parallel()
	p := open(t, false)
	usage := &migration.Usage{}
	p.config.Hooks = []dynajournal.Hook{usage.Hook()}
	j := openLegacy(t, p, legacy.Naive)
	writeOlder(t, j, "a", 3)
	var used dynajournal.Cost
	source := migration.Legacy{Journal: j, Usage: usage}
	for _, err := range source.Records(t.Context(), "a", migration.ReadOptions{Pace: func(_ context.Context, c dynajournal.Cost) error {
		used = used.Add(c)
		return nil
	}}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if used.ReadUnits == 0 || used.Requests == 0 {
		t.Errorf("used %+v", used)
	}
}
