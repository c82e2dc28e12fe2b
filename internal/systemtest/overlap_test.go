package systemtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/dynajournal/dynajournal"
)

// wantUntouched copies records, which must be refused because of different content, and checks that
// the target has not changed.
func wantUntouched(t *testing.T, to *damaged, all []dynajournal.Record, at int64) {
	t.Helper()
	before := items(t, to.table)
	_, err := to.PutRecords(t.Context(), "a", each(all), dynajournal.PutRecordsOptions{})
	var conflict *dynajournal.ContentConflictError
	if !errors.As(err, &conflict) || conflict.SequenceNumber != at {
		t.Errorf("PutRecords: %v, want other content at %d", err, at)
	}
	if after := items(t, to.table); !reflect.DeepEqual(after, before) {
		t.Errorf("the target is %v, was %v", after, before)
	}
}

func TestPutRecords_RemovesOnlyEqualEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		target func(d *damaged)
		at     int64
	}{
		{"other events, all below the low mark", func(d *damaged) { d.write(3, false) }, 1},
		{"other events up to the low mark", func(d *damaged) { d.write(5, false) }, 1},
		{"other events on both sides of the low mark", func(d *damaged) { d.write(7, false) }, 6},
		{"as many other events", func(d *damaged) { d.write(8, false) }, 6},
		{"more other events", func(d *damaged) { d.write(12, true) }, 6},
		{"other events, some deleted", func(d *damaged) { d.write(4, false); d.deleteTo(2) }, 3},
		{"other events before a seal", func(d *damaged) {
			d.write(3, false)
			d.put("journal-P-a-0", 4, map[string]any{"idx": 1000000000, "cnt": 1000000000})
		}, 1},
		{"other events that no mark leads to", func(d *damaged) {
			d.event(5, "w")
			d.remove("journal-SH-a-0", 0)
		}, 5},
		{"parts of another atomic write", func(d *damaged) { d.event(2, "w", 1, 3) }, 2},
		{"an event that was deleted, and is still there, at a number to be kept taken", func(d *damaged) {
			d.write(2, false)
			d.deleteTo(2)
			d.event(2, "w")
		}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := openDamaged(t, dynajournal.TableOptions{}, false)
			d.write(8, false)
			d.deleteTo(5)
			all := records(t, d.Journal, "a", 0)
			all = slices.Insert(all, 1, dynajournal.Record{Kind: dynajournal.RecordDeleted, SequenceNumber: 1, Last: 2})
			to := openDamaged(t, dynajournal.TableOptions{}, false)
			c.target(to)
			wantUntouched(t, to, all, c.at)
		})
	}
}

// A purge, or a recovery after a snapshot, was interrupted in the target: the next recovery raises
// the low mark over the item that it has written. A copy whose source has nothing at that number
// must not continue after it, or its events would be hidden.
func TestPutRecords_InterruptedDeletionInTarget(t *testing.T) {
	t.Parallel()
	const seal, expires = 1000000000, 4000000000
	closed := map[string]any{"idx": seal, "cnt": seal}
	for name, put := range map[string]map[string]any{
		"of a purge":    {"idx": seal, "cnt": seal, "expires": expires, "low": 4},
		"of a snapshot": {"idx": seal, "cnt": seal, "low": 20},
		"a tombstone":   {"idx": seal, "cnt": seal, "expires": expires},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDamaged(t, dynajournal.TableOptions{}, false)
			d.write(2, false)
			d.put("journal-P-a-0", 3, closed)
			w := recoverWriter(t, d.Journal, "a", 0)
			if _, err := w.Append(t.Context(), "after it"); err != nil {
				t.Fatal(err)
			}
			all := records(t, d.Journal, "a", 0)
			to := openDamaged(t, dynajournal.TableOptions{}, false)
			putRecords(t, to.Journal, "a", all[:2])
			to.put("journal-P-a-0", 3, put)
			wantUntouched(t, to, all, 3)
			wantUntouched(t, to, all[3:], 3)
		})
	}
}

