package systemtest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// spanning plants the events from 1 to last except holes, as a JVM writes them.
func spanning(last int64, holes ...int64) *planted {
	p := &planted{model: model{items: map[int64]modelItem{}}}
	for seq := int64(1); seq <= last; seq++ {
		if !slices.Contains(holes, seq) {
			p.plantEvent(seq, modelBatch{}, modelWriters[0])
		}
	}
	return p
}

// withHighMarks plants every high mark that the events need.
func (p *planted) withHighMarks() *planted {
	for mark := int64(modelBlock); mark <= slices.Max(p.numbers()); mark += modelBlock {
		p.highs = append(p.highs, mark)
		p.high = mark
	}
	return p
}

// A snapshot is not beyond the journal if an event has its number, or if there are events after it,
// even if no mark leads there. The low mark is not raised, and every event stays.
func TestRecoveryAfterASnapshotHidesNoStoredEvent(t *testing.T) {
	t.Parallel()
	testsize.NoRace(t, "it does one thing after the other")
	for kind, options := range kinds {
		config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
		createTables(t, config, options)
		j, client := openJournal(t, config), dynamodb.NewFromConfig(config.AWS)
		for _, marked := range []bool{false, true} {
			for _, holes := range [][]int64{{99}, {199}, {99, 199}, {98, 99, 100}} {
				for _, after := range []int64{101, 150, 199, 200, 201, 250, 298, 299} {
					if after < 199 && slices.Contains(holes, 199) && !marked {
						continue // nothing leads after the hole
					}
					name := fmt.Sprintf("%s, holes %v, high marks %v, after %d", kind, holes, marked, after)
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						p := spanning(299, holes...)
						if marked {
							p.withHighMarks()
						}
						putAll(t, client, p.attributes(name, int64(j.SequenceShards())))
						w, replayed := recoverPlanted(t, j, name, after)
						wantNext(t, w, 300)
						later := slices.DeleteFunc(p.numbers(), func(seq int64) bool { return seq <= after })
						if replayed != len(later) {
							t.Errorf("%d events were replayed, want %d", replayed, len(later))
						}
						wantNumbers(t, j, name, p.numbers())
						if b := readBounds(t, j, name); b.Lowest != 0 {
							t.Errorf("the low mark is %d, want none", b.Lowest)
						}
					})
				}
			}
		}
	}
}

// Events in the partition after the snapshot's also count: the numbers between were rejected.
func TestRecover_SnapshotAtHole(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
		createTables(t, config, options)
		j, client := openJournal(t, config), dynamodb.NewFromConfig(config.AWS)
		for _, after := range []int64{97, 98, 99} {
			pid := fmt.Sprintf("%s-%d", kind, after)
			p := spanning(201, 97, 98, 99)
			putAll(t, client, p.attributes(pid, int64(j.SequenceShards())))
			w, replayed := recoverPlanted(t, j, pid, after)
			if wantNext(t, w, 202); replayed != 102 {
				t.Errorf("after %d, %d events were replayed, want 102", after, replayed)
			}
			wantNumbers(t, j, pid, p.numbers())
		}
	}
}

// The snapshot's own number and the next one are holes at the end of a partition. The recovery
// continues after them.
func TestRecover_SnapshotBeforeHolesAtEndOfPartition(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
		createTables(t, config, options)
		j, client := openJournal(t, config), dynamodb.NewFromConfig(config.AWS)
		for _, holes := range [][]int64{{298, 299}, {299}} {
			pid := fmt.Sprintf("%s-%d", kind, holes[0])
			putAll(t, client, spanning(350, holes...).attributes(pid, int64(j.SequenceShards())))
			w, replayed := recoverPlanted(t, j, pid, holes[0])
			if wantNext(t, w, 351); replayed != 51 {
				t.Errorf("holes %v: %d events were replayed, want 51", holes, replayed)
			}
		}
	}
}

