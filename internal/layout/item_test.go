package layout_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/layout"
)

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
func binary(b string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(b)} }

var shared = layout.Keys{Journal: "journal", Shards: 10}

// event returns event 105 of "pid", with some attributes changed.
func event(change layout.Attributes) layout.Attributes {
	item := layout.Attributes{
		"par": text("journal-P-pid-1"), "num": number("5"), "persistence_id": text("pid"), "seq": number("105"),
		"event": binary("bytes"), "writer_uuid": text("writer"), "ev_ser_id": number("20"),
	}
	for name, v := range change {
		item[name] = v
		if v == nil {
			delete(item, name)
		}
	}
	return item
}

func TestDecodeSlot(t *testing.T) {
	t.Parallel()
	single := layout.Event{PersistenceID: "pid", SequenceNr: 105, Bytes: []byte("bytes"), SerializerID: 20, WriterUUID: "writer"}
	manifests, batch, one := single, single, single
	manifests.SerializerManifest, manifests.Manifest = "class", "adapter"
	batch.Batch = layout.Batch{Start: 98, Last: 130, WriterUUID: "writer"}
	one.Batch = layout.Batch{Start: 105, Last: 105, WriterUUID: "writer"}
	metadata := single
	metadata.Metadata = layout.Metadata{
		Time: 1_795_479_186_000_001, Values: map[string]string{"tenant": "x", "trace": ""}, Tags: []string{"a", "b"},
	}
	key := layout.Attributes{"par": text("journal-P-pid-1"), "num": number("5"), "idx": number("1000000000"), "cnt": number("1000000000")}
	expiring := layout.Attributes{"par": key["par"], "num": key["num"], "idx": key["idx"], "cnt": key["cnt"], "expires": number("1700000000")}
	for name, c := range map[string]struct {
		item layout.Attributes
		want layout.Slot
	}{
		"a single event":              {event(nil), layout.Slot{SequenceNr: 105, Event: &single}},
		"an event with manifests":     {event(layout.Attributes{"ev_ser_manifest": text("class"), "manifest": text("adapter")}), layout.Slot{SequenceNr: 105, Event: &manifests}},
		"a member of an atomic write": {event(layout.Attributes{"idx": number("7"), "cnt": number("32")}), layout.Slot{SequenceNr: 105, Event: &batch}},
		"an atomic write of one":      {event(layout.Attributes{"idx": number("0"), "cnt": number("0")}), layout.Slot{SequenceNr: 105, Event: &one}},
		"an event with metadata": {event(layout.Attributes{
			"time": number("1795479186000001"), "tags": textSet("b", "a"), "meta": textMap("tenant", "x", "trace", ""),
		}), layout.Slot{SequenceNr: 105, Event: &metadata}},
		"attributes of others are ignored": {event(layout.Attributes{
			"ttl": number("1"), "tags": text("x"), "meta": &types.AttributeValueMemberM{Value: layout.Attributes{"a": number("1")}}, "time": number("-1"),
		}), layout.Slot{SequenceNr: 105, Event: &single}},
		"empty metadata": {event(layout.Attributes{"tags": textSet(), "meta": textMap(), "time": number("1e3")}), layout.Slot{SequenceNr: 105, Event: &single}},
		"a seal":         {key, layout.Slot{SequenceNr: 105}},
		"a tombstone":    {expiring, layout.Slot{SequenceNr: 105, Expires: 1_700_000_000}},
	} {
		got, err := shared.DecodeSlot("pid", 1, c.item)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v of %+v, %v; want %+v of %+v", name, got, got.Event, err, c.want, c.want.Event)
		}
		if got.Seal() != (name == "a seal") {
			t.Errorf("%s: Seal() = %v", name, got.Seal())
		}
	}
}