// Numbers that the target lacks before other numbers are written only when all of the others have
// been compared equal.
func TestPutRecords_FillsGapsAfterComparison(t *testing.T) {
	t.Parallel()
	d, to := openDamaged(t, dynajournal.TableOptions{}, false), openDamaged(t, dynajournal.TableOptions{}, false)
	d.write(2, false)
	d.write(5, true)
	d.write(3, false)
	all := records(t, d.Journal, "a", 0)
	putRecords(t, to.Journal, "a", all)
	to.remove("journal-P-a-0", 4)
	to.remove("journal-P-a-0", 6)
	other := slices.Clone(all)
	other[9].Bytes = []byte("other")
	wantUntouched(t, to, other, 10)
	wantUntouched(t, to, all[:8], 9)
	if result := putRecords(t, to.Journal, "a", all); result.Written != 2 {
		t.Errorf("%+v, want 2 written", result)
	}
	if got, want := recordsText(records(t, to.Journal, "a", 0)), recordsText(all); got != want {
		t.Errorf("the copy is %s, want %s", got, want)
	}
}

func TestPutRecords_FollowsDeletionOfEqualEvents(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]int64{"of some": 4, "into an atomic write": 6, "up to the last": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, to := openDamaged(t, dynajournal.TableOptions{}, false), openDamaged(t, dynajournal.TableOptions{}, false)
			d.write(4, false)
			d.write(5, true)
			d.write(2, false)
			putRecords(t, to.Journal, "a", records(t, d.Journal, "a", 0))
			d.write(3, false)
			d.deleteTo(deleted)
			all := records(t, d.Journal, "a", 0)
			putRecords(t, to.Journal, "a", all)
			if got, want := recordsText(records(t, to.Journal, "a", 0)), recordsText(all); got != want {
				t.Errorf("the copy is %s, want %s", got, want)
			}
			for f, err := range to.Verify(t.Context(), "a", dynajournal.VerifyOptions{}) {
				t.Errorf("the copy has a finding %+v, %v", f, err)
			}
		})
	}
}

// A completely deleted history cannot be compared with the target, unless the target's events are
// also deleted.
func TestPutRecords_CompletelyDeletedHistory(t *testing.T) {
	t.Parallel()
	d, to := openDamaged(t, dynajournal.TableOptions{}, false), openDamaged(t, dynajournal.TableOptions{}, false)
	d.write(4, false)
	putRecords(t, to.Journal, "a", records(t, d.Journal, "a", 0))
	d.write(2, false)
	d.deleteTo(6)
	all := records(t, d.Journal, "a", 0)
	wantUntouched(t, to, all, 1)
	to.deleteTo(4)
	putRecords(t, to.Journal, "a", all)
	if bounds, err := to.Bounds(t.Context(), "a"); err != nil || bounds != (dynajournal.Bounds{Lowest: 7, Highest: 6}) {
		t.Errorf("bounds %+v, %v", bounds, err)
	}
}

// The low mark of the source may move while records are read. Then events that this copy has
// written may be removed.
func TestPutRecords_LowMarkMovesMeanwhile(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{}, false)
	d.write(6, false)
	all := records(t, d.Journal, "a", 0)
	d.deleteTo(4)
	d.write(3, false)
	moved := slices.Concat(all[:3], records(t, d.Journal, "a", 0))
	want := recordsText(records(t, d.Journal, "a", 0))

	fresh := openDamaged(t, dynajournal.TableOptions{}, false)
	putRecords(t, fresh.Journal, "a", moved)
	if got := recordsText(records(t, fresh.Journal, "a", 0)); got != want {
		t.Errorf("the copy is %s, want %s", got, want)
	}

	compared := openDamaged(t, dynajournal.TableOptions{}, false)
	putRecords(t, compared.Journal, "a", all)
	putRecords(t, compared.Journal, "a", moved)
	if got := recordsText(records(t, compared.Journal, "a", 0)); got != want {
		t.Errorf("the compared copy is %s, want %s", got, want)
	}

	// Event 4 of the target was never compared: the source may never have had it.
	forked := openDamaged(t, dynajournal.TableOptions{}, false)
	putRecords(t, forked.Journal, "a", all[:3])
	forked.write(1, false)
	wantUntouched(t, forked, moved, 4)

	// Meanwhile another writer writes to the target, below the low mark of a later record.
	disturbed := openDamaged(t, dynajournal.TableOptions{}, false)
	_, err := disturbed.PutRecords(t.Context(), "a", func(yield func(dynajournal.Record, error) bool) {
		for i, r := range moved {
			if i == 3 {
				disturbed.write(1, false)
			}
			if !yield(r, nil) {
				return
			}
		}
	}, dynajournal.PutRecordsOptions{})
	wantError(t, "PutRecords", err, dynajournal.ErrContentConflict)
	if got := recordsText(records(t, disturbed.Journal, "a", 0)); got != "1, 2, 3, 4" {
		t.Errorf("the target is %s, want the copied and the written events", got)
	}
}