// No mark leads to the end of the journal. A snapshot beyond the journal still fences the number
// after the real end: an earlier writer, which knows that number, cannot write there.
func TestRecover_SnapshotBeyondJournalFencesRealEnd(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
		createTables(t, config, options)
		j, client := openJournal(t, config), dynamodb.NewFromConfig(config.AWS)
		for _, c := range []struct {
			last, after int64
			holes       []int64
		}{
			{298, 299, []int64{99}}, {298, 299, []int64{99, 199}}, {250, 300, []int64{99}}, {250, 5000, []int64{99, 199}}, {198, 200, []int64{99}},
		} {
			pid := fmt.Sprintf("%s-%d-%d-%v", kind, c.last, c.after, c.holes)
			p := spanning(c.last, c.holes...)
			putAll(t, client, p.attributes(pid, int64(j.SequenceShards())))
			before, _ := recoverPlanted(t, j, pid, c.last-1) // reads to the end
			wantNext(t, before, c.last+1)
			removeHighMarks(t, client, pid, int64(j.SequenceShards()))
			w := loseJournal(t, j, pid, c.after)
			wantNext(t, w, c.after+1)
			if _, err := before.Append(t.Context(), "late"); err == nil {
				t.Errorf("%s: the earlier writer still writes", pid)
			}
			if _, err := w.Append(t.Context(), "on"); err != nil {
				t.Errorf("%s: Append: %v", pid, err)
			}
			wantNumbers(t, j, pid, []int64{c.after + 1})
		}
	}
}

// A JVM does not know fences, and continues after a fence that a crash has left. Its events must
// stay.
func TestRecover_EventsAfterFence(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
			createTables(t, config, options)
			j, client := openJournal(t, config), dynamodb.NewFromConfig(config.AWS)
			for _, fence := range []int64{11, 99, 100} {
				for _, hole := range []int64{0, 1} {
					pid := fmt.Sprintf("%d-%d", fence, hole)
					p := spanning(fence+20, fence-hole, fence, fence+1, fence+2)
					items := p.withHighMarks().attributes(pid, int64(j.SequenceShards()))
					putAll(t, client, append(items, fenceItem(pid, fence, 501)))
					w, replayed := recoverPlanted(t, j, pid, 0)
					wantNext(t, w, fence+21)
					if want := len(p.numbers()); replayed != want {
						t.Errorf("fence at %d: %d events were replayed, want %d", fence, replayed, want)
					}
					wantNumbers(t, j, pid, p.numbers())
				}
			}
		})
	}
}

// Members of an atomic write that a fence has cut do not prevent a recovery from raising the low
// mark, because the writer that put the fence may continue at any time.
func TestRecover_MembersAfterFence(t *testing.T) {
	t.Parallel()
	config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
	createTables(t, config, dynajournal.TableOptions{})
	j, client := openJournal(t, config), dynamodb.NewFromConfig(config.AWS)
	p := spanning(9)
	p.plantBatch(modelBatch{10, 14, modelWriters[1]})
	delete(p.items, 11)
	putAll(t, client, append(p.attributes("a", 1), fenceItem("a", 11, 501)))
	w, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantNext(t, w, 501)
}

// For any content of a journal, a recovery after a snapshot returns every event after it or leaves
// it readable. No event is lost unless the caller says that the journal is lost.
func TestRecover_AnySnapshot(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
			createTables(t, config, options)
			j, client := openJournal(t, config), dynamodb.NewFromConfig(config.AWS)
			id := 0
			rapid.Check(t, func(r *rapid.T) {
				id++
				pid := "p" + strconv.Itoa(id)
				last := rapid.SampledFrom([]int64{0, 1, 98, 99, 100, 150, 198, 199, 199, 200, 201, 250, 298, 299, 299, 300, 310}).Draw(r, "last")
				holes := rapid.SliceOfN(rapid.SampledFrom([]int64{1, 50, 98, 99, 99, 99, 100, 198, 199, 200, 250, 299, 300}), 0, 5).Draw(r, "holes")
				p := spanning(last, holes...)
				if len(p.items) > 0 {
					switch rapid.SampledFrom([]string{"none", "all", "lost"}).Draw(r, "high marks") {
					case "all":
						p.withHighMarks()
					case "lost":
						p.withHighMarks()
						p.highs = p.highs[:rapid.IntRange(0, len(p.highs)).Draw(r, "left")]
					}
				}
				after := rapid.OneOf(rapid.Just(last), rapid.SampledFrom([]int64{98, 99, 100, 101, 199, 200, 299, 300, 399}), rapid.Int64Range(0, 420)).Draw(r, "after")
				r.Log(p, after)
				putAll(t, client, p.attributes(pid, int64(j.SequenceShards())))
				all := numbersOf(readEvents(t, j, pid, dynajournal.Range{SkipMissing: true}))
				later := numbersOf(readEvents(t, j, pid, dynajournal.Range{From: after + 1, SkipMissing: true}))

				got := map[int64]bool{}
				highest := slices.Max(append(p.numbers(), 0))
				opts := dynajournal.RecoverOptions{Snapshot: after, SkipMissing: true}
				if highest < after && (highest > 0 || !options.SharedWithJVM) {
					if _, err := j.Recover(t.Context(), pid, opts, nil); !errors.Is(err, dynajournal.ErrSnapshotAhead) {
						r.Errorf("the journal ends before the snapshot: %v, want %v", err, dynajournal.ErrSnapshotAhead)
					}
					if there := numbersOf(readEvents(t, j, pid, dynajournal.Range{SkipMissing: true})); !slices.Equal(there, all) {
						r.Errorf("%v are left of %v", there, all)
					}
					opts.JournalLost = true
				}
				w, err := j.Recover(t.Context(), pid, opts, func(e dynajournal.Event) error {
					got[e.SequenceNumber] = true
					return nil
				})
				if err != nil {
					r.Fatalf("Recover: %v", err)
				}
				for _, seq := range later {
					if !got[seq] {
						r.Errorf("event %d, after the snapshot, was not replayed", seq)
					}
				}
				next, err := w.NextSequenceNumber(t.Context())
				if err != nil || next <= after || highest < after && next != after+1 {
					r.Errorf("after a snapshot at %d the writer continues at %d, %v", after, next, err)
				}
				rest := numbersOf(readEvents(t, j, pid, dynajournal.Range{SkipMissing: true}))
				switch {
				case highest < after && len(rest) > 0:
					r.Errorf("the journal ends before the snapshot, and %v are left", rest)
				case highest >= after:
					for _, seq := range all {
						if !slices.Contains(rest, seq) {
							r.Errorf("%d has vanished", seq)
						}
					}
				}
			})
		})
	}
}

