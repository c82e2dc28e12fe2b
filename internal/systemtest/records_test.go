package systemtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
)

// records reads a history.
func records(tb testing.TB, j *dynajournal.Journal, pid string, from int64) []dynajournal.Record {
	tb.Helper()
	var all []dynajournal.Record
	for r, err := range j.Records(tb.Context(), pid, dynajournal.RecordsOptions{From: from}) {
		if err != nil {
			tb.Fatalf("Records(%q): %v", pid, err)
		}
		all = append(all, r)
	}
	return all
}

// recordsText formats records briefly, without the payloads of events.
func recordsText(all []dynajournal.Record) string {
	var parts []string
	for _, r := range all {
		switch {
		case r.Kind == dynajournal.RecordLowMark && r.BatchFirst != 0:
			parts = append(parts, fmt.Sprintf("low %d cuts %d-%d", r.SequenceNumber, r.BatchFirst, r.BatchLast))
		case r.Kind == dynajournal.RecordLowMark:
			parts = append(parts, fmt.Sprintf("low %d", r.SequenceNumber))
		case r.Kind == dynajournal.RecordClosed:
			parts = append(parts, fmt.Sprintf("closed %d-%d", r.SequenceNumber, r.Last))
		case r.BatchFirst != 0:
			parts = append(parts, fmt.Sprintf("%d of %d-%d", r.SequenceNumber, r.BatchFirst, r.BatchLast))
		default:
			parts = append(parts, fmt.Sprint(r.SequenceNumber))
		}
	}
	return strings.Join(parts, ", ")
}

func each(all []dynajournal.Record) iter.Seq2[dynajournal.Record, error] {
	return func(yield func(dynajournal.Record, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func putRecords(tb testing.TB, j *dynajournal.Journal, pid string, all []dynajournal.Record) dynajournal.PutRecordsResult {
	tb.Helper()
	result, err := j.PutRecords(tb.Context(), pid, each(all), dynajournal.PutRecordsOptions{})
	if err != nil {
		tb.Fatalf("PutRecords(%q): %v", pid, err)
	}
	return result
}

// items returns all items of the tables, by table and key. Expiry times, which depend on the clock,
// are replaced by a constant.
func items(tb testing.TB, client *dynamodb.Client) map[string]map[string]any {
	tb.Helper()
	all := map[string]map[string]any{}
	for _, table := range []string{dynajournal.DefaultJournalTable, dynajournal.DefaultSnapshotTable} {
		pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table})
		for pages.HasMorePages() {
			page, err := pages.NextPage(context.WithoutCancel(tb.Context()))
			if err != nil {
				tb.Fatal(err)
			}
			for _, item := range page.Items {
				shown := map[string]any{}
				for name, v := range item {
					switch v := v.(type) {
					case *types.AttributeValueMemberS:
						shown[name] = v.Value
					case *types.AttributeValueMemberN:
						shown[name] = "N" + v.Value
					case *types.AttributeValueMemberB:
						shown[name] = "B" + string(v.Value)
					default:
						shown[name] = v
					}
				}
				if _, ok := shown["expires"]; ok {
					shown["expires"] = "some time"
				}
				number := shown["seq"]
				if table == dynajournal.DefaultJournalTable {
					number = shown["num"]
				}
				all[fmt.Sprint(table, " ", shown["par"], " ", number)] = shown
			}
		}
	}
	return all
}

// damage stores id "a" of a shared journal with items as in real journals: single events, atomic
// writes over the end of a block, a hole, an incomplete atomic write of a dead writer, a seal,
// another writer's event, and at the end members of an atomic write in flight.
func damage(t *testing.T, d *damaged) {
	t.Helper()
	for seq := 1; seq <= 95; seq++ {
		if seq != 7 { // rejected by a JVM
			d.event(seq, "w1")
		}
	}
	for seq := 96; seq <= 104; seq++ {
		d.event(seq, "w1", seq-96, 8)
	}
	d.event(105, "w2", 0, 2)
	d.event(107, "w2", 2, 2)
	for seq := 108; seq <= 110; seq++ {
		d.event(seq, "w3")
	}
	d.put("journal-P-a-1", 11, map[string]any{"idx": 1000000000, "cnt": 1000000000})
	d.event(112, "w4", 0, 2)
	d.event(114, "w4", 2, 2)
	d.put("journal-SH-a-1", 0, map[string]any{"seq": 100})
}

func TestRecordsAreTheCommittedHistory(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{SharedWithJVM: true}, false)
	damage(t, d)
	all := records(t, d.Journal, "a", 0)
	text := recordsText(all)
	for _, want := range []string{"1, 2, 3, 4, 5, 6, closed 7-7, 8, ", "95, 96 of 96-104, ", "104 of 96-104, closed 105-107, 108, 109, 110, closed 111-111"} {
		if !strings.Contains(text, want) {
			t.Errorf("the history is %s, want %q in it", text, want)
		}
	}
	if !strings.HasSuffix(text, "closed 111-111") {
		t.Errorf("the history ends with %s, want it to end with the seal: the atomic write after it may become complete", text[len(text)-40:])
	}
	if got := recordsText(records(t, d.Journal, "a", 100)); !strings.HasPrefix(got, "100 of 96-104, ") {
		t.Errorf("from 100 on it is %s", got)
	}
	if got := records(t, d.Journal, "never", 0); len(got) != 0 {
		t.Errorf("an id that was never written has %v", got)
	}
	if last := all[1]; last.WriterUUID != "w1" || string(last.Bytes) != "x" || last.SerializerID != 20 {
		t.Errorf("an event is %+v", last)
	}
}