// Events that others write to the target during a copy were not compared, and must be neither
// removed nor replaced.
func TestPutRecords_OthersWriteMeanwhile(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{}, false)
	d.write(98, false)
	started := records(t, d.Journal, "a", 0)
	d.write(160, true)
	d.deleteTo(249)
	deleted := slices.Insert(records(t, d.Journal, "a", 0), 1, dynajournal.Record{Kind: dynajournal.RecordDeleted, SequenceNumber: 1, Last: 2})
	for name, c := range map[string]struct {
		before, after []dynajournal.Record
		seq           int
	}{
		"after the copied events":              {started, deleted, 99},
		"at a number that is to be kept taken": {deleted[:1], deleted[1:], 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := openDamaged(t, dynajournal.TableOptions{}, false)
			_, err := to.PutRecords(t.Context(), "a", func(yield func(dynajournal.Record, error) bool) {
				for i, r := range slices.Concat(c.before, c.after) {
					if i == len(c.before) {
						to.event(c.seq, "other")
					}
					if !yield(r, nil) {
						return
					}
				}
			}, dynajournal.PutRecordsOptions{})
			wantError(t, "PutRecords", err, dynajournal.ErrContentConflict)
			list, err := to.List(t.Context(), "a")
			if err != nil || !slices.Contains(list.SequenceNumbers, int64(c.seq)) {
				t.Errorf("the events written meanwhile are gone: %+v, %v", list, err)
			}
		})
	}
}

// The rest of an atomic write would never be read if the low mark did not name the write as cut.
func TestPutRecords_CutAtomicWriteNeedsLowMark(t *testing.T) {
	t.Parallel()
	to := openDamaged(t, dynajournal.TableOptions{}, false)
	all := []dynajournal.Record{
		{Kind: dynajournal.RecordLowMark, SequenceNumber: 6},
		{Kind: dynajournal.RecordEvent, SequenceNumber: 6, WriterUUID: "w", BatchFirst: 4, BatchLast: 6},
	}
	_, err := to.PutRecords(t.Context(), "a", each(all), dynajournal.PutRecordsOptions{})
	wantError(t, "PutRecords", err, dynajournal.ErrInvalidArgument)
	all[0].BatchFirst, all[0].BatchLast, all[0].WriterUUID = 4, 6, "w"
	putRecords(t, to.Journal, "a", all)
}

// Events that a JVM has stored after a hole, and to which no mark leads, are found in the partition
// of the low mark.
func TestPutRecords_ReadsPartitionOfLowMark(t *testing.T) {
	t.Parallel()
	d, to := openDamaged(t, dynajournal.TableOptions{}, false), openDamaged(t, dynajournal.TableOptions{}, false)
	d.write(160, true)
	d.deleteTo(155)
	to.event(150, "other")
	wantUntouched(t, to, records(t, d.Journal, "a", 0), 150)
}

// A copy may continue after a low mark that both sides have. It need not start at the mark.
func TestPutRecords_StartsAfterEqualLowMark(t *testing.T) {
	t.Parallel()
	d, to := openDamaged(t, dynajournal.TableOptions{}, false), openDamaged(t, dynajournal.TableOptions{}, false)
	d.write(9, false)
	d.deleteTo(3)
	putRecords(t, to.Journal, "a", records(t, d.Journal, "a", 0))
	d.write(2, false)
	if result := putRecords(t, to.Journal, "a", records(t, d.Journal, "a", 9)); result.Written != 2 || result.Events != 3 {
		t.Errorf("%+v, want 2 written of 3", result)
	}
	if got, want := recordsText(records(t, to.Journal, "a", 0)), recordsText(records(t, d.Journal, "a", 0)); got != want {
		t.Errorf("the copy is %s, want %s", got, want)
	}
	wantUntouched(t, to, records(t, d.Journal, "a", 0)[:4], 7)
}

// TestPutRecords_RandomHistories copies random histories into ids with other histories: with the
// same past, a forked past, or a different one. The result must be the history, or the copy is
// refused and nothing has changed. A copy that is interrupted at any request must end in the same
// way when it is called again.
func TestPutRecords_RandomHistories(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			config := dynajournal.Config{AWS: openEngine(t).AWSConfig(), Retries: -1}
			createTables(t, config, options)
			p := &copies{t: t, config: config, journal: openJournal(t, config), client: dynamodb.NewFromConfig(config.AWS)}
			// The few histories of a short run can lack an outcome, so the test then draws more.
			const most = 5
			tried := false
			for i := 0; i < most && !tried; i++ {
				rapid.Check(t, p.check)
				tried = p.copied > 0 && p.refused > 0 && p.kills > 0
			}
			t.Logf("%d copied, %d refused, %d interruptions", p.copied, p.refused, p.kills)
			if !tried {
				t.Error("some outcomes did not occur")
			}
		})
	}
}

