package systemtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/dynajournal/dynajournal"
)

// TestReplayOfAnything plants random items that crashes, deletions, lost items and other writers
// leave, and compares the read, replayed and closed numbers with the model.
func TestReplayOfAnything(t *testing.T) {
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
				p := drawPlanted(r)
				p.shared = options.SharedWithJVM
				r.Log(p)
				putAll(t, client, p.attributes(pid, int64(j.SequenceShards())))
				for range 8 {
					w := randomWindow(func(n int64) int64 { return rapid.Int64Range(0, n-1).Draw(r, "n") }, p.highest())
					checkEventsOf(r, t, j, pid, &p.model, w)
				}
				if got, want := readBounds(t, j, pid), (dynajournal.Bounds{Lowest: p.low.seq, Highest: p.highest()}); got != want {
					r.Errorf("Bounds = %+v, want %+v", got, want)
				}
				recoverAndGoOn(r, t, j, pid, p)
			})
		})
	}
}

// checkEventsOf is checkEvents with failures that rapid can shrink.
func checkEventsOf(r *rapid.T, t *testing.T, j *dynajournal.Journal, pid string, m *model, w dynajournal.Range) {
	t.Helper()
	w.SkipMissing = true
	got := readEvents(t, j, pid, w)
	if got, want := numbersText(numbersOf(got)), numbersText(m.events(w)); got != want {
		r.Errorf("Events(%s) returned %q, the model says %q", windowText(w), got, want)
	}
}

// recoverAndGoOn recovers with options, appends, recovers everything, and reads again.
func recoverAndGoOn(r *rapid.T, t *testing.T, j *dynajournal.Journal, pid string, p *planted) {
	t.Helper()
	highest, next := p.highest(), p.next()
	o := dynajournal.RecoverOptions{After: rapid.Int64Range(0, highest).Draw(r, "after"), SkipMissing: true}
	if rapid.Bool().Draw(r, "bounded") {
		o.To = rapid.Int64Range(0, highest+2).Draw(r, "to")
	}
	if rapid.Bool().Draw(r, "limited") {
		o.Limit = aws.Int64(rapid.Int64Range(0, 12).Draw(r, "limit"))
	}
	for _, o := range []dynajournal.RecoverOptions{o, {SkipMissing: true}} {
		if got, want := replayed(t, j, pid, o), numbersText(p.replay(o)); got != want {
			r.Errorf("Recover(after %d, %s) replayed %q, the model says %q", o.After, windowText(dynajournal.Range{To: o.To, Limit: o.Limit}), got, want)
		}
		listing, err := j.List(t.Context(), pid)
		if err != nil {
			r.Fatalf("List: %v", err)
		}
		for _, seq := range p.gaps(o.After) {
			if !slices.Contains(listing.Seals, seq) {
				r.Errorf("Recover(after %d) did not seal %d", o.After, seq)
			}
		}
	}
	w, err := j.Recover(t.Context(), pid, dynajournal.RecoverOptions{}, nil)
	if err != nil {
		r.Fatalf("Recover: %v", err)
	}
	result, err := w.Append(t.Context(), "one", "two")
	if err != nil || result.First != next {
		r.Fatalf("Append gave %+v, %v; want it from %d on", result, err, next)
	}
	got := numbersText(numbersOf(readEvents(t, j, pid, dynajournal.Range{})))
	if want := numbersText(append(p.events(dynajournal.Range{}), next, next+1)); got != want {
		r.Errorf("after the append, Events returned %q, want %q", got, want)
	}
}

func replayed(t *testing.T, j *dynajournal.Journal, pid string, o dynajournal.RecoverOptions) string {
	t.Helper()
	var got []int64
	_, err := j.Recover(t.Context(), pid, o, func(e dynajournal.Event) error {
		got = append(got, e.SequenceNumber)
		return nil
	})
	if err != nil {
		t.Fatalf("Recover(%+v): %v", o, err)
	}
	return numbersText(got)
}

// planted is a model with the further properties of its items.
type planted struct {
	model

	removed int64
	// lows and highs are all low and high marks. The model has only the highest of each.
	lows  []modelLow
	highs []int64
}

var modelWriters = []string{"writer-a", "writer-b"}

