package legacy_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/legacy"
)

func binary(s string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(s)} }

// eventKey returns the key of an event in a layout.
func eventKey(l legacy.Layout, pid string, seq int64) attributes {
	switch l {
	case legacy.HashKey:
		return attributes{"key": text(fmt.Sprintf("journal-P-%s-%d", pid, seq))}
	case legacy.HashKeyUnprefixed:
		return attributes{"key": text(fmt.Sprintf("P-%s-%d", pid, seq))}
	case legacy.Naive:
		return attributes{"persistenceId": text(pid), "sequenceNr": number(seq)}
	}
	return attributes{"processorId": text(pid), "sequenceNr": number(seq)}
}

// with adds attributes to an item.
func with(item, more attributes) attributes {
	maps.Copy(item, more)
	return item
}

// TestEvents_CorruptEvent damages one event after the other.
func TestEvents_CorruptEvent(t *testing.T) {
	t.Parallel()
	for _, layout := range legacy.Layouts() {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, layout)
			j := b.open()
			b.write(b.recovered(j, "a"), 7)
			of := func(seq int64) types.AttributeValue { return b.items()[keyOf(eventKey(layout, "a", seq))]["payload"] }
			damaged := map[int64]struct {
				item      attributes
				attribute string
				raw       bool
			}{
				2: {attributes{"payload": binary("\xff\xff no message")}, "payload", true},
				3: {attributes{"payload": text("no bytes")}, "payload", false},
				4: {attributes{"payload": of(1)}, "payload", true},
				5: {attributes{"payload": of(5), "deleted": number(1)}, "deleted", true},
				6: {attributes{"payload": of(6), "confirmations": text("c")}, "confirmations", true},
				7: {attributes{"payload": binary("")}, "payload", true},
			}
			for seq, d := range damaged {
				b.put(with(eventKey(layout, "a", seq), d.item))
			}
			var named []int64
			describe := func(err *legacy.ItemError) error {
				d := damaged[err.SequenceNumber]
				if err.Table != dynajournal.DefaultJournalTable || !strings.Contains(err.Key, "a") ||
					err.Attribute != d.attribute || (err.Raw != nil) != d.raw ||
					!errors.Is(err, dynajournal.ErrCorruptItem) {
					t.Errorf("the error is %+v, want one of attribute %q", err, d.attribute)
				}
				named = append(named, err.SequenceNumber)
				return nil
			}
			if got := numbers(b.events(j.ReadableEvents(t.Context(), "a", dynajournal.Range{}, describe))); !slices.Equal(got, []int64{1}) || !slices.Equal(named, span(2, 7)) {
				t.Errorf("read %v, reported %v; want 1, and 2 to 7", got, named)
			}
			for _, err := range j.Events(t.Context(), "a", dynajournal.Range{From: 2}) {
				if item, ok := errors.AsType[*legacy.ItemError](err); !ok || item.SequenceNumber != 2 ||
					item.Table == "" {
					t.Errorf("reading without a function for corrupt items ends with %v, want the error of event 2", err)
				}
			}
			_, err := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, func(legacy.Event) error { return nil })
			if !errors.Is(err, dynajournal.ErrCorruptItem) {
				t.Errorf("Recover: %v, want a corrupt item", err)
			}
			stop := errors.New("enough")
			failing := func(*legacy.ItemError) error { return stop }
			for _, err := range j.ReadableEvents(t.Context(), "a", dynajournal.Range{From: 2}, failing) {
				if !errors.Is(err, stop) {
					t.Errorf("reading ends with %v, want the error of corrupt", err)
				}
			}
		})
	}
}

// TestMarks_CorruptMark damages high marks.
func TestMarks_CorruptMark(t *testing.T) {
	t.Parallel()
	b := newFixture(t, legacy.HashKey)
	j := b.open()
	for name, mark := range map[string]attributes{
		"without a number": {}, "of text": {"sequenceNr": text("5")}, "negative": {"sequenceNr": number(-5)},
		"with a fraction": {"sequenceNr": &types.AttributeValueMemberN{Value: "1.5"}}, "too large": {"sequenceNr": &types.AttributeValueMemberN{Value: "1e30"}},
	} {
		b.put(with(attributes{"key": text("journal-SH-" + name + "-5")}, mark))
		_, err := j.Bounds(t.Context(), name)
		if item, ok := errors.AsType[*legacy.ItemError](err); !ok || item.Attribute != "sequenceNr" ||
			item.Key != "journal-SH-"+name+"-5" || item.Table == "" {
			t.Errorf("the highest number with a mark %s: %v", name, err)
		}
	}
}

// TestEvents_ItemsWithoutPayload stores the items that result from marking numbers without
// events.
func TestEvents_ItemsWithoutPayload(t *testing.T) {
	t.Parallel()
	b := newFixture(t, legacy.HashKey)
	j := b.open()
	w := b.recovered(j, "a")
	b.write(w, 5)
	for _, seq := range []int64{0, 2, 6} { // 6 is beyond the high mark
		b.put(with(eventKey(legacy.HashKey, "a", seq), attributes{"deleted": text("true")}))
	}
	if got := numbers(b.read(j, "a", dynajournal.Range{})); !slices.Equal(got, []int64{1, 3, 4, 5}) {
		t.Errorf("read %v, want 1, 3, 4, 5", got)
	}
	l, err := j.List(t.Context(), "a")
	if err != nil || !slices.Equal(l.WithoutPayload, []int64{0, 2, 6}) ||
		!slices.Equal(l.SequenceNumbers, []int64{1, 3, 4, 5}) {
		t.Errorf("List gives %+v, %v", l, err)
	}
	if _, err := w.Confirm(t.Context(), 2, "c"); !errors.Is(err, legacy.ErrNoEvent) {
		t.Errorf("Confirm of a number without an event: %v", err)
	}
	again := b.recovered(j, "a")
	if n, err := again.NextSequenceNumber(t.Context()); err != nil || n != 7 {
		t.Errorf("the next number is %d, %v; want 7, because there is an item at 6", n, err)
	}
	b.write(again, 1)
	b.deleteTo(again, 4, legacy.Mark)
	if l, err = j.List(t.Context(), "a"); err != nil || !slices.Equal(l.WithoutPayload, []int64{0, 2, 6}) ||
		!slices.Equal(l.Deleted, []int64{1, 3, 4}) {
		t.Errorf("after marking, List gives %+v, %v", l, err)
	}
}