type copies struct {
	t       *testing.T
	config  dynajournal.Config
	journal *dynajournal.Journal
	client  *dynamodb.Client
	id      int

	copied, refused, kills int
}

func (p *copies) check(r *rapid.T) {
	p.id++
	from, to := fmt.Sprint("from-", p.id), fmt.Sprint("to-", p.id)
	written := map[int64]dynajournal.Record{} // every event that the source has ever had
	target := rapid.SampledFrom([]string{"nothing", "a beginning", "a beginning", "a fork", "a fork", "another history"}).Draw(r, "target")
	p.live(r, from, written)
	switch target {
	case "a beginning", "a fork":
		p.put(r, to, records(p.t, p.journal, from, 0))
		p.live(r, from, written)
		if target == "a fork" {
			p.live(r, to, nil)
		}
	case "another history":
		p.live(r, to, nil)
	}
	all := records(p.t, p.journal, from, 0)
	want, events := recordsText(all), p.visible(from)
	if len(all) > 0 && rapid.IntRange(0, 4).Draw(r, "a low mark that moves") == 0 {
		n := rapid.IntRange(1, len(all)).Draw(r, "records before it")
		if last := all[n-1]; last.BatchLast <= last.SequenceNumber { // not within an atomic write
			p.live(r, from, written)
			next := max(last.SequenceNumber, last.Last) + 1
			if last.Kind == dynajournal.RecordLowMark {
				next--
			}
			all = slices.Concat(all[:n], records(p.t, p.journal, from, next))
			want, events = recordsText(records(p.t, p.journal, from, 0)), p.visible(from)
		}
	}
	if low := all; len(low) > 0 && low[0].Kind == dynajournal.RecordLowMark && low[0].SequenceNumber > 1 && rapid.Bool().Draw(r, "tombstones") {
		last := rapid.Int64Range(1, low[0].SequenceNumber-1).Draw(r, "to")
		all = slices.Insert(slices.Clone(all), 1, dynajournal.Record{Kind: dynajournal.RecordDeleted, SequenceNumber: 1, Last: last})
	}
	visible, before := p.visible(to), p.items(to)
	interrupted := rapid.Bool().Draw(r, "interrupted")
	// A call that is interrupted before it has written starts again, so each call may send more
	// requests.
	for further := int64(0); interrupted; further += 10 {
		requests := rapid.Int64Range(1, 60).Draw(r, "requests") + further
		done, err := p.killed(to, all, requests)
		if interrupted = !done && err == nil; interrupted {
			p.kills++
		}
		if err == nil { // a caller that retries reads the source again
			p.checkRetained(r, visible, p.visible(to), written)
			all, before = records(p.t, p.journal, from, 0), p.items(to)
			want, events = recordsText(all), p.visible(from)
		}
	}
	_, err := p.journal.PutRecords(p.t.Context(), to, each(all), dynajournal.PutRecordsOptions{})
	after := p.visible(to)
	switch {
	case errors.Is(err, dynajournal.ErrContentConflict):
		p.refused++
		if items := p.items(to); !reflect.DeepEqual(items, before) {
			r.Fatalf("%v, and the target is %v, was %v", err, items, before)
		}
	case err != nil:
		r.Fatalf("PutRecords: %v", err)
	default:
		p.copied++
		if got := recordsText(records(p.t, p.journal, to, 0)); got != want {
			r.Fatalf("the copy is %s, want %s", got, want)
		}
		p.checkRetained(r, visible, after, written)
		if !reflect.DeepEqual(after, events) {
			r.Fatalf("the events are %v, want %v", after, events)
		}
	}
}

// checkRetained checks that every event is still visible, or is an event that the source has had.
func (p *copies) checkRetained(r *rapid.T, before, after, written map[int64]dynajournal.Record) {
	for seq, e := range before {
		if got, ok := after[seq]; ok && reflect.DeepEqual(got, e) {
			continue
		}
		if had, ok := written[seq]; !ok || !reflect.DeepEqual(had, e) {
			r.Fatalf("event %d of writer %s was there, and is gone", seq, e.WriterUUID)
		}
	}
}