// drawPlanted draws the items of a journal.
func drawPlanted(r *rapid.T) *planted {
	p := &planted{model: model{items: map[int64]modelItem{}}}
	base := rapid.SampledFrom([]int64{0, 0, 90, 95, 99, 100, 195}).Draw(r, "base")
	if base > 0 { // everything before is deleted and removed
		p.lows = append(p.lows, modelLow{seq: base + 1, jvm: rapid.Bool().Draw(r, "base of a JVM")})
		p.low = p.lows[0]
		p.removed = base + 1
	}
	next := p.drawTombstones(r, base+1)
	first := next
	for range rapid.IntRange(0, 8).Draw(r, "segments") {
		next = p.drawSegment(r, next)
	}
	p.drawDamage(r, first, next-1)
	p.drawDeletion(r, next)
	p.drawHighMarks(r)
	return p
}

// drawSegment plants the items of one writer or one crash, from a number on.
func (p *planted) drawSegment(r *rapid.T, next int64) int64 {
	writer := rapid.SampledFrom(modelWriters).Draw(r, "writer")
	size := rapid.Int64Range(1, 6).Draw(r, "size")
	switch rapid.SampledFrom([]string{"singles", "batch", "batch", "large batch", "gap", "seals"}).Draw(r, "segment") {
	case "singles":
		for seq := next; seq < next+size; seq++ {
			p.plantEvent(seq, modelBatch{}, writer)
		}
	case "large batch":
		if rapid.IntRange(0, 9).Draw(r, "large") == 0 {
			size = rapid.SampledFrom([]int64{99, 100, 101, 205}).Draw(r, "large size")
		}
		fallthrough
	case "batch":
		p.plantBatch(modelBatch{next, next + size - 1, writer})
	case "gap":
	case "seals":
		for seq := next; seq < next+size; seq++ {
			p.items[seq] = modelItem{}
		}
	}
	return next + size
}

// drawTombstones plants tombstones at the low mark and above, as if the low mark had vanished or
// were not known yet. No event that counts is before them.
func (p *planted) drawTombstones(r *rapid.T, next int64) int64 {
	for range rapid.IntRange(0, 3).Draw(r, "tombstones") {
		next += rapid.Int64Range(0, 2).Draw(r, "vanished")
		p.items[next] = modelItem{expires: true}
		next++
	}
	return next
}

func (p *planted) plantEvent(seq int64, b modelBatch, writer string) {
	p.items[seq] = modelItem{event: true, writer: writer, batch: b, serializer: 4, bytes: []byte{byte(seq)}}
}

func (p *planted) plantBatch(b modelBatch) {
	for seq := b.start; seq <= b.last; seq++ {
		p.plantEvent(seq, b, b.writer)
	}
}

// drawDamage removes some items, and overwrites others like a second JVM writer.
func (p *planted) drawDamage(r *rapid.T, first, last int64) {
	if last < first {
		return
	}
	at := rapid.Int64Range(first, last)
	for range rapid.IntRange(0, 3).Draw(r, "lost") {
		delete(p.items, at.Draw(r, "lost at"))
	}
	for range rapid.IntRange(0, 2).Draw(r, "overwritten") {
		start := at.Draw(r, "overwritten from")
		writer := rapid.SampledFrom(modelWriters).Draw(r, "overwritten by")
		if size := rapid.Int64Range(0, 3).Draw(r, "overwritten size"); size == 0 {
			p.plantEvent(start, modelBatch{}, writer)
		} else {
			p.plantBatch(modelBatch{start, start + size - 1, writer})
		}
	}
}

// drawDeletion raises the low mark to one of the stored numbers, and removes all or some of the
// events below it.
func (p *planted) drawDeletion(r *rapid.T, next int64) {
	if next <= p.first() || rapid.Bool().Draw(r, "not deleted") {
		return
	}
	low := modelLow{seq: rapid.Int64Range(p.first()+1, next).Draw(r, "low")}
	way := rapid.SampledFrom([]string{"ours", "ours", "JVM", "ours, of another batch"}).Draw(r, "deleted by")
	removed := low.seq
	switch low.jvm = way == "JVM"; way {
	case "ours":
		low.cut = p.cutAt(low.seq)
		removed = rapid.Int64Range(p.first(), low.seq).Draw(r, "removed")
	case "JVM":
		removed = rapid.Int64Range(p.first(), low.seq).Draw(r, "removed")
	default:
		low.cut = modelBatch{max(low.seq-3, 1), low.seq + 3, "writer-c"}
	}
	for seq := int64(1); seq < removed; seq++ {
		if low.jvm || rapid.IntRange(0, 9).Draw(r, "expired") == 0 {
			delete(p.items, seq)
		} else {
			p.items[seq] = modelItem{expires: true}
		}
	}
	p.low, p.removed = low, removed
	p.lows = append(p.lows, low)
}

