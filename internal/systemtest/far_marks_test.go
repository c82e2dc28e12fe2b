package systemtest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// farRequests bounds the requests of an operation, for any marks. In a shared journal, a deletion
// also sends one request for each number in the last block.
const farRequests = 200 + 100

// farJournal is a journal whose marks the test writes by hand.
type farJournal struct {
	*dynajournal.Journal
	t      *testing.T
	count  *counter
	table  *dynamodb.Client
	shards int64
	ids    *atomic.Int64
}

func openFar(t *testing.T, opts dynajournal.TableOptions) *farJournal {
	t.Helper()
	s := setup(t, opts)
	f := &farJournal{s.journal, t, s.requests, s.table, 1, &atomic.Int64{}}
	if opts.SharedWithJVM {
		f.shards = 10
	}
	return f
}

func farNumber(v int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(v, 10)}
}

func (f *farJournal) put(par string, num int64, attributes map[string]types.AttributeValue) {
	f.t.Helper()
	item := map[string]types.AttributeValue{"par": &types.AttributeValueMemberS{Value: par}, "num": farNumber(num)}
	maps.Copy(item, attributes)
	if _, err := f.table.PutItem(f.t.Context(), &dynamodb.PutItemInput{TableName: new(dynajournal.DefaultJournalTable), Item: item}); err != nil {
		f.t.Fatal(err)
	}
}

// mark writes a mark. kind is SH, SL as a JVM writes it, or SL-removed with the number up to which
// events were removed.
func (f *farJournal) mark(kind, pid string, seq int64) {
	f.t.Helper()
	attributes := map[string]types.AttributeValue{"seq": farNumber(seq)}
	kind, removed, own := strings.Cut(kind, "-")
	if own {
		n, err := strconv.ParseInt(removed, 10, 64)
		if err != nil {
			f.t.Fatal(err)
		}
		attributes["removed"] = farNumber(n)
	}
	f.put(fmt.Sprintf("journal-%s-%s-%d", kind, pid, seq/100%f.shards), 0, attributes)
}

func (f *farJournal) event(pid string, seq int64) {
	f.t.Helper()
	f.put(fmt.Sprintf("journal-P-%s-%d", pid, seq/100), seq%100, map[string]types.AttributeValue{
		"persistence_id": &types.AttributeValueMemberS{Value: pid},
		"seq":            farNumber(seq),
		"event":          &types.AttributeValueMemberB{Value: []byte("x")},
		"writer_uuid":    &types.AttributeValueMemberS{Value: "w"},
		"ev_ser_id":      farNumber(4),
	})
}

// written returns a new persistence id with events.
func (f *farJournal) written(events int) string {
	f.t.Helper()
	pid := fmt.Sprintf("p%d", f.ids.Add(1))
	if events > 0 {
		appendStrings(f.t, recoverWriter(f.t, f.Journal, pid, 0), events, true)
	}
	return pid
}

// within runs an operation and checks its number of requests.
func (f *farJournal) within(name string, work func() error) error {
	f.t.Helper()
	before := f.count.requests.Load()
	err := work()
	if n := f.count.requests.Load() - before; n > farRequests {
		f.t.Errorf("%s took %d requests", name, n)
	}
	return err
}

// left counts the items of a persistence id in the partitions of a small journal. With events set,
// it counts only events.
func (f *farJournal) left(pid string, events bool) int {
	f.t.Helper()
	n := 0
	for p := range 3 {
		in := &dynamodb.QueryInput{
			TableName:                 new(dynajournal.DefaultJournalTable),
			KeyConditionExpression:    new("par = :par"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":par": &types.AttributeValueMemberS{Value: fmt.Sprintf("journal-P-%s-%d", pid, p)}},
		}
		if events {
			in.FilterExpression = new("attribute_exists(event)")
		}
		page, err := f.table.Query(f.t.Context(), in)
		if err != nil {
			f.t.Fatal(err)
		}
		n += len(page.Items)
	}
	return n
}

// farValues are values of marks that no small journal has.
var farValues = []int64{100_000_000, 1_000_000_000_000, math.MaxInt64 - 107, dynajournal.MaxSequenceNumber, math.MaxInt64}