func TestDecodeSlot_Unreadable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		attribute string
		item      layout.Attributes
		want      error
	}{
		{"num", event(layout.Attributes{"num": nil}), layout.ErrMissing},
		{"num", event(layout.Attributes{"num": text("5")}), layout.ErrWrongType},
		{"num", event(layout.Attributes{"num": number("100")}), layout.ErrRange},
		{"num", event(layout.Attributes{"num": number("-1")}), layout.ErrRange},
		{"event", event(layout.Attributes{"event": text("bytes")}), layout.ErrWrongType},
		{"persistence_id", event(layout.Attributes{"persistence_id": nil}), layout.ErrMissing},
		{"persistence_id", event(layout.Attributes{"persistence_id": text("other")}), layout.ErrMismatch},
		{"writer_uuid", event(layout.Attributes{"writer_uuid": number("1")}), layout.ErrWrongType},
		{"ev_ser_id", event(layout.Attributes{"ev_ser_id": nil}), layout.ErrMissing},
		{"ev_ser_id", event(layout.Attributes{"ev_ser_id": number("2147483648")}), layout.ErrRange},
		{"ev_ser_id", event(layout.Attributes{"ev_ser_id": number("1E2")}), layout.ErrRange},
		{"seq", event(layout.Attributes{"seq": number("5")}), layout.ErrMismatch},
		{"cnt", event(layout.Attributes{"idx": number("0")}), layout.ErrMissing},
		{"idx", event(layout.Attributes{"cnt": number("0")}), layout.ErrMissing},
		{"idx", event(layout.Attributes{"idx": number("-1"), "cnt": number("3")}), layout.ErrRange},
		{"idx", event(layout.Attributes{"idx": number("105"), "cnt": number("105")}), layout.ErrRange},
		{"cnt", event(layout.Attributes{"idx": number("3"), "cnt": number("2")}), layout.ErrRange},
		{"cnt", event(layout.Attributes{"idx": number("3"), "cnt": number("9223372036854775807")}), layout.ErrRange},
		{"pay", event(layout.Attributes{"event": nil, "pay": binary("\xff\xff")}), nil},
		{"pay", event(layout.Attributes{"event": nil, "pay": text("x")}), layout.ErrWrongType},
		{"expires", event(layout.Attributes{"event": nil, "expires": text("soon")}), layout.ErrWrongType},
	} {
		_, err := shared.DecodeSlot("pid", 1, c.item)
		item := new(layout.ItemError)
		if !errors.As(err, &item) || item.Attribute != c.attribute || item.Key.Par != "journal-P-pid-1" || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%v: error %v, want attribute %q: %v", c.item, err, c.attribute, c.want)
		}
	}
}

func TestDecodeSlot_LastSequenceNumber(t *testing.T) {
	t.Parallel()
	const last = int64(layout.MaxSequenceNumber)
	if key, want := shared.Event("pid", last), (layout.Key{Par: "journal-P-pid-92233720368547758", Num: 6}); key != want {
		t.Errorf("the key of the last sequence number is %v, want %v", key, want)
	}
	e := &layout.Event{PersistenceID: "pid", SequenceNr: last, WriterUUID: "w", Batch: layout.Batch{Start: last - 5, Last: last, WriterUUID: "w"}}
	slot, err := shared.DecodeSlot("pid", last/layout.PartitionSize, shared.EncodeEvent(e))
	if err != nil || slot.SequenceNr != last || slot.Event.Batch != e.Batch {
		t.Errorf("the last event is read as %+v of %+v, %v", slot, slot.Event, err)
	}
	item := shared.EncodeSeal("pid", last)
	item["num"] = number("8")
	if _, err := shared.DecodeSlot("pid", last/layout.PartitionSize, item); !errors.Is(err, layout.ErrRange) {
		t.Errorf("an item beyond the largest number: error %v, want %v", err, layout.ErrRange)
	}
}

func TestEncodeSeal_AndTombstone(t *testing.T) {
	t.Parallel()
	seal := layout.Attributes{"par": text("journal-P-pid-2"), "num": number("0"), "idx": number("1000000000"), "cnt": number("1000000000")}
	if got := shared.EncodeSeal("pid", 200); !reflect.DeepEqual(got, seal) {
		t.Errorf("a seal is %v, want %v", got, seal)
	}
	seal["expires"] = number("1700000000")
	if got := shared.EncodeTombstone("pid", 200, 1_700_000_000); !reflect.DeepEqual(got, seal) {
		t.Errorf("a tombstone is %v, want %v", got, seal)
	}
}

func TestSameEvent(t *testing.T) {
	t.Parallel()
	own := func() *layout.Event {
		return &layout.Event{
			PersistenceID: "pid", SequenceNr: 7, Bytes: []byte("bytes"), SerializerID: 20, WriterUUID: "w",
			SerializerManifest: "s", Manifest: "m", Batch: layout.Batch{Start: 6, Last: 9, WriterUUID: "w"},
			Metadata: layout.Metadata{Time: 5, Values: map[string]string{"k": "v"}, Tags: []string{"t"}},
		}
	}
	if !layout.SameEvent(layout.Slot{SequenceNr: 7, Event: own()}, own()) {
		t.Error("an event is not the same as itself")
	}
	if layout.SameEvent(layout.Slot{SequenceNr: 7}, own()) {
		t.Error("a seal is the same as an event")
	}
	for name, change := range map[string]func(*layout.Event){
		"another writer": func(e *layout.Event) { e.WriterUUID = "x" },
		"other bytes":    func(e *layout.Event) { e.Bytes = []byte("other") },
		"another start":  func(e *layout.Event) { e.Batch.Start = 7 },
		"another size":   func(e *layout.Event) { e.Batch.Last = 8 },
		"a single":       func(e *layout.Event) { e.Batch = layout.Batch{} },

		"another serializer":             func(e *layout.Event) { e.SerializerID = 21 },
		"another manifest":               func(e *layout.Event) { e.SerializerManifest = "other" },
		"another manifest of an adapter": func(e *layout.Event) { e.Manifest = "other" },
		"another time":                   func(e *layout.Event) { e.Metadata.Time = 6 },
		"other metadata":                 func(e *layout.Event) { e.Metadata.Values["k"] = "w" },
		"other tags":                     func(e *layout.Event) { e.Metadata.Tags = []string{"t", "u"} },
	} {
		stored := own()
		change(stored)
		if layout.SameEvent(layout.Slot{SequenceNr: 7, Event: stored}, own()) {
			t.Errorf("%s is taken for the same event", name)
		}
	}
}

