package layout_test

import (
	"errors"
	"maps"
	"reflect"
	"testing"

	"github.com/dynajournal/dynajournal/internal/layout"
)

func TestEncodeMarks(t *testing.T) {
	t.Parallel()
	cut := layout.Batch{Start: 3, Last: 6, WriterUUID: "w"}
	for name, c := range map[string]struct{ got, want layout.Attributes }{
		"a high mark": {
			shared.EncodeHighMark("pid", 1300),
			layout.Attributes{"par": text("journal-SH-pid-3"), "num": number("0"), "seq": number("1300")},
		},
		"a low mark": {
			shared.EncodeLowMark("pid", layout.LowMark{Seq: 205, Removed: 101}, nil),
			layout.Attributes{"par": text("journal-SL-pid-2"), "num": number("0"), "seq": number("205"), "removed": number("101")},
		},
		"a low mark with a cut": {
			shared.EncodeLowMark("pid", layout.LowMark{Seq: 5, Removed: 5, Cut: cut}, nil),
			layout.Attributes{
				"par": text("journal-SL-pid-0"), "num": number("0"), "seq": number("5"), "removed": number("5"),
				"cut_start": number("3"), "cut_cnt": number("3"), "cut_writer": text("w"),
			},
		},
		"a low mark of a purge": {
			shared.EncodeLowMark("pid", layout.LowMark{Seq: 5, Removed: 1, Purged: 4}, nil),
			layout.Attributes{
				"par": text("journal-SL-pid-0"), "num": number("0"), "seq": number("5"), "removed": number("1"), "purged": number("4"),
			},
		},
		"a low mark that lists its id": {
			shared.EncodeLowMark("pid", layout.LowMark{Seq: 5, Removed: 1}, shared.IDsAttributesOf(2, "journal\x00pid")),
			layout.Attributes{
				"par": text("journal-SL-pid-0"), "num": number("0"), "seq": number("5"), "removed": number("1"),
				"ids_shard": number("2"), "ids_key": text("journal\x00pid"),
			},
		},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s is %v, want %v", name, c.got, c.want)
		}
	}
}