// cutAt returns the atomic write that a deletion by Go, up to but not including low, names in the
// low mark. It is a write that continues after low, with all members down to the old low mark
// stored and the members below cut.
func (p *planted) cutAt(low int64) modelBatch {
	b := p.items[low-1].batch
	if b == (modelBatch{}) || b.last < low || b.start < p.first() && !p.low.jvm && p.low.cut != b {
		return modelBatch{}
	}
	for seq := max(b.start, p.first()); seq < low; seq++ {
		if it := p.items[seq]; !it.event || it.batch != b {
			return modelBatch{}
		}
	}
	return b
}

// drawHighMarks plants high marks from which everything can be found: the right mark, a higher mark
// that points to nothing, or no mark if the partitions are full to their ends.
func (p *planted) drawHighMarks(r *rapid.T) {
	top := int64(0)
	for seq := range p.items {
		top = max(top, seq)
	}
	right := top / modelBlock * modelBlock
	for mark := int64(modelBlock); mark <= right; mark += modelBlock {
		p.highs = append(p.highs, mark)
	}
	switch rapid.SampledFrom([]string{"right", "higher", "lost", "all lost"}).Draw(r, "high marks") {
	case "higher":
		p.highs = append(p.highs, right+rapid.SampledFrom([]int64{100, 300}).Draw(r, "too high"))
	case "lost":
		p.highs = p.highs[:max(len(p.highs)-1, 0)]
	case "all lost":
		p.highs = nil
	}
	p.high = slices.Max(append(p.highs, 0))
	if p.highest() < top { // it could not be found, which no crash causes
		p.highs, p.high = []int64{right}, right
	}
}

// attributes returns the items, with marks in the given number of shards.
func (p *planted) attributes(pid string, shards int64) []map[string]types.AttributeValue {
	number := func(n int64) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
	}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	type attributes = map[string]types.AttributeValue
	marks := map[string]attributes{} // by key; the highest of several in one shard stays
	for _, high := range p.highs {
		par := fmt.Sprintf("journal-SH-%s-%d", pid, high/modelBlock%shards)
		marks[par] = attributes{"par": text(par), "num": number(0), "seq": number(high)}
	}
	for _, low := range p.lows {
		par := fmt.Sprintf("journal-SL-%s-%d", pid, low.seq/modelBlock%shards)
		mark := attributes{"par": text(par), "num": number(0), "seq": number(low.seq)}
		if !low.jvm {
			mark["removed"] = number(min(p.removed, low.seq))
		}
		if low.cut != (modelBatch{}) {
			mark["cut_start"], mark["cut_cnt"], mark["cut_writer"] = number(low.cut.start), number(low.cut.last-low.cut.start), text(low.cut.writer)
		}
		marks[par] = mark
	}
	all := slices.Collect(maps.Values(marks))
	for seq, it := range p.items {
		stored := attributes{"par": text(fmt.Sprintf("journal-P-%s-%d", pid, seq/modelBlock)), "num": number(seq % modelBlock)}
		all = append(all, stored)
		if !it.event {
			stored["idx"], stored["cnt"] = number(1_000_000_000), number(1_000_000_000)
			if it.expires {
				stored["expires"] = number(4_000_000_000)
			}
			continue
		}
		stored["persistence_id"], stored["seq"], stored["writer_uuid"] = text(pid), number(seq), text(it.writer)
		stored["event"], stored["ev_ser_id"] = &types.AttributeValueMemberB{Value: it.bytes}, number(int64(it.serializer))
		if it.batch != (modelBatch{}) {
			stored["idx"], stored["cnt"] = number(seq-it.batch.start), number(it.batch.last-it.batch.start)
		}
	}
	return all
}

// String returns the planted items as text.
func (p *planted) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "low %+v removed %d high %v:", p.lows, p.removed, p.highs)
	for _, seq := range p.numbers() {
		switch it := p.items[seq]; {
		case !it.event && it.expires:
			fmt.Fprintf(&b, " %d:tombstone", seq)
		case !it.event:
			fmt.Fprintf(&b, " %d:seal", seq)
		case it.batch == modelBatch{}:
			fmt.Fprintf(&b, " %d", seq)
		default:
			fmt.Fprintf(&b, " %d(%d-%d of %s)", seq, it.batch.start, it.batch.last, it.writer)
		}
	}
	return b.String()
}