func TestPutRecords_SameHistory(t *testing.T) {
	t.Parallel()
	for name, shared := range map[string]bool{"native": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDamaged(t, dynajournal.TableOptions{SharedWithJVM: true}, false)
			damage(t, d)
			to := openDamaged(t, dynajournal.TableOptions{SharedWithJVM: shared}, false)
			want := records(t, d.Journal, "a", 0)
			result := putRecords(t, to.Journal, "a", want)
			if result.Events != 106 || result.Written != 106 || result.Highest != 111 {
				t.Errorf("result %+v, want 106 events, 106 written, highest 111", result)
			}
			if got := records(t, to.Journal, "a", 0); !reflect.DeepEqual(got, want) {
				t.Errorf("the copy is %s, want %s", recordsText(got), recordsText(want))
			}
			before := items(t, to.table)
			again := putRecords(t, to.Journal, "a", want)
			if again.Written != 0 || again.Cost.WriteUnits != 0 {
				t.Errorf("a second copy has written %d events for %v write units", again.Written, again.Cost.WriteUnits)
			}
			if after := items(t, to.table); !reflect.DeepEqual(after, before) {
				t.Errorf("a second copy has changed items")
			}
			for f, err := range to.Verify(t.Context(), "a", dynajournal.VerifyOptions{}) {
				t.Errorf("the copy has a finding %+v, %v", f, err)
			}
			if got := listIDs(t, to.Journal, dynajournal.IDsOptions{}); !slices.Equal(got, []string{"a"}) {
				t.Errorf("ids %q", got)
			}
			w := recoverWriter(t, to.Journal, "a", 0)
			if next, err := w.NextSequenceNumber(t.Context()); err != nil || next != 112 {
				t.Errorf("the next number is %d, %v, want 112", next, err)
			}
		})
	}
}

// If a deletion cuts an atomic write, the low mark names the write, and its rest stays. A JVM's low
// mark does not name it, so the copy must.
func TestPutRecords_DeletedPrefixes(t *testing.T) {
	t.Parallel()
	for name, jvm := range map[string]bool{"of this project": false, "of a JVM": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDamaged(t, dynajournal.TableOptions{SharedWithJVM: true}, false)
			d.write(3, false)
			d.write(5, true)
			d.write(2, false)
			d.deleteTo(5)
			if jvm {
				d.put("journal-SL-a-0", 0, map[string]any{"seq": 6})
			}
			to := openDamaged(t, dynajournal.TableOptions{}, false)
			all := records(t, d.Journal, "a", 0)
			if got, want := recordsText(all), "low 6 cuts 4-8, 6 of 4-8, 7 of 4-8, 8 of 4-8, 9, 10"; got != want {
				t.Fatalf("the history is %s, want %s", got, want)
			}
			putRecords(t, to.Journal, "a", all)
			if got := recordsText(records(t, to.Journal, "a", 0)); got != recordsText(all) {
				t.Errorf("the copy is %s, want %s", got, recordsText(all))
			}
			if bounds, err := to.Bounds(t.Context(), "a"); err != nil || bounds != (dynajournal.Bounds{Lowest: 6, Highest: 10}) {
				t.Errorf("bounds %+v, %v", bounds, err)
			}
			d.deleteTo(10) // the whole atomic write, after the first copy
			to.deleteTo(10)
			all = records(t, d.Journal, "a", 0)
			if got := recordsText(all); got != "low 11" {
				t.Fatalf("the history is %s", got)
			}
			putRecords(t, to.Journal, "a", all)
			if bounds, err := to.Bounds(t.Context(), "a"); err != nil || bounds != (dynajournal.Bounds{Lowest: 11, Highest: 10}) {
				t.Errorf("bounds %+v, %v", bounds, err)
			}
			for f, err := range to.Verify(t.Context(), "a", dynajournal.VerifyOptions{}) {
				t.Errorf("the copy has a finding %+v, %v", f, err)
			}
		})
	}
}

