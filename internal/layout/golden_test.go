package layout_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// goldenItem is an item that a JVM plug-in wrote, in DynamoDB JSON.
type goldenItem map[string]struct {
	S, N *string
	B    *[]byte
	SS   []string
	M    goldenItem
}

// attributes returns the item in the SDK's form. It reports false if the item has types that this
// layout does not use.
func (g goldenItem) attributes() (layout.Attributes, bool) {
	item := layout.Attributes{}
	for name, v := range g {
		switch {
		case v.S != nil:
			item[name] = &types.AttributeValueMemberS{Value: *v.S}
		case v.N != nil:
			item[name] = &types.AttributeValueMemberN{Value: *v.N}
		case v.B != nil:
			item[name] = &types.AttributeValueMemberB{Value: *v.B}
		case v.SS != nil:
			item[name] = &types.AttributeValueMemberSS{Value: v.SS}
		case v.M != nil:
			m, ok := v.M.attributes()
			if !ok {
				return nil, false
			}
			item[name] = &types.AttributeValueMemberM{Value: m}
		default:
			return nil, false
		}
	}
	return item, true
}

// goldenItems returns all items of the journal tables of a plug-in's scenarios.
func goldenItems(tb testing.TB, plugin string) []goldenItem {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("..", "systemtest", "testdata", "golden", plugin, "*.json"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("there are no golden files (%v)", err)
	}
	var all []goldenItem
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		var golden struct{ Tables map[string][]goldenItem }
		if err := json.Unmarshal(data, &golden); err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		for table, items := range golden.Tables {
			if !strings.HasSuffix(table, "snapshot") {
				all = append(all, items...)
			}
		}
	}
	return all
}

// place returns the persistence id and the partition that are in the partition key of an event.
func place(par string) (string, int64, bool) {
	rest, ok := strings.CutPrefix(par, "journal-P-")
	dash := strings.LastIndexByte(rest, '-')
	if !ok || dash < 0 {
		return "", 0, false
	}
	p, err := strconv.ParseInt(rest[dash+1:], 10, 64)
	return rest[:dash], p, err == nil
}

// TestEncodeEvent_PekkoGolden decodes every event that Pekko wrote, and encodes it to the same
// item.
func TestEncodeEvent_PekkoGolden(t *testing.T) {
	t.Parallel()
	keys := layout.Keys{Journal: "journal", Shards: layout.DefaultShards}
	events, marks := 0, 0
	for _, golden := range goldenItems(t, "pekko-1.1.0") {
		item, ok := golden.attributes()
		if !ok {
			t.Fatalf("a golden item has another type: %v", golden)
		}
		par := *golden["par"].S
		if golden["event"].B == nil {
			marks += checkHighMark(t, keys, par, item)
			continue
		}
		pid, p, ok := place(par)
		if !ok {
			t.Fatalf("the golden event has the key %q", par)
		}
		slot, err := keys.DecodeSlot(pid, p, item)
		if err != nil {
			t.Errorf("decode %q %s: %v", par, *golden["num"].N, err)
			continue
		}
		if again := keys.EncodeEvent(slot.Event); !reflect.DeepEqual(again, item) {
			t.Errorf("event %d of %q is encoded as %v, Pekko wrote %v", slot.SequenceNr, pid, again, item)
		}
		events++
	}
	if events < 1000 || marks < 10 {
		t.Errorf("there were %d events and %d high marks only", events, marks)
	}
}

// checkHighMark encodes a high mark again.
func checkHighMark(t *testing.T, keys layout.Keys, par string, item layout.Attributes) int {
	t.Helper()
	rest, ok := strings.CutPrefix(par, "journal-SH-")
	dash := strings.LastIndexByte(rest, '-')
	if !ok || dash < 0 {
		return 0
	}
	marks, err := keys.DecodeMarks(rest[:dash], []layout.Attributes{item})
	if err != nil {
		t.Errorf("decode %q: %v", par, err)
	}
	if again := keys.EncodeHighMark(rest[:dash], marks.High); !reflect.DeepEqual(again, item) {
		t.Errorf("the high mark %q is encoded as %v, Pekko wrote %v", par, again, item)
	}
	return 1
}

// TestEncodeEvent_AkkaGolden decodes every event in the form of Akka 1.1, and encodes it to
// the same item.
func TestEncodeEvent_AkkaGolden(t *testing.T) {
	t.Parallel()
	keys := layout.Keys{Journal: "journal", Shards: layout.DefaultShards}
	events := 0
	for _, golden := range goldenItems(t, "akka-1.1.1") {
		pid, p, ok := place(*golden["par"].S)
		if !ok {
			continue
		}
		item, _ := golden.attributes()
		slot, err := keys.DecodeSlot(pid, p, item)
		if err != nil || slot.Event == nil || slot.Event.PersistenceID != pid || slot.Event.SequenceNr != slot.SequenceNr ||
			slot.Event.SerializerID == 0 || slot.Event.WriterUUID == "" || slot.Event.Batch.IsBatch() != (golden["idx"].N != nil) {
			t.Errorf("decode %q %s: %+v, %v", *golden["par"].S, *golden["num"].N, slot.Event, err)
			continue
		}
		if again := keys.EncodeEvent(slot.Event); !reflect.DeepEqual(again, item) {
			t.Errorf("event %d of %q is encoded as %v, Akka wrote %v", slot.SequenceNr, pid, again, item)
		}
		events++
	}
	if events < 300 {
		t.Errorf("there were %d events only", events)
	}
}