// findings returns the number of findings of each kind.
func (f *farJournal) findings(pid string) (map[dynajournal.FindingKind]int64, error) {
	found := map[dynajournal.FindingKind]int64{}
	for finding, err := range f.Verify(f.t.Context(), pid, dynajournal.VerifyOptions{}) {
		if err != nil {
			return found, err
		}
		found[finding.Kind]++
	}
	return found, nil
}

// farOperations are all operations on a persistence id. Each returns the number of events that it
// found or removed, or -1.
var farOperations = []struct {
	name string
	run  func(f *farJournal, pid string, highest int64) (int64, error)
}{
	{"Bounds", func(f *farJournal, pid string, highest int64) (int64, error) {
		b, err := f.Bounds(f.t.Context(), pid)
		if err == nil && b.Highest != highest {
			f.t.Errorf("the highest number is %d, want %d", b.Highest, highest)
		}
		return -1, err
	}},
	{"Events", func(f *farJournal, pid string, _ int64) (int64, error) {
		n := int64(0)
		for _, err := range f.Events(f.t.Context(), pid, dynajournal.Range{}) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}},
	{"Records", func(f *farJournal, pid string, _ int64) (int64, error) {
		n := int64(0)
		for r, err := range f.Records(f.t.Context(), pid, dynajournal.RecordsOptions{}) {
			if err != nil {
				return n, err
			}
			if r.Kind == dynajournal.RecordEvent {
				n++
			}
		}
		return n, nil
	}},
	{"Append", func(f *farJournal, pid string, highest int64) (int64, error) {
		n := int64(0)
		w, err := f.Recover(f.t.Context(), pid, dynajournal.RecoverOptions{}, func(dynajournal.Event) error {
			n++
			return nil
		})
		if err != nil {
			return n, err
		}
		written, err := w.Append(f.t.Context(), "next")
		if highest >= dynajournal.MaxSequenceNumber {
			if !errors.Is(err, dynajournal.ErrSequenceExhausted) {
				f.t.Errorf("an append after the last number gives %v", err)
			}
			return n, nil
		}
		if err == nil && written.First != highest+1 {
			f.t.Errorf("the next event got %d, want %d", written.First, highest+1)
		}
		return n, err
	}},
	{"Verify", func(f *farJournal, pid string, highest int64) (int64, error) {
		found, err := f.findings(pid)
		if orphans := found[dynajournal.FindingOrphanBelowLowMark]; slices.Contains(farValues, highest+1) && orphans != int64(f.left(pid, true)) {
			f.t.Errorf("%d orphans are found", orphans)
		}
		if highest < farValues[0]/2 && found[dynajournal.FindingMarkBeyondEvents] != 1 {
			f.t.Errorf("a mark beyond the events is not found, but %v", found)
		}
		return -1, err
	}},
	{"List", func(f *farJournal, pid string, _ int64) (int64, error) {
		_, err := f.List(f.t.Context(), pid)
		return -1, err
	}},
	{"UpgradeEvents", func(f *farJournal, pid string, _ int64) (int64, error) {
		_, err := f.UpgradeEvents(f.t.Context(), pid, dynajournal.UpgradeOptions{})
		return -1, err
	}},
	{"DeleteTo", func(f *farJournal, pid string, highest int64) (int64, error) {
		w, err := f.Recover(f.t.Context(), pid, dynajournal.RecoverOptions{}, nil)
		if err != nil {
			return -1, err
		}
		_, err = w.DeleteTo(f.t.Context(), highest)
		return -1, err
	}},
	{"Purge", func(f *farJournal, pid string, _ int64) (int64, error) { return -1, f.purge(pid, false) }},
	{"Purge now", func(f *farJournal, pid string, _ int64) (int64, error) { return -1, f.purge(pid, true) }},
	{"a live query", func(f *farJournal, pid string, _ int64) (int64, error) {
		for _, err := range f.EventsByPersistenceID(f.t.Context(), pid, 1, 1, dynajournal.Poll{}) {
			if err != nil {
				return -1, err
			}
		}
		return -1, nil
	}},
}

