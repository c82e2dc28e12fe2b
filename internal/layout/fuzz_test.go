package layout_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/layout"
)

// parsed decodes fuzzed JSON as an item. It reports false if the JSON is not an item.
func parsed(data []byte) (layout.Attributes, bool) {
	var golden goldenItem
	if err := json.Unmarshal(data, &golden); err != nil {
		return nil, false
	}
	return golden.attributes()
}

// seed adds some golden items of each plug-in as seeds.
func seed(f *testing.F, add func(par string, data []byte)) {
	f.Helper()
	const every = 29
	for _, plugin := range []string{"pekko-1.1.0", "akka-1.1.1"} {
		for i, golden := range goldenItems(f, plugin) {
			if _, _, event := place(*golden["par"].S); event && i%every != 0 {
				continue
			}
			item := map[string]map[string]any{}
			for name, v := range golden {
				switch {
				case v.S != nil:
					item[name] = map[string]any{"S": *v.S}
				case v.N != nil:
					item[name] = map[string]any{"N": *v.N}
				default:
					item[name] = map[string]any{"B": *v.B}
				}
			}
			data, err := json.Marshal(item)
			if err != nil {
				f.Fatal(err)
			}
			add(*golden["par"].S, data)
		}
	}
}

// FuzzDecodeSlot decodes any item in any partition. The slot must belong to the partition, and its
// encoding must be decoded to an equal slot.
func FuzzDecodeSlot(f *testing.F) {
	seed(f, func(par string, data []byte) {
		if pid, p, ok := place(par); ok {
			f.Add(pid, p, data)
		}
	})
	f.Add("pid", int64(92233720368547758), []byte(`{"num":{"N":"6"},"idx":{"N":"1000000000"},"cnt":{"N":"1000000000"},"expires":{"N":"1"}}`))
	f.Add("pid", int64(0), []byte(`{"num":{"N":"1"},"seq":{"N":"1"},"persistence_id":{"S":"pid"},"event":{"B":"AA=="},"ev_ser_id":{"N":"4"},"writer_uuid":{"S":"w"},`+
		`"time":{"N":"1795479186000001"},"tags":{"SS":["b","a"]},"meta":{"M":{"k":{"S":"v"}}}}`))
	f.Fuzz(func(t *testing.T, pid string, p int64, data []byte) {
		item, ok := parsed(data)
		if !ok || p < 0 || p > layout.MaxSequenceNumber/layout.PartitionSize {
			t.Skip("no item, or no partition")
		}
		slot, err := shared.DecodeSlot(pid, p, item)
		if err != nil {
			if !errors.As(err, new(*layout.ItemError)) {
				t.Fatalf("the error %v names no attribute", err)
			}
			return
		}
		if slot.SequenceNr/layout.PartitionSize != p || slot.SequenceNr < 0 || slot.SequenceNr > layout.MaxSequenceNumber {
			t.Fatalf("partition %d has the number %d", p, slot.SequenceNr)
		}
		e := slot.Event
		if e == nil {
			return
		}
		if e.PersistenceID != pid || e.SequenceNr != slot.SequenceNr {
			t.Fatalf("number %d of %q holds event %d of %q", slot.SequenceNr, pid, e.SequenceNr, e.PersistenceID)
		}
		if b := e.Batch; b.IsBatch() && (b.Start > e.SequenceNr || b.Last < e.SequenceNr || b.WriterUUID != e.WriterUUID) {
			t.Fatalf("event %d is of the atomic write %+v", e.SequenceNr, b)
		}
		again, err := shared.DecodeSlot(pid, p, shared.EncodeEvent(e))
		if err != nil || !sameSlot(again, slot) {
			t.Fatalf("%+v is encoded and read as %+v, %v", e, again.Event, err)
		}
	})
}

// sameSlot reports whether slots are equal. Nil bytes equal empty bytes.
func sameSlot(a, b layout.Slot) bool {
	x, y := *a.Event, *b.Event
	same := string(x.Bytes) == string(y.Bytes)
	x.Bytes, y.Bytes = nil, nil
	return same && reflect.DeepEqual(x, y)
}

// FuzzDecodeMarks decodes any item as a mark.
func FuzzDecodeMarks(f *testing.F) {
	seed(f, func(_ string, data []byte) { f.Add("pid", data) })
	f.Add("pid", []byte(`{"par":{"S":"journal-SL-pid-0"},"num":{"N":"0"},"seq":{"N":"5"},"removed":{"N":"5"},"cut_start":{"N":"3"},"cut_cnt":{"N":"3"},"cut_writer":{"S":"w"}}`))
	f.Add("pid", []byte(`{"par":{"S":"journal-SH-pid-3"},"num":{"N":"0"},"seq":{"N":"1300"},"expires":{"N":"17"}}`))
	f.Add("pid", []byte(`{"par":{"S":"journal-SL-pid-0"},"seq":{"N":"5"},"cut_start":{"N":"9223372036854775807"},"cut_cnt":{"N":"9223372036854775807"},"cut_writer":{"S":"w"}}`))
	f.Fuzz(func(t *testing.T, pid string, data []byte) {
		item, ok := parsed(data)
		if !ok {
			t.Skip("no item")
		}
		marks, err := shared.DecodeMarks(pid, []layout.Attributes{item})
		if err != nil {
			if !errors.As(err, new(*layout.ItemError)) {
				t.Fatalf("the error %v names no attribute", err)
			}
			return
		}
		if marks.High < 0 || marks.Low.Seq < 0 || marks.High > 0 && marks.Low.Seq > 0 {
			t.Fatalf("one item is both marks, or none: %+v", marks)
		}
		if cut := marks.Low.Cut; cut != (layout.Batch{}) && (cut.Start < 1 || cut.Last < cut.Start) {
			t.Fatalf("the cut is the atomic write %+v", cut)
		}
		if marks.Low.Seq == 0 || marks.Low.JVM {
			return
		}
		again, err := shared.DecodeMarks(pid, []layout.Attributes{shared.EncodeLowMark(pid, marks.Low, nil)})
		if err != nil || again.Low != marks.Low {
			t.Fatalf("%+v is encoded and read as %+v, %v", marks.Low, again.Low, err)
		}
	})
}

// FuzzSnapshotItem takes any number as the key of an item of the snapshot table. A number that
// SnapshotItem accepts must be encoded to the same number.
func FuzzSnapshotItem(f *testing.F) {
	for _, n := range []string{"", "-", "7", "-7", "1.5", "9223372036854775807", "9223372036854775808", "10000000000000000007", "19223372036854775808",
		"1-000000000000000007", "20000000000000000007", "-1000000000000000000700000000004200001", "-1+00000000000000000700000000004200001"} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, number string) {
		form, seq := layout.SnapshotItem(layout.Attributes{layout.AttrSnapshotSeq: &types.AttributeValueMemberN{Value: number}})
		switch form {
		case layout.SplitHeadItem:
			if again := layout.SplitHeadNumber(seq); again != number {
				t.Fatalf("%q is the head of %d, whose key is %q", number, seq, again)
			}
		case layout.SplitPartItem:
			const digits = len("-1") + 19
			if again := layout.SplitPartNumber(seq, 0, 0); len(again) != len(number) || again[:digits] != number[:digits] {
				t.Fatalf("%q is a part of %d, whose first key is %q", number, seq, again)
			}
		case layout.WholeSnapshotItem:
		}
	})
}
