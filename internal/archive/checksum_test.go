package archive

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/dynajournal/dynajournal/internal/history"
)

// sumOf returns the checksum of records.
func sumOf(finalLow int64, records ...history.Record) Checksum {
	d := NewDigest("a", finalLow)
	for i := range records {
		d.Record(&records[i])
	}
	return d.Sum()
}

// The test fails for a field of a record or a snapshot that is not in the checksum.
func TestDigest_EveryField(t *testing.T) {
	t.Parallel()
	event := history.Record{Kind: history.Event, SequenceNumber: 7}
	closed := history.Record{Kind: history.Closed, SequenceNumber: 7, Last: 9}
	seen := map[Checksum]string{sumOf(0): "nothing", sumOf(0, event): "an event", sumOf(0, closed): "closed numbers"}
	add := func(what string, sum Checksum) {
		if other, ok := seen[sum]; ok {
			t.Errorf("%s has the checksum of %s", what, other)
		}
		seen[sum] = what
	}
	changed := func(value any, name string) {
		field := reflect.ValueOf(value).Elem().FieldByName(name)
		switch field.Kind() {
		case reflect.String:
			field.SetString("x")
		case reflect.Slice:
			if name == "Tags" {
				field.Set(reflect.ValueOf([]string{"x"}))
				return
			}
			field.SetBytes([]byte("x"))
		case reflect.Map:
			field.Set(reflect.ValueOf(map[string]string{"x": ""}))
		default:
			field.SetInt(99)
		}
	}
	for field := range reflect.TypeFor[history.Record]().Fields() {
		// Behind and Purged are fields of low marks. The checksum has only the number of a low
		// mark.
		if field.Name == "Kind" || field.Name == "Last" || field.Name == "Behind" || field.Name == "Purged" {
			continue
		}
		r := event
		changed(&r, field.Name)
		add("an event with another "+field.Name, sumOf(0, r))
	}
	add("another end", sumOf(0, history.Record{Kind: history.Closed, SequenceNumber: 7, Last: 10}))
	add("another beginning", sumOf(0, history.Record{Kind: history.Closed, SequenceNumber: 6, Last: 9}))
	add("a low mark", sumOf(0, history.Record{Kind: history.LowMark, SequenceNumber: 7}))
	snapshot := func(s Snapshot) Checksum {
		d := NewDigest("a", 0)
		d.Snapshot(&s)
		return d.Sum()
	}
	add("a snapshot", snapshot(Snapshot{}))
	for field := range reflect.TypeFor[Snapshot]().Fields() {
		s := Snapshot{}
		changed(&s, field.Name)
		add("a snapshot with another "+field.Name, snapshot(s))
	}
	add("another id", NewDigest("b", 0).Sum())
	add("text on the other side of a border", sumOf(0, history.Record{Kind: history.Event, SequenceNumber: 7, WriterUUID: "xy"}))
	add("text on this side of it", sumOf(0, history.Record{Kind: history.Event, SequenceNumber: 7, WriterUUID: "x", Manifest: "y"}))
}

func TestDigest_WhatReadersSee(t *testing.T) {
	t.Parallel()
	event := func(seq int64) history.Record {
		return history.Record{Kind: history.Event, SequenceNumber: seq, Bytes: fmt.Append(nil, seq)}
	}
	span := func(kind history.Kind, first, last int64) history.Record {
		return history.Record{Kind: kind, SequenceNumber: first, Last: last}
	}
	low := func(seq int64) history.Record { return history.Record{Kind: history.LowMark, SequenceNumber: seq} }
	want := sumOf(0, low(4), event(4), span(history.Closed, 5, 9), event(10))
	for what, got := range map[string]Checksum{
		"closed numbers in two spans": sumOf(0, low(4), event(4), span(history.Closed, 5, 7), span(history.Closed, 8, 9), event(10)),
		"deleted numbers":             sumOf(0, low(4), span(history.Deleted, 1, 3), event(4), span(history.Closed, 5, 9), event(10)),
		"a low mark that has moved":   sumOf(4, low(2), span(history.Closed, 2, 2), event(3), event(4), span(history.Closed, 5, 9), low(4), event(10)),
		"what is below its last one":  sumOf(4, low(4), event(4), span(history.Closed, 5, 9), event(10)),
	} {
		if got != want {
			t.Errorf("with %s: %v, want %v", what, got, want)
		}
	}
	if sumOf(0, low(2), event(2), event(3), event(4)) == sumOf(0, low(4), event(4)) {
		t.Error("a deletion does not count")
	}
}

// The order of persistence ids does not matter, and equal ones do not cancel each other.
func TestChecksum_Add(t *testing.T) {
	t.Parallel()
	var all, reversed, none Checksum
	pids := []string{"a", "b", "c", "a"}
	for _, pid := range pids {
		all.Add(NewDigest(pid, 0).Sum())
	}
	slices.Reverse(pids)
	for _, pid := range pids {
		reversed.Add(NewDigest(pid, 0).Sum())
	}
	if all != reversed {
		t.Errorf("%v, in another order %v", all, reversed)
	}
	most := Checksum(bytes.Repeat([]byte{0xff}, len(Checksum{})))
	if most.Add(Checksum{len(most) - 1: 1}); most != none {
		t.Errorf("2^256 is %v", most)
	}
}

func TestCheck_WholeArchive(t *testing.T) {
	t.Parallel()
	items := sample(100)
	file := archived(t, items)
	want := Contents{finalLow: map[idHash]int64{}}
	sums := map[string]Checksum{}
	d := (*Digest)(nil)
	for i := range items {
		switch item := &items[i]; {
		case item.End:
			sums[item.PersistenceID] = d.Sum()
			want.Checksum.Add(d.Sum())
			want.PersistenceIDs++
			want.Events += d.Events()
			want.Snapshots += d.Snapshots()
		case item.Record == nil && item.Snapshot == nil:
			d = NewDigest(item.PersistenceID, 0)
		default:
			d.Take(item)
		}
	}
	got, err := Check(bytes.NewReader(file), 1000, func(pid string, sum Checksum) error {
		if sum != sums[pid] {
			t.Errorf("%q has the checksum %v, want %v", pid, sum, sums[pid])
		}
		delete(sums, pid)
		return nil
	})
	if err != nil || !reflect.DeepEqual(got, want) || len(sums) > 0 {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := Check(bytes.NewReader(file[:len(file)-1]), 1000, nil); !errors.Is(err, ErrTruncated) {
		t.Errorf("cut short: %v", err)
	}
}

// A deletion while an id is exported moves its low mark. The checksum of the archive is the
// checksum of a journal into which it is imported.
func TestCheck_LowMarkMovedDuringExport(t *testing.T) {
	t.Parallel()
	var items []Item
	add := func(records ...history.Record) {
		items = append(items, Item{PersistenceID: "a"})
		for i := range records {
			items = append(items, Item{PersistenceID: "a", Record: &records[i]})
		}
		items = append(items, Item{PersistenceID: "a", End: true})
	}
	event := func(seq int64) history.Record { return history.Record{Kind: history.Event, SequenceNumber: seq} }
	add(event(1), event(2), history.Record{Kind: history.LowMark, SequenceNumber: 2}, event(3))
	got, err := Check(bytes.NewReader(archived(t, items)), 0, nil)
	want := sumOf(0, history.Record{Kind: history.LowMark, SequenceNumber: 2}, event(2), event(3))
	if err != nil || got.Checksum != want {
		t.Errorf("%v, %v, want %v", got.Checksum, err, want)
	}
	if d := got.Digest("a"); d.final != 2 {
		t.Errorf("the low mark is %d", d.final)
	}
}