func (f *farJournal) purge(pid string, now bool) error {
	f.t.Helper()
	w, err := f.Recover(f.t.Context(), pid, dynajournal.RecoverOptions{}, nil)
	if err != nil {
		return err
	}
	if _, err = w.Purge(f.t.Context(), dynajournal.PurgeOptions{Now: now}); err != nil {
		return err
	}
	if n := f.left(pid, !now); n > 0 {
		f.t.Errorf("a purge of %q has left %d", pid, n)
	}
	return nil
}

func TestFarMarks_RequestsAreBounded(t *testing.T) {
	testsize.NoRace(t, "it does one thing after the other")
	for kind, opts := range map[string]dynajournal.TableOptions{"native": {}, "shared": {SharedWithJVM: true}} {
		t.Run(kind, func(t *testing.T) {
			f := openFar(t, opts)
			for i, far := range farValues {
				if (opts.SharedWithJVM || !testsize.Long) && (i%2 == 0) == opts.SharedWithJVM {
					continue
				}
				for k, mark := range []string{"SH", "SL", "SL-1", fmt.Sprintf("SL-%d", far)} {
					for _, events := range [][]int{{testsize.Of(101, 250)}, {5}, {0}}[i%3] {
						for o, op := range farOperations {
							if !testsize.Long && (i/2+k+o)%4 != 0 {
								continue // each operation still runs with each kind of mark
							}
							if op.name == "a live query" && (mark != "SH" || events == 0) {
								continue // it would never end
							}
							pid := f.written(events)
							f.mark(mark, pid, far)
							highest, found := far-1, int64(0)
							if mark == "SH" {
								highest, found = int64(events), int64(events)
							}
							name := fmt.Sprintf("%s with %s = %d over %d events", op.name, mark, far, events)
							var n int64
							if err := f.within(name, func() (err error) {
								n, err = op.run(f, pid, highest)
								return err
							}); err != nil {
								t.Errorf("%s: %v", name, err)
							}
							if n >= 0 && n != found {
								t.Errorf("%s found %d events", name, n)
							}
						}
					}
				}
			}
		})
	}
}