// live runs random steps of an entity. written, if set, records its events.
func (p *copies) live(r *rapid.T, pid string, written map[int64]dynajournal.Record) {
	for range rapid.IntRange(0, 5).Draw(r, "steps") {
		w, err := p.journal.Recover(p.t.Context(), pid, dynajournal.RecoverOptions{}, nil)
		if err != nil {
			r.Fatal(err)
		}
		next, err := w.NextSequenceNumber(p.t.Context())
		if err != nil {
			r.Fatal(err)
		}
		switch rapid.SampledFrom([]string{"append", "append", "atomic", "atomic", "delete", "hole", "part"}).Draw(r, "step") {
		case "append":
			appendStrings(p.t, w, rapid.IntRange(1, 4).Draw(r, "events"), false)
		case "atomic":
			appendStrings(p.t, w, rapid.SampledFrom([]int{2, 3, 7, 40, 110}).Draw(r, "members"), true)
		case "delete":
			to := rapid.Int64Range(max(0, next-8), next).Draw(r, "to")
			if _, err := w.DeleteTo(p.t.Context(), to); err != nil {
				r.Fatal(err)
			}
		case "hole": // an event after a number that was never written
			if !p.journal.Native() {
				p.plant(pid, next, "single", 0, 0)
			}
		case "part": // a member of an atomic write whose other members are not stored
			p.plant(pid, next, "part", 1, 2)
		}
	}
	for seq, e := range p.visible(pid) {
		if written != nil {
			written[seq] = e
		}
	}
}

