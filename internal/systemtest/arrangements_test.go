package systemtest

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

var (
	arrangementCount = flag.Int("verify.arrangements", testsize.Of(20, 200), "how many arrangements a test draws")
	arrangementSeed  = flag.Uint64("verify.seed", 1, "the seed of the arrangements")
)

// arrangement is a random set of stored items of a persistence id, from any history and any damage.
type arrangement struct {
	*rand.Rand

	pid    string
	shards int
	shared bool
	items  map[string]map[string]types.AttributeValue // by key
	saved  []map[string]types.AttributeValue          // snapshots
	text   []string
}

func (a *arrangement) one(in int) bool { return a.IntN(in) == 0 }

func (a *arrangement) note(format string, args ...any) {
	a.text = append(a.text, fmt.Sprintf(format, args...))
}

// put stores an item of the journal, and replaces an existing one.
func (a *arrangement) put(par string, num int, attributes map[string]any) {
	item := eventKey(par, num)
	addAttributes(item, attributes)
	a.items[fmt.Sprint(par, " ", num)] = item
}

func (a *arrangement) number(seq int) (string, int) {
	return fmt.Sprintf("journal-P-%s-%d", a.pid, seq/100), seq % 100
}

func (a *arrangement) event(seq int, writer string, batch ...int) {
	attributes := map[string]any{"persistence_id": a.pid, "seq": seq, "event": []byte(fmt.Sprint(writer, seq)), "writer_uuid": writer, "ev_ser_id": 4}
	if len(batch) == 2 {
		attributes["idx"], attributes["cnt"] = seq-batch[0], batch[1]-batch[0]
	}
	par, num := a.number(seq)
	a.put(par, num, attributes)
}

func (a *arrangement) closed(seq int, more map[string]any) {
	attributes := seal()
	maps.Copy(attributes, more)
	par, num := a.number(seq)
	a.put(par, num, attributes)
}

func (a *arrangement) lose(seq int) {
	par, num := a.number(seq)
	delete(a.items, fmt.Sprint(par, " ", num))
}

// draw draws the items that writers, deletions and damage leave, one over the other.
func (a *arrangement) draw() {
	first := []int{1, 1, 1, 92, 97, 99, 100, 101, 197}[a.IntN(9)]
	next := a.history(first)
	for range a.IntN(4) {
		a.overwrite(first, next)
	}
	for range a.IntN(3) {
		a.damage(first, next)
	}
	a.marks(first, next)
	a.snapshots(next)
}

// history draws consecutive single events and atomic writes of several writers, with holes and
// seals.
func (a *arrangement) history(next int) int {
	for range 1 + a.IntN(7) {
		writer, size := string(rune('A'+a.IntN(3))), 1+a.IntN(6)
		if a.one(25) {
			size = []int{99, 100, 101, 130}[a.IntN(4)]
		}
		end := next + size - 1
		switch a.IntN(7) {
		case 0, 1:
			for seq := next; seq <= end; seq++ {
				a.event(seq, writer)
			}
			a.note("%s wrote %d-%d", writer, next, end)
		case 2, 3, 4:
			for seq := next; seq <= end; seq++ {
				a.event(seq, writer, next, end)
			}
			a.note("%s wrote %d-%d atomically", writer, next, end)
		case 5:
			a.note("nothing at %d-%d", next, end)
		default:
			for seq := next; seq <= end; seq++ {
				a.closed(seq, nil)
			}
			a.note("sealed %d-%d", next, end)
		}
		next = end + 1
	}
	return next
}

// overwrite draws the writes of a second JVM writer.
func (a *arrangement) overwrite(first, next int) {
	start := first + a.IntN(next-first)
	end, writer := start+a.IntN(4), string(rune('A'+a.IntN(4)))
	for seq := start; seq <= end; seq++ {
		if end > start {
			a.event(seq, writer, start, end)
		} else {
			a.event(seq, writer)
		}
	}
	a.note("%s wrote over %d-%d", writer, start, end)
}