func TestPutRecords_ContinuesWithNewEvents(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{}, false)
	to := openDamaged(t, dynajournal.TableOptions{}, false)
	d.write(4, false)
	putRecords(t, to.Journal, "a", records(t, d.Journal, "a", 0))
	d.write(3, true)
	result := putRecords(t, to.Journal, "a", records(t, d.Journal, "a", 4))
	if result.Written != 3 || result.Events != 4 {
		t.Errorf("%+v, want 3 written of 4", result)
	}
	if got, want := recordsText(records(t, to.Journal, "a", 0)), recordsText(records(t, d.Journal, "a", 0)); got != want {
		t.Errorf("the copy is %s, want %s", got, want)
	}
}

func TestPutRecords_ContentConflict(t *testing.T) {
	t.Parallel()
	event := func(seq int64, text string) dynajournal.Record {
		return dynajournal.Record{Kind: dynajournal.RecordEvent, SequenceNumber: seq, WriterUUID: "w", SerializerID: 20, Bytes: []byte(text)}
	}
	member := func(seq, first, last int64) dynajournal.Record {
		r := event(seq, "m")
		r.BatchFirst, r.BatchLast = first, last
		return r
	}
	closed := func(first, last int64) dynajournal.Record {
		return dynajournal.Record{Kind: dynajournal.RecordClosed, SequenceNumber: first, Last: last}
	}
	low := func(seq int64) dynajournal.Record {
		return dynajournal.Record{Kind: dynajournal.RecordLowMark, SequenceNumber: seq}
	}
	stands := []dynajournal.Record{event(1, "a"), event(2, "b"), closed(3, 3), event(4, "d")}
	for name, c := range map[string]struct {
		records []dynajournal.Record
		at      int64 // the number of the conflict, 0 if the records themselves are invalid
		kind    error
	}{
		"another payload":                 {[]dynajournal.Record{event(1, "a"), event(2, "B"), closed(3, 3), event(4, "d")}, 2, nil},
		"an event at a seal":              {[]dynajournal.Record{event(1, "a"), event(2, "b"), event(3, "c"), event(4, "d")}, 3, nil},
		"a seal at an event":              {[]dynajournal.Record{event(1, "a"), closed(2, 3), event(4, "d")}, 2, nil},
		"an atomic write at a single":     {[]dynajournal.Record{event(1, "a"), event(2, "b"), closed(3, 3), member(4, 4, 5), member(5, 4, 5)}, 4, nil},
		"a history that ends before":      {[]dynajournal.Record{event(1, "a"), event(2, "b")}, 3, nil},
		"no history":                      {nil, 1, nil},
		"a gap":                           {[]dynajournal.Record{event(1, "a"), closed(3, 3)}, 0, dynajournal.ErrInvalidArgument},
		"going back":                      {[]dynajournal.Record{event(1, "a"), event(1, "a")}, 0, dynajournal.ErrInvalidArgument},
		"a first number that is too high": {[]dynajournal.Record{event(9, "z")}, 0, dynajournal.ErrInvalidArgument},
		"number 0":                        {[]dynajournal.Record{event(0, "a")}, 0, dynajournal.ErrInvalidArgument},
		"a span for ever":                 {[]dynajournal.Record{closed(1, 1<<62)}, 0, dynajournal.ErrInvalidArgument},
		"a span backwards":                {[]dynajournal.Record{closed(4, 1)}, 0, dynajournal.ErrInvalidArgument},
		"no kind":                         {[]dynajournal.Record{{SequenceNumber: 1}}, 0, dynajournal.ErrInvalidArgument},
		"half an atomic write":            {[]dynajournal.Record{event(1, "a"), event(2, "b"), closed(3, 3), event(4, "d"), member(5, 5, 6)}, 0, dynajournal.ErrInvalidArgument},
		"the rest of an atomic write":     {[]dynajournal.Record{member(5, 4, 5)}, 0, dynajournal.ErrInvalidArgument},
		"a member outside":                {[]dynajournal.Record{member(1, 2, 3)}, 0, dynajournal.ErrInvalidArgument},
		"a low mark without a cut":        {[]dynajournal.Record{{Kind: dynajournal.RecordLowMark, SequenceNumber: 3, BatchFirst: 3, BatchLast: 4}}, 0, dynajournal.ErrInvalidArgument},
		"a writer that is no text":        {[]dynajournal.Record{{Kind: dynajournal.RecordEvent, SequenceNumber: 5, WriterUUID: "\xff"}}, 0, dynajournal.ErrInvalidArgument},
		"a manifest that is no text":      {[]dynajournal.Record{{Kind: dynajournal.RecordEvent, SequenceNumber: 5, Manifest: "\xff"}}, 0, dynajournal.ErrInvalidArgument},
		"a serializer's manifest":         {[]dynajournal.Record{{Kind: dynajournal.RecordEvent, SequenceNumber: 5, SerializerManifest: "\xff"}}, 0, dynajournal.ErrInvalidArgument},
		"deleted above the low mark":      {[]dynajournal.Record{low(1), {Kind: dynajournal.RecordDeleted, SequenceNumber: 1, Last: 1}}, 0, dynajournal.ErrInvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := openDamaged(t, dynajournal.TableOptions{}, false)
			putRecords(t, to.Journal, "a", stands)
			before := items(t, to.table)
			if name == "deleted above the low mark" {
				before = nil // the low mark itself is valid
			}
			_, err := to.PutRecords(t.Context(), "a", each(c.records), dynajournal.PutRecordsOptions{})
			var conflict *dynajournal.ContentConflictError
			switch {
			case c.at == 0:
				wantError(t, "PutRecords", err, c.kind)
			case !errors.As(err, &conflict) || !errors.Is(err, dynajournal.ErrContentConflict):
				t.Fatalf("error %v, want a *ContentConflictError", err)
			case conflict.SequenceNumber != c.at || conflict.PersistenceID != "a":
				t.Errorf("error %v, want it at %d", err, c.at)
			}
			if after := items(t, to.table); before != nil && !reflect.DeepEqual(after, before) {
				t.Errorf("items are %v, want them as before: %v", after, before)
			}
		})
	}
}