// fenceItem returns a permanent fence at a number. low is the value to which the low mark is to be
// raised.
func fenceItem(pid string, seq, low int64) map[string]types.AttributeValue {
	number := func(n int64) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
	}
	return map[string]types.AttributeValue{
		"par": &types.AttributeValueMemberS{Value: fmt.Sprintf("journal-P-%s-%d", pid, seq/modelBlock)}, "num": number(seq % modelBlock),
		"idx": number(1_000_000_000), "cnt": number(1_000_000_000), "low": number(low),
	}
}

// removeHighMarks removes the high marks of a persistence id.
func removeHighMarks(t *testing.T, client *dynamodb.Client, pid string, shards int64) {
	t.Helper()
	for shard := range shards {
		removeItem(t, client, fmt.Sprintf("journal-SH-%s-%d", pid, shard), 0)
	}
}

// recoverPlanted recovers an id from a snapshot, and skips numbers that a test has left out.
func recoverPlanted(tb testing.TB, j *dynajournal.Journal, pid string, after int64) (w *dynajournal.Writer, replayed int) {
	tb.Helper()
	return recoverCounting(tb, j, pid, dynajournal.RecoverOptions{Snapshot: after, SkipMissing: true})
}

func wantNumbers(t *testing.T, j *dynajournal.Journal, pid string, want []int64) {
	t.Helper()
	if got := numbersText(numbersOf(readEvents(t, j, pid, dynajournal.Range{SkipMissing: true}))); got != numbersText(want) {
		t.Errorf("%s: Events returned %q, want %q", pid, got, numbersText(want))
	}
}

// A recovery after a snapshot far beyond a shared journal dies at any request, and is repeated with
// the same snapshot. Readers, verify and a full recovery must not visit all numbers in between.
func TestRecoveryAfterAFarSnapshotKilledAtEachRequest(t *testing.T) {
	t.Parallel()
	testsize.NoRace(t, "it does one thing after the other")
	const snapshot, enough = 1 << 40, 1000
	for n := int64(1); ; n++ {
		d := openDamaged(t, dynajournal.TableOptions{SharedWithJVM: true}, false)
		d.write(3, false)
		_, died := openDying(t, d.config, n).Recover(t.Context(), "a", dynajournal.RecoverOptions{Snapshot: snapshot, JournalLost: true}, noHandler)
		appendStrings(t, loseJournal(t, d.Journal, "a", snapshot), 1, false)
		if err := readError(t.Context(), d.Journal, "a", dynajournal.Range{}); err != nil {
			t.Errorf("killed after %d requests: readers end with %.160v", n, err)
		}
		bounded := openDying(t, d.config, enough)
		for _, err := range bounded.Verify(t.Context(), "a", dynajournal.VerifyOptions{}) {
			if err != nil {
				t.Errorf("killed after %d requests: verify: %.200v", n, err)
			}
		}
		if _, err := bounded.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, noHandler); err != nil && !errors.Is(err, dynajournal.ErrDeletedMeanwhile) {
			t.Errorf("killed after %d requests: a full recovery: %.200v", n, err)
		}
		if died == nil {
			return
		}
	}
}