// damage draws a loss, or an item that no protocol writes.
func (a *arrangement) damage(first, next int) {
	seq := first + a.IntN(next-first)
	par, num := a.number(seq)
	switch a.IntN(12) {
	case 0, 1, 2, 3:
		a.lose(seq)
		a.note("lost %d", seq)
	case 4:
		for seq := (seq/100 + 1) * 100; seq > 98 && seq > first; seq-- { // 99 and 100
			if a.lose(seq); seq%100 == 99 {
				break
			}
		}
		a.note("lost the end of the partition of %d", seq)
	case 5:
		a.closed(seq, nil)
		a.note("sealed %d", seq)
	case 6:
		expires := []int{1, 4000000000}[a.IntN(2)]
		a.closed(seq, map[string]any{"expires": expires})
		a.note("tombstone at %d until %d", seq, expires)
	case 7:
		a.closed(next, map[string]any{"low": next + 1 + a.IntN(120)})
		a.note("fence at %d", next)
	case 8:
		a.put(par, num, map[string]any{"event": "no bytes"})
		a.note("undecodable at %d", seq)
	case 9:
		a.put(par, num, map[string]any{"persistence_id": a.pid, "seq": seq, "event": []byte(`{"a`), "writer_uuid": "A", "ev_ser_id": 31, "ev_ser_manifest": "x.Y"})
		a.note("broken JSON at %d", seq)
	case 10:
		a.put(par, num, map[string]any{"something": seq})
		a.note("unknown item at %d", seq)
	default:
		a.put(par, []int{0, 100, 150, -3}[a.IntN(4)], seal())
		a.note("an item outside the partition of %d, or over its first", seq)
	}
}

// marks draws correct and wrong low marks of Go and a JVM, and high marks.
func (a *arrangement) marks(first, next int) {
	shards := a.shards
	if a.one(15) {
		shards = 3
		a.note("marks in 3 shards")
	}
	low := func(seq, removed int, how int) {
		attributes := map[string]any{"seq": seq}
		if how != 0 {
			attributes["removed"] = min(removed, seq)
		}
		if how == 2 {
			start, writer := max(seq-1-a.IntN(3), 1), string(rune('A'+a.IntN(3)))
			par, num := a.number(seq)
			if item := a.items[fmt.Sprint(par, " ", num)]; item["idx"] != nil && item["writer_uuid"] != nil {
				var idx int
				_, _ = fmt.Sscan(attributeText(item["idx"]), &idx)
				if writer = attributeText(item["writer_uuid"]); idx > 0 && idx < seq {
					start = seq - idx
				}
			}
			attributes["cut_start"], attributes["cut_cnt"], attributes["cut_writer"] = start, seq-start+a.IntN(3), writer
		}
		// In a native journal, a low mark that expires was written by a purge of an earlier
		// version. It does not cut an atomic write.
		if a.one(20) && (a.shared || how == 1) {
			attributes["expires"] = []int{1, 4000000000}[a.IntN(2)]
		}
		shard := seq / 100 % shards
		if how != 0 && a.shared && !a.one(3) { // a JVM reads a lower number
			attributes["low"], attributes["seq"] = seq, seq/100*100
			shard = (seq/100 + shards - 1) % shards
		}
		a.put(fmt.Sprintf("journal-SL-%s-%d", a.pid, shard), 0, attributes)
		a.note("low mark %v", attributes)
	}
	if first > 1 && !a.one(8) {
		low(first, first, a.IntN(2))
	}
	if a.one(2) {
		seq := first + 1 + a.IntN(next-first)
		removed := 1 + a.IntN(seq)
		for n := first; n < removed; n++ {
			switch a.IntN(12) {
			case 0:
			case 1:
				a.lose(n)
			default:
				a.closed(n, map[string]any{"expires": []int{1, 4000000000}[a.IntN(2)]})
			}
		}
		low(seq, removed, a.IntN(3))
	}
	if a.one(25) {
		low(next+a.IntN(300), 1+a.IntN(next), a.IntN(3)) // wrong
	}
	for mark := 100; mark < next; mark += 100 {
		if !a.one(5) {
			a.put(fmt.Sprintf("journal-SH-%s-%d", a.pid, mark/100%shards), 0, map[string]any{"seq": mark})
			a.note("high mark %d", mark)
		}
	}
	if a.one(12) {
		mark := (next/100 + 1 + a.IntN(5)) * 100
		a.put(fmt.Sprintf("journal-SH-%s-%d", a.pid, mark/100%shards), 0, map[string]any{"seq": mark})
		a.note("high mark %d", mark)
	}
	if a.one(60) {
		a.put(fmt.Sprintf("journal-S%s-%s-0", []string{"H", "L"}[a.IntN(2)], a.pid), 0, map[string]any{"seq": "no number"})
		a.note("an undecodable mark")
	}
}

