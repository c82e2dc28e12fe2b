package embedded

import (
	"testing"

	"github.com/dynajournal/dynajournal/embedded/internal/attribute"
)

// FuzzDecodeRecord decodes any bytes as a stored record. A record that can be decoded must be the
// same after it is encoded and decoded again.
func FuzzDecodeRecord(f *testing.F) {
	item := attribute.Item{"pk": {Kind: attribute.S, Text: "a"}, "n": {Kind: attribute.N, Text: "1"}}
	for _, r := range []streamRecord{
		{event: eventInsert, at: 1, keys: item, new: item, size: 7},
		{event: eventRemove, at: 1 << 40, keys: item, old: item, expired: true},
		{event: eventModify, keys: item, old: item, new: item},
	} {
		f.Add(r.append(nil))
	}
	f.Add([]byte{0xff, 0x80})
	f.Fuzz(func(t *testing.T, stored []byte) {
		r, err := decodeRecord(stored)
		if err != nil {
			return
		}
		again, err := decodeRecord(r.append(nil))
		same := again.event == r.event && again.expired == r.expired && again.at == r.at && again.size == r.size &&
			(again.old == nil) == (r.old == nil) && (again.new == nil) == (r.new == nil) &&
			attribute.EqualItems(again.keys, r.keys) && attribute.EqualItems(again.old, r.old) &&
			attribute.EqualItems(again.new, r.new)
		if err != nil || !same {
			t.Errorf("%x is decoded as %+v, and its stored form as %+v: %v", stored, r, again, err)
		}
	})
}

// FuzzParseIterator parses any text as a shard iterator. The text of a parsed iterator must parse
// to the same iterator.
func FuzzParseIterator(f *testing.F) {
	f.Add(shardIterator{arn: streamARN("orders", "2026-01-01T00:00:00.000"), shard: 1, from: 2, madeAt: 3}.text())
	f.Add("arn:aws:dynamodb:us-east-1:000000000000:table/a/stream/b|1|")
	f.Add("||")
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := parseIterator(text)
		if err != nil {
			return
		}
		if again, err := parseIterator(parsed.text()); err != nil || again != parsed {
			t.Errorf("%q is parsed as %+v, whose text is parsed as %+v: %v", text, parsed, again, err)
		}
	})
}

func TestSequenceNumbersHaveOneOrder(t *testing.T) {
	previous := ""
	for _, number := range []uint64{1, 9, 10, 99, 1 << 40, 1<<64 - 1} {
		text := sequenceText(number)
		if parsed, ok := parseSequence(text); !ok || parsed != number || len(text) != sequenceDigits || text <= previous {
			t.Errorf("%d is %s, parsed %d, after %s", number, text, parsed, previous)
		}
		previous = text
	}
}

func TestHashRangesAreDividedWithoutAGap(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 2, 3, 7, 64} {
		ranges := wholeRange.divide(n)
		if len(ranges) != max(n, 1) || ranges[0].From != 0 || ranges[len(ranges)-1].To != wholeRange.To {
			t.Errorf("%d: %v", n, ranges)
		}
		for i := 1; i < len(ranges); i++ {
			if ranges[i].From != ranges[i-1].To+1 {
				t.Errorf("%d: %v", n, ranges)
			}
		}
	}
	if got := (hashRange{5, 5}).divide(2); len(got) != 1 || got[0] != (hashRange{5, 5}) {
		t.Errorf("one hash is divided into %v", got)
	}
}