func TestPutRecords_LowMarkOfTarget(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{}, false)
	to := openDamaged(t, dynajournal.TableOptions{}, false)
	d.write(4, false)
	all := records(t, d.Journal, "a", 0)
	putRecords(t, to.Journal, "a", all)
	to.deleteTo(2)
	_, err := to.PutRecords(t.Context(), "a", each(all), dynajournal.PutRecordsOptions{})
	wantError(t, "PutRecords", err, dynajournal.ErrContentConflict)
}

// killed sends a number of requests and then none, like a process that is killed. If late is set,
// the last request is sent, but its response is lost.
type killed struct {
	inner aws.HTTPClient
	left  atomic.Int64
	late  bool
}

var errKilled = errors.New("killed")

// Do sends a request, or returns errKilled.
func (k *killed) Do(r *http.Request) (*http.Response, error) {
	left := k.left.Add(-1)
	if left > 0 || left == 0 && k.late {
		answer, err := k.inner.Do(r)
		if left == 0 && err == nil {
			_ = answer.Body.Close()
			return nil, errKilled
		}
		return answer, err
	}
	return nil, errKilled
}

// TestPutRecords_KilledAtEachRequest kills copies at every request in turn, until one
// succeeds. After each kill a reader sees the beginning of the history, and in the end every item
// is the same as without a kill.
func TestPutRecords_KilledAtEachRequest(t *testing.T) {
	t.Parallel()
	for name, shared := range map[string]bool{"native": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDamaged(t, dynajournal.TableOptions{SharedWithJVM: true}, false)
			damage(t, d)
			d.deleteTo(50) // also seals the members in flight
			d.write(3, false)
			first := records(t, d.Journal, "a", 0)
			d.deleteTo(100)
			second := records(t, d.Journal, "a", 0)
			undisturbed := openDamaged(t, dynajournal.TableOptions{SharedWithJVM: shared}, false)
			putRecords(t, undisturbed.Journal, "a", first)
			putRecords(t, undisturbed.Journal, "a", second)
			want := items(t, undisturbed.table)

			engine := openEngine(t)
			config := dynajournal.Config{AWS: engine.AWSConfig(), Retries: -1}
			createTables(t, config, dynajournal.TableOptions{SharedWithJVM: shared})
			reader := openJournal(t, config)
			kills := 0
			for _, all := range [][]dynajournal.Record{first, second} {
				for allowed, done := int64(1), false; !done; allowed++ {
					done = copyUntilKilled(t, config, all, allowed)
					if !done {
						kills++
						sees := records(t, reader, "a", 0)
						checkBeginning(t, sees, all)
					}
					if allowed > 1000 {
						t.Fatal("no copy comes through")
					}
				}
			}
			if kills < 10 {
				t.Errorf("only %d kills", kills)
			}
			if got := items(t, dynamodb.NewFromConfig(engine.AWSConfig())); !reflect.DeepEqual(got, want) {
				for _, key := range slices.Sorted(maps.Keys(want)) {
					if !reflect.DeepEqual(got[key], want[key]) {
						t.Errorf("item %q is %v, undisturbed %v", key, got[key], want[key])
					}
				}
				t.Errorf("%d items, undisturbed %d", len(got), len(want))
			}
		})
	}
}