// snapshots draws complete snapshots, and snapshot heads without their parts.
func (a *arrangement) snapshots(next int) {
	for range a.IntN(3) {
		seq := max(next-4+a.IntN(6), 1)
		item := map[string]types.AttributeValue{
			"par": &types.AttributeValueMemberS{Value: "journal-P-" + a.pid}, "seq": &types.AttributeValueMemberN{Value: fmt.Sprint(seq)},
		}
		switch a.IntN(6) {
		case 0:
			item["seq"] = &types.AttributeValueMemberN{Value: fmt.Sprintf("1%019d", seq)}
			addAttributes(item, map[string]any{
				"split_version": 1, "split_ts": 1, "split_token": 5, "split_parts": 2, "split_bytes": 10, "split_sha256": make([]byte, 32), "ser_id": 4,
			})
			a.note("snapshot %d without its parts", seq)
		case 1:
			addAttributes(item, map[string]any{"ts": 1, "pay_data": "text", "ser_id": 4})
			a.note("snapshot %d that can't be read", seq)
		default:
			addAttributes(item, map[string]any{"ts": 1, "pay_data": []byte("s"), "ser_id": 4})
			a.note("snapshot %d", seq)
		}
		a.saved = slices.DeleteFunc(a.saved, func(s map[string]types.AttributeValue) bool {
			return attributeText(s["seq"]) == attributeText(item["seq"])
		})
		a.saved = append(a.saved, item)
	}
}

// readAll returns the events that a reader gets that continues past missing events, and its final
// error.
func readAll(t *testing.T, j *dynajournal.Journal, pid string) (events []string, failed string) {
	t.Helper()
	for e, err := range j.Events(t.Context(), pid, dynajournal.Range{SkipMissing: true}) {
		if err != nil {
			return events, err.Error()
		}
		events = append(events, fmt.Sprintf("%06d %s %s", e.SequenceNumber, e.WriterUUID, e.Serialized().Bytes))
	}
	return events, ""
}

// findingsOf returns the findings, and complains about findings that are repeated or make no sense.
func findingsOf(t *testing.T, all func(func(dynajournal.Finding, error) bool), complain func(string, ...any)) []dynajournal.Finding {
	t.Helper()
	var found []dynajournal.Finding
	seen := map[string]bool{}
	for f, err := range all {
		if err != nil {
			complain("verify: %v", err)
			return found
		}
		if key := fmt.Sprint(f.Kind, f.SequenceNumber, f.Detail); seen[key] {
			complain("found twice: %+v", f)
		} else {
			seen[key] = true
		}
		if f.SequenceNumber < 1 && f.Kind != dynajournal.FindingUndecodable && f.Kind != dynajournal.FindingUnknownItem {
			complain("found at no number: %+v", f)
		}
		found = append(found, f)
	}
	return found
}

// eachKind returns each kind of finding once, with a prefix.
func eachKind(prefix string, found []dynajournal.Finding) []string {
	kinds := map[string]bool{}
	for _, f := range found {
		kinds[prefix+string(f.Kind)] = true
	}
	return slices.Collect(maps.Keys(kinds))
}

// For any stored items: a repair does not change the events that readers see, one run of it is
// enough, and it reports the remaining findings with the reason. A recovery, and a repair with
// every option that removes items, do not change the events either.
func TestRepairOfAnything(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			repairArrangements(t, kind, options)
		})
	}
}

func repairArrangements(t *testing.T, kind string, options dynajournal.TableOptions) {
	t.Helper()
	const round = 2000 // of one engine, which has all items in memory
	count := *arrangementCount / len(kinds)
	endings := map[string]int{}
	for from := 0; from < count; from += round {
		config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
		createTables(t, config, options)
		j, client := openJournal(t, config), dynamodb.NewFromConfig(config.AWS)
		for i := from; i < min(from+round, count); i++ {
			a := &arrangement{
				Rand: rand.New(rand.NewPCG(*arrangementSeed, uint64(i)*2+uint64(kind[0]%2))),
				pid:  fmt.Sprint("a", i), shards: j.SequenceShards(), shared: options.SharedWithJVM, items: map[string]map[string]types.AttributeValue{},
			}
			a.draw()
			putAll(t, client, slices.Collect(maps.Values(a.items)))
			for _, item := range a.saved {
				if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new(dynajournal.DefaultSnapshotTable), Item: item}); err != nil {
					t.Fatal(err)
				}
			}
			for _, ending := range repairAndRead(t, j, a, kind, i) {
				endings[ending]++
			}
		}
	}
	for _, ending := range slices.Sorted(maps.Keys(endings)) {
		t.Logf("%7d %s", endings[ending], ending)
	}
}