// TestFarMarks_ItemFarAfterTheOthers stores an item far after the other items, which no writer
// does: there are too many missing numbers to close them one by one.
func TestFarMarks_ItemFarAfterTheOthers(t *testing.T) {
	testsize.NeedsLong(t, "TestFarMarks_RequestsAreBounded has the same operations")
	f := openFar(t, dynajournal.TableOptions{})
	for _, far := range []int64{100_000_000, 1_000_000_000_003, dynajournal.MaxSequenceNumber - 2} {
		for _, events := range []int{0, 5, 250} {
			for _, op := range farOperations {
				if op.name == "a live query" {
					continue // it waits for new events
				}
				pid := f.written(events)
				f.mark("SH", pid, far/100*100)
				f.event(pid, far)
				name := fmt.Sprintf("%s of %d events and one at %d", op.name, events, far)
				err := f.within(name, func() error {
					_, err := op.run(f, pid, far)
					return err
				})
				switch op.name {
				case "Verify":
					err = nil // a hole has the same error as any other
				case "Bounds", "List", "UpgradeEvents":
				default:
					hole, named := errors.AsType[*dynajournal.HoleError](err)
					if !named || !errors.Is(err, dynajournal.ErrHole) || hole.First != int64(events)+1 || hole.Last != far-1 || hole.HighMark != far/100*100 {
						t.Errorf("%s: %v", name, err)
					}
					err = nil
				}
				if err != nil && !errors.Is(err, dynajournal.ErrHole) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// TestFarMarks_LongDeletedJournal uses a persistence id of which nearly all
// events were deleted and have expired.
func TestFarMarks_LongDeletedJournal(t *testing.T) {
	for kind, opts := range map[string]dynajournal.TableOptions{"native": {}, "shared": {SharedWithJVM: true}} {
		f := openFar(t, opts)
		for name, op := range map[string]func(pid string) error{
			"verify": func(pid string) error {
				found, err := f.findings(pid)
				if found[dynajournal.FindingOrphanBelowLowMark] != 150 {
					t.Errorf("%s: %v are found", kind, found)
				}
				return err
			},
			"purge":     func(pid string) error { return f.purge(pid, false) },
			"purge now": func(pid string) error { return f.purge(pid, true) },
		} {
			pid := f.written(0)
			f.mark("SH", pid, 1_000_000)
			f.mark("SL-1000000", pid, 1_000_000)
			f.event(pid, 1_000_000)
			for seq := range int64(150) { // left by an interrupted deletion
				f.event(pid, 130_020+seq)
			}
			if err := f.within(kind+": "+name, func() error { return op(pid) }); err != nil {
				t.Errorf("%s: %s: %v", kind, name, err)
			}
			for _, p := range []int{1300, 1301, 10_000} {
				page, err := f.table.Query(t.Context(), &dynamodb.QueryInput{
					TableName:                 new(dynajournal.DefaultJournalTable),
					KeyConditionExpression:    new("par = :par"),
					FilterExpression:          new("attribute_exists(event)"),
					ExpressionAttributeValues: map[string]types.AttributeValue{":par": &types.AttributeValueMemberS{Value: fmt.Sprintf("journal-P-%s-%d", pid, p)}},
				})
				if err != nil {
					t.Fatal(err)
				}
				if name != "verify" && len(page.Items) > 0 {
					t.Errorf("%s: %s has left %d events in partition %d", kind, name, len(page.Items), p)
				}
			}
		}
	}
}

// TestReplay_AfterHoleAtEndOfPartition simulates a JVM that rejected the events
// around a hundredth number, so that the high mark is also missing.
func TestReplay_AfterHoleAtEndOfPartition(t *testing.T) {
	f := openFar(t, dynajournal.TableOptions{SharedWithJVM: true})
	for name, missing := range map[string][]int64{
		"the last number and the next":         {99, 100},
		"after a missing mark, one partition":  {99, 100, 198, 199, 200, 201},
		"after a missing mark, two partitions": {100, 140, 250},
	} {
		pid, holes, want := f.written(0), map[int64]bool{}, []int64{}
		for _, seq := range missing {
			holes[seq] = true
		}
		if name == "after a missing mark, two partitions" {
			for seq := int64(160); seq < 300; seq++ {
				holes[seq] = true
			}
		}
		for seq := int64(1); seq <= 310; seq++ {
			if !holes[seq] {
				f.event(pid, seq)
				want = append(want, seq)
			}
		}
		var read, replayed []int64
		for e, err := range f.Events(t.Context(), pid, dynajournal.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			read = append(read, e.SequenceNumber)
		}
		b, err := f.Bounds(t.Context(), pid)
		if err != nil || b.Highest != 310 {
			t.Errorf("%s: the highest number is %d, %v", name, b.Highest, err)
		}
		w, err := f.Recover(t.Context(), pid, dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
			replayed = append(replayed, e.SequenceNumber)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(read, want) || !slices.Equal(replayed, want) {
			t.Errorf("%s: %d events are read and %d replayed, want %d", name, len(read), len(replayed), len(want))
		}
		if next, err := w.NextSequenceNumber(t.Context()); err != nil || next != 311 {
			t.Errorf("%s: the next number is %d, %v", name, next, err)
		}
	}
}

// TestPurge_DoesNotCountItsOwnItems checks that a purge reports the events that it has removed,
// without the items that it has written itself.
func TestPurge_DoesNotCountItsOwnItems(t *testing.T) {
	for kind, opts := range map[string]dynajournal.TableOptions{"native": {}, "shared": {SharedWithJVM: true}} {
		f := openFar(t, opts)
		for _, now := range []bool{false, true} {
			for _, c := range []struct{ events, deleted, want int64 }{{0, 0, 0}, {5, 0, 5}, {5, 3, 2}, {5, 5, 0}, {250, 120, 130}} {
				pid := f.written(int(c.events))
				for range 2 { // the second purge finds nothing
					w := recoverWriter(t, f.Journal, pid, 0)
					if _, err := w.DeleteTo(t.Context(), c.deleted); err != nil {
						t.Fatal(err)
					}
					result, err := w.Purge(t.Context(), dynajournal.PurgeOptions{Now: now})
					if err != nil || result.Removed != c.want {
						t.Errorf("%s, now %v: of %d events, %d deleted, a purge has removed %d, %v", kind, now, c.events, c.deleted, result.Removed, err)
					}
					c.want, c.deleted = 0, 0
				}
			}
		}
	}
}