// copyUntilKilled copies until the requests are used up, and reports whether the copy is complete.
func copyUntilKilled(t *testing.T, config dynajournal.Config, all []dynajournal.Record, allowed int64) bool {
	t.Helper()
	mortal := &killed{inner: config.AWS.HTTPClient, late: allowed%2 == 0}
	mortal.left.Store(1 << 40)
	config.AWS.HTTPClient = mortal
	j, err := dynajournal.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	mortal.left.Store(allowed)
	_, err = j.PutRecords(t.Context(), "a", each(all), dynajournal.PutRecordsOptions{})
	if err != nil && !errors.Is(err, dynajournal.ErrUnavailable) {
		t.Fatalf("PutRecords: %v", err)
	}
	return err == nil
}

// checkBeginning checks that a reader sees the beginning of a history, or of the same history with
// a lower low mark.
func checkBeginning(t *testing.T, sees, all []dynajournal.Record) {
	t.Helper()
	events := map[int64]dynajournal.Record{}
	last := int64(0)
	for _, r := range all {
		if r.Kind == dynajournal.RecordEvent {
			events[r.SequenceNumber] = r
			last = r.SequenceNumber
		}
	}
	highest := int64(0)
	for _, r := range sees {
		if want, ok := events[r.SequenceNumber]; r.Kind == dynajournal.RecordEvent && ok && !reflect.DeepEqual(r, want) {
			t.Errorf("a reader sees %+v, want %+v", r, want)
		}
		if r.Kind == dynajournal.RecordEvent {
			delete(events, r.SequenceNumber)
			highest = r.SequenceNumber
		}
	}
	for seq := range events {
		if seq < highest {
			t.Errorf("a reader sees event %d, and not %d before it, of %d", highest, seq, last)
		}
	}
}

func TestCopySnapshot_OnceForAnySize(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"whole": 100, "split": 1_000_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDamaged(t, dynajournal.TableOptions{}, false)
			to := openDamaged(t, dynajournal.TableOptions{}, false)
			at := dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 5, Timestamp: time.UnixMilli(1234567)}
			if _, err := d.SaveSnapshot(t.Context(), at, strings.Repeat("s", size)); err != nil {
				t.Fatal(err)
			}
			s, ok, err := d.LoadSnapshot(t.Context(), "a", dynajournal.SnapshotCriteria{})
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			for i, want := range []bool{true, false} {
				if copied, err := to.CopySnapshot(t.Context(), s); err != nil || copied != want {
					t.Errorf("copy %d: %v, %v, want %v", i+1, copied, err, want)
				}
			}
			got, ok, err := to.LoadSnapshot(t.Context(), "a", dynajournal.SnapshotCriteria{})
			if err != nil || !ok || string(got.Bytes) != string(s.Bytes) || !got.Timestamp.Equal(s.Timestamp) || got.SerializerID != s.SerializerID {
				t.Errorf("the copy is %v of %d bytes at %v, %v", ok, len(got.Bytes), got.Timestamp, err)
			}
			s.Bytes = append(slices.Clone(s.Bytes), '!')
			_, err = to.CopySnapshot(t.Context(), s)
			wantError(t, "CopySnapshot of another state", err, dynajournal.ErrContentConflict)
		})
	}
}