// repairAndRead repairs and reads an arrangement. It returns the results and the remaining
// findings, for statistics.
func repairAndRead(t *testing.T, j *dynajournal.Journal, a *arrangement, kind string, i int) (endings []string) {
	t.Helper()
	complain := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s %d: %s\n%s", kind, i, fmt.Sprintf(format, args...), strings.Join(a.text, "\n"))
		endings = append(endings, "not as expected")
	}
	events, failed := readAll(t, j, a.pid)
	same := func(after string) {
		t.Helper()
		if again, failedAgain := readAll(t, j, a.pid); !slices.Equal(again, events) || failedAgain != failed {
			complain("%s: read %q, %s; before %q, %s", after, again, failedAgain, events, failed)
		}
	}
	found := findingsOf(t, j.Verify(t.Context(), a.pid, dynajournal.VerifyOptions{}), complain)
	repaired := findingsOf(t, j.Repair(t.Context(), a.pid, dynajournal.VerifyOptions{}), complain)
	same("after the repair")
	left := findingsOf(t, j.Verify(t.Context(), a.pid, dynajournal.VerifyOptions{}), complain)
	unrepaired := slices.DeleteFunc(repaired, func(f dynajournal.Finding) bool { return f.Repaired })
	if fmt.Sprint(unrepaired) != fmt.Sprint(left) {
		complain("the repair said that %v is left, verify says %v", unrepaired, left)
	}
	for _, f := range left {
		if f.Repairable {
			complain("after a repair: %+v", f)
		}
	}
	switch {
	case len(found) == 0:
		endings = append(endings, "nothing found")
	case len(left) == 0:
		endings = append(endings, "all repaired unasked")
	}
	if failed == "" && len(found) == 0 && len(left) > 0 {
		complain("found nothing, and after the repair %v", left)
	}
	options := dynajournal.VerifyOptions{
		RemoveOrphans: true, RemoveDeleted: true, RemoveIncomplete: true, SealMissing: true,
		Archive: func(dynajournal.RemovedItem) error { return nil },
	}
	if a.one(2) {
		mended := findingsOf(t, j.Repair(t.Context(), a.pid, options), complain)
		again, failedAgain := readAll(t, j, a.pid)
		if sealed(mended) && len(again) >= len(events) && slices.Equal(again[:len(events)], events) {
			events, failed = again, failedAgain
		}
		same("after the repair with options")
		left = findingsOf(t, j.Verify(t.Context(), a.pid, dynajournal.VerifyOptions{}), complain)
		for _, f := range left {
			if f.Repairable || f.Option != "" && f.Option != dynajournal.OptionRestoreHighMark {
				complain("after a repair with options: %+v", f)
			}
		}
	}
	endings = append(endings, eachKind("left by repairs: ", left)...)
	if _, err := j.Recover(t.Context(), a.pid, dynajournal.RecoverOptions{SkipMissing: true}, nil); err != nil {
		if !unreadableLeft(left) {
			complain("recover: %v", err)
		}
		return append(endings, "the recovery is refused: an item can't be read")
	}
	return append(endings, recoverAndRead(t, j, a, events, left, complain)...)
}

// sealed reports whether a repair has sealed missing numbers. Events after them may have been
// hidden before, if no high mark leads there.
func sealed(mended []dynajournal.Finding) bool {
	return slices.ContainsFunc(mended, func(f dynajournal.Finding) bool {
		return f.Kind == dynajournal.FindingHole && f.Repaired
	})
}

// unreadableLeft reports whether an unreadable item remains, with which a recovery can fail.
func unreadableLeft(left []dynajournal.Finding) bool {
	return slices.ContainsFunc(left, func(f dynajournal.Finding) bool { return f.Kind == dynajournal.FindingUndecodable })
}

// recoverAndRead reads after a recovery. The recovery may have raised the low mark over a tombstone
// or fence that a finding has reported.
func recoverAndRead(
	t *testing.T, j *dynajournal.Journal, a *arrangement, events []string, left []dynajournal.Finding, complain func(string, ...any),
) []string {
	t.Helper()
	bounds, err := j.Bounds(t.Context(), a.pid)
	if errors.Is(err, dynajournal.ErrCorruptItem) && unreadableLeft(left) {
		// below the low mark, the last of its partition
		return []string{"the highest number can't be read: an item below the low mark can't be read"}
	}
	if err != nil {
		complain("bounds: %v", err)
	}
	want := slices.Clone(events)
	var endings []string
	if slices.ContainsFunc(left, func(f dynajournal.Finding) bool {
		return f.Kind == dynajournal.FindingHole && strings.Contains(f.Detail, "above the low mark")
	}) {
		want = slices.DeleteFunc(want, func(e string) bool { return e < fmt.Sprintf("%06d", bounds.Lowest) })
		endings = append(endings, "the recovery raises the low mark over a tombstone or fence")
	}
	if got, failed := readAll(t, j, a.pid); !slices.Equal(got, want) || failed != "" {
		complain("after the recovery: read %q, %s; before %q", got, failed, want)
	}
	after := findingsOf(t, j.Verify(t.Context(), a.pid, dynajournal.VerifyOptions{}), complain)
	return append(endings, eachKind("left by the recovery: ", after)...)
}