// TestSize counts as DynamoDB does: names and values. A number takes a byte for each two
// significant digits, and one more.
func TestSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[string]int{"0": 2, "7": 2, "42": 2, "100": 2, "101": 3, "1234": 3, "12345": 4, "1000000000": 2, "-5": 3, "9223372036854775806": 11} {
		if got := layout.Size(layout.Attributes{"n": number(n)}); got != want+1 {
			t.Errorf("the number %s takes %d bytes, want %d", n, got-1, want)
		}
	}
	for name, c := range map[string]struct {
		item layout.Attributes
		want int
	}{
		"nothing":              {nil, 0},
		"UTF-8, not letters":   {layout.Attributes{"é": text("漢字")}, 2 + 6},
		"bytes, not base64":    {layout.Attributes{"b": binary("12345")}, 1 + 5},
		"an empty value":       {layout.Attributes{"b": binary("")}, 1},
		"an event of 5 bytes":  {event(nil), 3 + 15 + 3 + 2 + 14 + 3 + 3 + 3 + 5 + 5 + 11 + 6 + 9 + 2},
		"a set of strings":     {layout.Attributes{"s": textSet("ab", "c")}, 1 + 3},
		"a map of strings":     {layout.Attributes{"m": textMap("k", "vv", "l", "")}, 1 + 3 + (1 + 1 + 2) + (1 + 1)},
		"an empty map":         {layout.Attributes{"m": textMap()}, 1 + 3},
		"several are added up": {layout.Attributes{"a": text("x"), "bb": number("7")}, 2 + 4},
	} {
		if got := layout.Size(c.item); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}

func textSet(members ...string) types.AttributeValue {
	return &types.AttributeValueMemberSS{Value: members}
}

func textMap(pairs ...string) types.AttributeValue {
	m := layout.Attributes{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = text(pairs[i+1])
	}
	return &types.AttributeValueMemberM{Value: m}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	for _, h := range []layout.Header{
		{Kind: layout.KindNative, Shards: 1, IDsShards: 8, Version: layout.NativeVersion, FenceWindow: layout.DefaultFenceWindow},
		{Kind: layout.KindNative, Shards: 3, IDsShards: 8, Version: 1, FenceWindow: layout.DefaultFenceWindow},
		{Kind: layout.KindShared, Shards: 10, Version: layout.SharedVersion, FenceWindow: layout.MinFenceWindow},
	} {
		if got, err := shared.DecodeHeader(shared.EncodeHeader(h)); err != nil || got != h {
			t.Errorf("%+v is read as %+v, %v", h, got, err)
		}
	}
	item := layout.Attributes{"par": text("journal-META"), "num": number("0"), "version": number("3"), "kind": number("7")}
	if got, err := shared.DecodeHeader(item); err != nil || got.Version != 3 {
		t.Errorf("of a header of an unknown version only the version is read: %+v, %v", got, err)
	}
	for name, change := range map[string]layout.Attributes{
		"no version":              {"version": nil},
		"no kind":                 {"kind": nil},
		"an unknown kind":         {"kind": text("strange")},
		"no shards":               {"shards": nil},
		"0 shards":                {"shards": number("0")},
		"several shards":          {"shards": number("2")},
		"too many shards":         {"shards": number(fmt.Sprint(layout.MaxShards + 1))},
		"native without an index": {"ids_shards": number("0")},
		"a short fence window":    {"fence_window": number("3599")},
		"an endless fence window": {"fence_window": number("999999999999")},
	} {
		item := shared.EncodeHeader(layout.Header{Kind: layout.KindNative, Shards: 1, IDsShards: 8, Version: layout.NativeVersion})
		for attribute, v := range change {
			item[attribute] = v
			if v == nil {
				delete(item, attribute)
			}
		}
		if _, err := shared.DecodeHeader(item); !errors.As(err, new(*layout.ItemError)) {
			t.Errorf("%s: error %v, want one that names the attribute", name, err)
		}
	}
}