// plant stores an event as a JVM's writer does, after next, where nothing is stored.
func (p *copies) plant(pid string, next int64, writer string, idx, cnt int) {
	p.t.Helper()
	seq := next + 1
	if p.journal.Native() && seq%100 == 0 {
		return // no mark leads there, so a writer would find the event only when it writes there
	}
	item := map[string]types.AttributeValue{
		"par": &types.AttributeValueMemberS{Value: fmt.Sprintf("journal-P-%s-%d", pid, seq/100)}, "num": &types.AttributeValueMemberN{Value: fmt.Sprint(seq % 100)},
		"persistence_id": &types.AttributeValueMemberS{Value: pid}, "seq": &types.AttributeValueMemberN{Value: fmt.Sprint(seq)},
		"event": &types.AttributeValueMemberB{Value: []byte("x")}, "writer_uuid": &types.AttributeValueMemberS{Value: writer + pid},
		"ev_ser_id": &types.AttributeValueMemberN{Value: "20"},
	}
	if cnt > 0 {
		item["idx"], item["cnt"] = &types.AttributeValueMemberN{Value: fmt.Sprint(idx)}, &types.AttributeValueMemberN{Value: fmt.Sprint(cnt)}
	}
	if _, err := p.client.PutItem(p.t.Context(), &dynamodb.PutItemInput{TableName: new(dynajournal.DefaultJournalTable), Item: item}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *copies) visible(pid string) map[int64]dynajournal.Record {
	all := map[int64]dynajournal.Record{}
	for _, e := range records(p.t, p.journal, pid, 0) {
		if e.Kind == dynajournal.RecordEvent {
			all[e.SequenceNumber] = e
		}
	}
	return all
}

// items returns all items of an id, by their keys.
func (p *copies) items(pid string) map[string]map[string]types.AttributeValue {
	all := map[string]map[string]types.AttributeValue{}
	for _, kind := range []string{"P", "SH", "SL"} {
		for n := range 15 {
			par := fmt.Sprintf("journal-%s-%s-%d", kind, pid, n)
			page, err := p.client.Query(p.t.Context(), &dynamodb.QueryInput{
				TableName: new(dynajournal.DefaultJournalTable), KeyConditionExpression: new("par = :p"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberS{Value: par}},
			})
			if err != nil {
				p.t.Fatal(err)
			}
			for _, item := range page.Items {
				all[par+" "+item["num"].(*types.AttributeValueMemberN).Value] = maps.Clone(item)
			}
		}
	}
	return all
}

func (p *copies) put(r *rapid.T, pid string, all []dynajournal.Record) {
	if _, err := p.journal.PutRecords(p.t.Context(), pid, each(all), dynajournal.PutRecordsOptions{}); err != nil {
		r.Fatal(err)
	}
}

// killed copies until the requests are used up. It reports whether the copy has ended, and its
// error.
func (p *copies) killed(pid string, all []dynajournal.Record, requests int64) (bool, error) {
	config := p.config
	mortal := &killed{inner: config.AWS.HTTPClient, late: requests%2 == 0}
	mortal.left.Store(1 << 40)
	config.AWS.HTTPClient = mortal
	j, err := dynajournal.Open(p.t.Context(), config)
	if err != nil {
		return false, err
	}
	defer func() { _ = j.Close() }()
	mortal.left.Store(requests)
	_, err = j.PutRecords(p.t.Context(), pid, each(all), dynajournal.PutRecordsOptions{})
	if errors.Is(err, dynajournal.ErrUnavailable) {
		return false, nil
	}
	return err == nil, err
}

// Another writer writes to the target while a copy compares its events. The low mark of the copy
// must then not remove anything.
func TestPutRecords_OthersWriteDuringComparison(t *testing.T) {
	t.Parallel()
	d, to := openDamaged(t, dynajournal.TableOptions{}, false), openDamaged(t, dynajournal.TableOptions{}, false)
	d.write(8, false)
	putRecords(t, to.Journal, "a", records(t, d.Journal, "a", 0))
	d.deleteTo(4)
	all := records(t, d.Journal, "a", 0)
	crossed := func(yield func(dynajournal.Record, error) bool) {
		for i, r := range all {
			if i == len(all)-1 {
				to.write(1, false)
			}
			if !yield(r, nil) {
				return
			}
		}
	}
	_, err := to.PutRecords(t.Context(), "a", crossed, dynajournal.PutRecordsOptions{})
	var conflict *dynajournal.ContentConflictError
	if !errors.As(err, &conflict) || conflict.SequenceNumber != 9 {
		t.Errorf("PutRecords: %v, want other content at 9", err)
	}
	if bounds, err := to.Bounds(t.Context(), "a"); err != nil || bounds != (dynajournal.Bounds{Highest: 9}) {
		t.Errorf("bounds %+v, %v; want nothing deleted, and 9 to be the highest", bounds, err)
	}
}

// A copy reads the target when it starts. If the target's events are then deleted and new ones are
// written, nothing is left to compare, and the new events must stay.
func TestPutRecords_TargetReplacedAtStart(t *testing.T) {
	t.Parallel()
	d := openDamaged(t, dynajournal.TableOptions{}, false)
	d.write(16, false)
	d.deleteTo(13)
	all := records(t, d.Journal, "a", 0)
	for at := range 2 {
		t.Run(fmt.Sprint("at call ", at, " of Pace"), func(t *testing.T) {
			t.Parallel()
			to, calls := openDamaged(t, dynajournal.TableOptions{}, false), 0
			to.write(3, false)
			pace := func(context.Context, dynajournal.Cost) error {
				if calls == at {
					to.deleteTo(3)
					to.write(5, false)
				}
				calls++
				return nil
			}
			_, err := to.PutRecords(t.Context(), "a", each(all), dynajournal.PutRecordsOptions{Pace: pace})
			wantError(t, "PutRecords", err, dynajournal.ErrContentConflict)
			if calls <= at {
				t.Fatalf("Pace was called %d times", calls)
			}
			if got := recordsText(records(t, to.Journal, "a", 0)); !strings.HasSuffix(got, "4, 5, 6, 7, 8") {
				t.Errorf("the target is %s, want the events written meanwhile", got)
			}
		})
	}
}

// A copy of a history that is deleted up to a far number dies at any request. The next copy must
// not visit all numbers below.
func TestPutRecords_FarLowMarkKilledAtEachRequest(t *testing.T) {
	t.Parallel()
	const low, enough = 1 << 40, 1000
	all := []dynajournal.Record{
		{Kind: dynajournal.RecordLowMark, SequenceNumber: low},
		{Kind: dynajournal.RecordEvent, SequenceNumber: low, WriterUUID: "w", Bytes: []byte("x"), SerializerID: 4},
	}
	for kind, options := range kinds {
		for n := int64(1); ; n++ {
			d := openDamaged(t, options, false)
			_, died := openDying(t, d.config, n).PutRecords(t.Context(), "a", each(all), dynajournal.PutRecordsOptions{})
			if _, err := openDying(t, d.config, enough).PutRecords(t.Context(), "a", each(all), dynajournal.PutRecordsOptions{}); err != nil {
				t.Errorf("%s, killed after %d requests: %.200v", kind, n, err)
			}
			wantNumbers(t, d.Journal, "a", []int64{low})
			if died == nil {
				break
			}
		}
	}
}