// A split snapshot that has lost a part does not count as missing, and is not replaced.
func TestCopySnapshot_DamagedTarget(t *testing.T) {
	t.Parallel()
	to := openDamaged(t, dynajournal.TableOptions{}, false)
	at := dynajournal.SnapshotMetadata{PersistenceID: "a", SequenceNumber: 5, Timestamp: time.UnixMilli(1234567)}
	if _, err := to.SaveSnapshot(t.Context(), at, strings.Repeat("s", 1_000_000)); err != nil {
		t.Fatal(err)
	}
	lost := false
	for _, item := range items(t, to.table) {
		seq, ok := item["seq"].(string)
		if !ok || !strings.HasPrefix(seq, "N-") || lost { // parts have numbers below zero
			continue
		}
		lost = true
		if _, err := to.table.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: new(dynajournal.DefaultSnapshotTable),
			Key:       map[string]types.AttributeValue{"par": &types.AttributeValueMemberS{Value: item["par"].(string)}, "seq": &types.AttributeValueMemberN{Value: seq[1:]}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	before := items(t, to.table)
	copied, err := to.CopySnapshot(t.Context(), dynajournal.Snapshot{SnapshotMetadata: at, SerializerID: 20, Bytes: []byte("other")})
	if err == nil || copied || !lost {
		t.Errorf("CopySnapshot: %v, %v, want an error", copied, err)
	}
	if after := items(t, to.table); !reflect.DeepEqual(after, before) {
		t.Error("the snapshot's items have changed")
	}
}

// A number that is missing near the end of a JVM's history may be in flight.
func TestRecords_LiveHistoryEndsBeforeNumbersInFlight(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{SharedWithJVM: true}, false)
	for seq := 1; seq <= 1010; seq++ {
		if seq != 5 && seq != 900 {
			d.event(seq, "w")
		}
	}
	d.put("journal-SH-a-0", 0, map[string]any{"seq": 1000})
	var live []dynajournal.Record
	for r, err := range d.Records(t.Context(), "a", dynajournal.RecordsOptions{Live: true}) {
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, r)
	}
	if got := recordsText(live); !strings.HasPrefix(got, "1, 2, 3, 4, closed 5-5, 6, ") || !strings.HasSuffix(got, ", 898, 899") {
		t.Errorf("it is %.60s … %s, want it with 5 closed, to 899", got, got[len(got)-20:])
	}
	if got := recordsText(records(t, d.Journal, "a", 0)); !strings.HasSuffix(got, ", 1009, 1010") {
		t.Errorf("of a journal at rest it ends with %s", got[len(got)-20:])
	}
}

func TestPutRecords_Pace(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{}, false)
	d.write(250, false)
	to := openDamaged(t, dynajournal.TableOptions{}, false)
	var read, written dynajournal.Cost
	source := d.Records(t.Context(), "a", dynajournal.RecordsOptions{Pace: func(_ context.Context, used dynajournal.Cost) error {
		read = read.Add(used)
		return nil
	}})
	result, err := to.PutRecords(t.Context(), "a", source, dynajournal.PutRecordsOptions{Pace: func(_ context.Context, used dynajournal.Cost) error {
		if used.Requests > 12 {
			t.Errorf("%d requests at once without a word", used.Requests)
		}
		written = written.Add(used)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if written != result.Cost || written.WriteUnits < 250 || read.ReadUnits < 3 {
		t.Errorf("paced %+v and %+v, the copy has cost %+v", read, written, result.Cost)
	}
	stop := errors.New("stop")
	_, err = to.PutRecords(t.Context(), "b", each(records(t, d.Journal, "a", 0)),
		dynajournal.PutRecordsOptions{Pace: func(context.Context, dynajournal.Cost) error { return stop }})
	wantError(t, "PutRecords", err, stop)
}