func TestDecodeMarks(t *testing.T) {
	t.Parallel()
	low := func(l layout.LowMark) layout.Attributes { return shared.EncodeLowMark("pid", l, nil) }
	jvmAt := func(seq string) layout.Attributes {
		return layout.Attributes{"par": text("journal-SL-pid-1"), "num": number("0"), "seq": number(seq)}
	}
	jvm := jvmAt("151")
	expiring := func(mark layout.Attributes) layout.Attributes {
		mark["expires"] = number("17")
		return mark
	}
	ahead := layout.LowMark{Seq: 150, Ahead: 50, Removed: 120, Cut: layout.Batch{Start: 140, Last: 160, WriterUUID: "c"}}
	older := layout.LowMark{Seq: 51, Removed: 51, Cut: layout.Batch{Start: 40, Last: 60, WriterUUID: "a"}}
	newer := layout.LowMark{Seq: 205, Removed: 101, Cut: layout.Batch{Start: 200, Last: 207, WriterUUID: "b"}}
	for name, c := range map[string]struct {
		items []layout.Attributes
		want  layout.Marks
	}{
		"none": {nil, layout.Marks{}},
		"the highest of all shards": {
			[]layout.Attributes{shared.EncodeHighMark("pid", 900), shared.EncodeHighMark("pid", 1000), shared.EncodeHighMark("pid", 100)},
			layout.Marks{High: 1000, HighMarks: []int64{100, 900, 1000}},
		},
		"the cut of the highest": {
			[]layout.Attributes{low(newer), low(older)}, layout.Marks{Low: newer, JVMLow: 205, LowMarks: []int64{51, 205}},
		},
		"a JVM's above ours": {
			[]layout.Attributes{low(older), jvm}, layout.Marks{Low: layout.LowMark{Seq: 151, Removed: 151, JVM: true}, JVMLow: 151, LowMarks: []int64{51, 151}},
		},
		"a JVM's below ours": {
			[]layout.Attributes{jvm, low(newer)}, layout.Marks{Low: newer, JVMLow: 205, LowMarks: []int64{151, 205}},
		},
		"one that a JVM reads as less": {
			[]layout.Attributes{low(ahead)}, layout.Marks{Low: ahead, JVMLow: 100, LowMarks: []int64{100}},
		},
		"a JVM's above what it read of ours": {
			[]layout.Attributes{low(ahead), jvmAt("120")}, layout.Marks{Low: ahead, JVMLow: 120, LowMarks: []int64{100, 120}},
		},
		"a JVM's as high as ours": {
			[]layout.Attributes{jvmAt("150"), low(ahead)}, layout.Marks{Low: ahead, JVMLow: 150, LowMarks: []int64{100, 150}},
		},
		"one of the first numbers, of which a JVM reads nothing": {
			[]layout.Attributes{low(layout.LowMark{Seq: 7, Ahead: 7, Removed: 1})},
			layout.Marks{Low: layout.LowMark{Seq: 7, Ahead: 7, Removed: 1}, LowMarks: []int64{0}},
		},
		"of a purged id": {
			[]layout.Attributes{low(layout.LowMark{Seq: 9, Removed: 9, Purged: 6})},
			layout.Marks{Low: layout.LowMark{Seq: 9, Removed: 9, Purged: 6}, JVMLow: 9, LowMarks: []int64{9}},
		},
		"of an id that an earlier version has purged": {
			[]layout.Attributes{expiring(shared.EncodeHighMark("pid", 100)), expiring(low(layout.LowMark{Seq: 9, Removed: 9}))},
			layout.Marks{Low: layout.LowMark{Seq: 9, Removed: 9, Purged: 8}, JVMLow: 9, LowMarks: []int64{9}, Expiring: true},
		},
	} {
		got, err := shared.DecodeMarks("pid", c.items)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

func TestCutCompletes(t *testing.T) {
	t.Parallel()
	b, other := layout.Batch{Start: 3, Last: 6, WriterUUID: "a"}, layout.Batch{Start: 3, Last: 6, WriterUUID: "b"}
	for name, c := range map[string]struct {
		low  layout.LowMark
		want bool
	}{
		"a deletion that cut it":            {layout.LowMark{Seq: 5, Cut: b}, true},
		"a deletion that cut another":       {layout.LowMark{Seq: 5, Cut: other}, false},
		"a deletion that cut nothing whole": {layout.LowMark{Seq: 5}, false},
		"a JVM's deletion":                  {layout.LowMark{Seq: 5, JVM: true}, true},
	} {
		if got := c.low.CutCompletes(b); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestDecodeMarks_Unreadable(t *testing.T) {
	t.Parallel()
	mark := func(kind string, attributes layout.Attributes) layout.Attributes {
		item := layout.Attributes{"par": text("journal-" + kind + "-pid-0"), "num": number("0")}
		maps.Copy(item, attributes)
		return item
	}
	for name, item := range map[string]layout.Attributes{
		"a high mark without a value":       mark("SH", nil),
		"a high mark of text":               mark("SH", layout.Attributes{"seq": text("100")}),
		"a high mark below zero":            mark("SH", layout.Attributes{"seq": number("-100")}),
		"a low mark with a fraction":        mark("SL", layout.Attributes{"seq": number("1.5")}),
		"a low mark over the largest":       mark("SL", layout.Attributes{"seq": number("9223372036854775808")}),
		"a removal of text":                 mark("SL", layout.Attributes{"seq": number("5"), "removed": text("5")}),
		"a cut without its size":            mark("SL", layout.Attributes{"seq": number("5"), "cut_start": number("3"), "cut_writer": text("w")}),
		"a cut without its writer":          mark("SL", layout.Attributes{"seq": number("5"), "cut_start": number("3"), "cut_cnt": number("3")}),
		"an item without a partition key":   {"num": number("0"), "seq": number("5")},
		"a mark that expires at some place": mark("SL", layout.Attributes{"seq": number("5"), "expires": text("here")}),
	} {
		if _, err := shared.DecodeMarks("pid", []layout.Attributes{item}); !errors.As(err, new(*layout.ItemError)) {
			t.Errorf("%s: error %v, want one that names the attribute", name, err)
		}
	}
}
