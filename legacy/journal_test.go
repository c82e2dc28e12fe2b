package legacy_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/embedded"
	"github.com/dynajournal/dynajournal/legacy"
	"github.com/dynajournal/dynajournal/serialization"
)

func TestParseLayout_CommandNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"hash-key", "hash-key-unprefixed", "naive", "naive-processor"} {
		l, err := legacy.ParseLayout(name)
		if err != nil || l.String() != name || !slices.Contains(legacy.Layouts(), l) {
			t.Errorf("ParseLayout(%q) = %v, %v", name, l, err)
		}
	}
	for _, name := range []string{"", "current", "Naive"} {
		if l, err := legacy.ParseLayout(name); !errors.Is(err, dynajournal.ErrInvalidArgument) || l != 0 {
			t.Errorf("ParseLayout(%q) = %v, %v; want an error", name, l, err)
		}
	}
	if got := legacy.Layout(0).String(); got != "layout 0" {
		t.Errorf("the zero layout is called %q", got)
	}
}

// TestOpen_TableOfAnotherLayout opens the table of each layout as a table of each other layout.
func TestOpen_TableOfAnotherLayout(t *testing.T) {
	t.Parallel()
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	config := func(l legacy.Layout, table string) legacy.Config {
		return legacy.Config{Layout: l, Journal: dynajournal.Config{AWS: engine.AWSConfig(), JournalTable: table}}
	}
	if err := dynajournal.CreateTables(t.Context(), config(0, "current").Journal,
		dynajournal.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, l := range legacy.Layouts() {
		if err := legacy.CreateTable(t.Context(), config(l, l.String())); err != nil {
			t.Fatal(err)
		}
		_, err := legacy.Open(t.Context(), config(l, "current"))
		if !errors.Is(err, dynajournal.ErrTableSchema) ||
			!strings.Contains(err.Error(), "it looks like --layout current") {
			t.Errorf("the current table opened as %s: %v", l, err)
		}
		if _, err := dynajournal.Open(t.Context(),
			config(0, l.String()).Journal); !errors.Is(err, dynajournal.ErrTableSchema) {
			t.Errorf("the table of %s opened as the current layout: %v", l, err)
		}
		if _, err := legacy.Open(t.Context(),
			config(l, dynajournal.DefaultSnapshotTable)); !errors.Is(err, dynajournal.ErrTableSchema) ||
			!strings.Contains(err.Error(), "it does not look like a journal") {
			t.Errorf("a table of snapshots opened as %s: %v", l, err)
		}
		if _, err := legacy.Open(t.Context(), config(l, "none")); !errors.Is(err, dynajournal.ErrTableNotFound) {
			t.Errorf("no table opened as %s: %v", l, err)
		}
	}
	sameKey := map[legacy.Layout]legacy.Layout{legacy.HashKey: legacy.HashKeyUnprefixed,
		legacy.HashKeyUnprefixed: legacy.HashKey}
	for _, l := range legacy.Layouts() {
		for _, other := range legacy.Layouts() {
			j, err := legacy.Open(t.Context(), config(l, other.String()))
			if l == other || sameKey[l] == other {
				if err != nil {
					t.Errorf("the table of %s opened as %s: %v", other, l, err)
					continue
				}
				if err := j.Close(); err != nil {
					t.Error(err)
				}
				continue
			}
			if !errors.Is(err, dynajournal.ErrTableSchema) ||
				!strings.Contains(err.Error(), "--layout "+other.String()) {
				t.Errorf("the table of %s opened as %s: %v", other, l, err)
			}
			if err := legacy.DeleteTable(t.Context(),
				config(l, other.String())); !errors.Is(err, dynajournal.ErrTableSchema) {
				t.Errorf("the table of %s deleted as %s: %v", other, l, err)
			}
		}
	}
	for _, l := range legacy.Layouts() {
		if err := legacy.DeleteTable(t.Context(), config(l, l.String())); err != nil {
			t.Errorf("delete the table of %s: %v", l, err)
		}
		if err := legacy.DeleteTable(t.Context(),
			config(l, l.String())); !errors.Is(err, dynajournal.ErrTableNotFound) {
			t.Errorf("delete the table of %s again: %v", l, err)
		}
	}
}

type anAdapter struct{ dynajournal.EventAdapter }

func TestConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	b := newFixture(t, legacy.HashKey)
	for name, change := range map[string]func(*legacy.Config){
		"no layout":       func(c *legacy.Config) { c.Layout = 0 },
		"unknown layout":  func(c *legacy.Config) { c.Layout = 9 },
		"an adapter":      func(c *legacy.Config) { c.Journal.Adapter = anAdapter{} },
		"negative shards": func(c *legacy.Config) { c.Journal.SequenceShards = -1 },
	} {
		c := b.config
		change(&c)
		if _, err := legacy.Open(t.Context(), c); !errors.Is(err, dynajournal.ErrInvalidArgument) {
			t.Errorf("Open with %s: %v, want an invalid argument", name, err)
		}
		if err := legacy.CreateTable(t.Context(), c); !errors.Is(err, dynajournal.ErrInvalidArgument) {
			t.Errorf("CreateTable with %s: %v, want an invalid argument", name, err)
		}
	}
}

func TestWriter_InvalidArguments(t *testing.T) {
	t.Parallel()
	for _, layout := range legacy.Layouts() {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, layout)
			j := b.open()
			w := b.recovered(j, "a")
			b.write(w, 1)
			before := len(b.items())
			_, noEvents := w.Append(t.Context())
			_, severalEvents := w.Append(t.Context(), "a", "b")
			_, notSerializable := w.Append(t.Context(), struct{}{})
			_, negative := w.DeleteTo(t.Context(), -1, legacy.Permanent)
			_, unknown := w.DeleteTo(t.Context(), 1, 7)
			_, noID := j.Bounds(t.Context(), "")
			_, longID := j.Recover(t.Context(), strings.Repeat("x", 2049), dynajournal.RecoverOptions{}, nil)
			_, after := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{After: -1}, nil)
			_, snapshot := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{Snapshot: -1}, nil)
			_, snapshotOfAll := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{Snapshot: math.MaxInt64}, nil)
			_, both := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{After: 1, Snapshot: 2}, nil)
			_, latest := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{Latest: true}, nil)
			_, expect := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{Expect: new(int64(1))}, nil)
			_, afterAll := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{After: math.MaxInt64}, nil)
			_, to := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{To: -1}, nil)
			for name, got := range map[string]struct{ err, want error }{
				"no events":           {noEvents, dynajournal.ErrInvalidArgument},
				"several events":      {severalEvents, legacy.ErrNotAtomic},
				"the same":            {severalEvents, legacy.ErrNotInLayout},
				"not serializable":    {notSerializable, dynajournal.ErrRejected},
				"a negative deletion": {negative, dynajournal.ErrInvalidArgument},
				"an unknown deletion": {unknown, dynajournal.ErrInvalidArgument},
				"no id":               {noID, dynajournal.ErrInvalidArgument},
				"a long id":           {longID, dynajournal.ErrInvalidArgument},
				"a negative After":    {after, dynajournal.ErrInvalidArgument},
				"the largest After":   {afterAll, dynajournal.ErrInvalidArgument},
				"a negative snapshot": {snapshot, dynajournal.ErrInvalidArgument},
				"a snapshot of all":   {snapshotOfAll, dynajournal.ErrInvalidArgument},
				"two beginnings":      {both, dynajournal.ErrInvalidArgument},
				"an expectation":      {expect, dynajournal.ErrInvalidArgument},
				"the latest":          {latest, dynajournal.ErrInvalidArgument},
				"a negative end":      {to, dynajournal.ErrInvalidArgument},
			} {
				if !errors.Is(got.err, got.want) {
					t.Errorf("%s: %v, want %v", name, got.err, got.want)
				}
			}
			for _, r := range []dynajournal.Range{{From: -1}, {To: -1}, {Limit: new(int64(-1))}} {
				for _, err := range j.Events(t.Context(), "a", r) {
					if !errors.Is(err, dynajournal.ErrInvalidArgument) {
						t.Errorf("Events(%+v): %v", r, err)
					}
				}
			}
			for _, err := range j.CurrentPersistenceIDs(t.Context(), dynajournal.IDsOptions{Segments: -1}) {
				if !errors.Is(err, dynajournal.ErrInvalidArgument) {
					t.Errorf("PersistenceIDs in -1 segments: %v", err)
				}
			}
			if got := len(b.items()); got != before {
				t.Errorf("there are %d items, %d were before", got, before)
			}
			b.write(w, 1)
		})
	}
}

// TestRecover_LongestID stores an id whose longest key is at the limit, and refuses an id that is
// one byte longer.
func TestRecover_LongestID(t *testing.T) {
	t.Parallel()
	for layout, longest := range map[legacy.Layout]int{
		legacy.HashKey:           2048 - len("journal-SH--9223372036854775807"),
		legacy.HashKeyUnprefixed: 2048 - len("SH--9223372036854775807"),
	} {
		b := newFixture(t, layout)
		j := b.open()
		pid := strings.Repeat("x", longest-1)
		w, err := j.Recover(t.Context(), pid, dynajournal.RecoverOptions{Snapshot: dynajournal.MaxSequenceNumber - 1}, nil)
		if err != nil {
			t.Errorf("%s: Recover of an id of %d bytes: %v", layout, len(pid), err)
			continue
		}
		b.write(w, 1)
		if _, err := w.Append(t.Context(), []byte("one too many")); !errors.Is(err, dynajournal.ErrSequenceExhausted) {
			t.Errorf("%s: an event after the last number: %v", layout, err)
		}
		again := b.recovered(j, pid)
		if _, err := again.Append(t.Context(),
			[]byte("one too many")); !errors.Is(err, dynajournal.ErrSequenceExhausted) {
			t.Errorf("%s: an event after the last number, recovered: %v", layout, err)
		}
		if _, err := j.Recover(t.Context(), pid+"xx", dynajournal.RecoverOptions{},
			nil); !errors.Is(err, dynajournal.ErrInvalidArgument) {
			t.Errorf("%s: Recover of an id of %d bytes: %v", layout, len(pid)+2, err)
		}
	}
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	for _, layout := range legacy.Layouts() {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, layout)
			j := b.open()
			w := b.recovered(j, "a")
			b.write(w, 3)
			if layout == legacy.Naive {
				if _, err := w.Confirm(t.Context(), 1, "c"); !errors.Is(err, legacy.ErrNotInLayout) {
					t.Errorf("Confirm: %v", err)
				}
				return
			}
			for _, step := range []struct {
				channel string
				want    []string
			}{{"c2", []string{"c2"}}, {"c1", []string{"c1", "c2"}}, {"c1", []string{"c1", "c2"}}} {
				if got, err := w.Confirm(t.Context(), 2, step.channel); err != nil || !slices.Equal(got, step.want) {
					t.Errorf("Confirm by %s gives %v, %v; want %v", step.channel, got, err, step.want)
				}
			}
			for seq, want := range map[int64]error{0: dynajournal.ErrInvalidArgument, 4: legacy.ErrNoEvent} {
				if _, err := w.Confirm(t.Context(), seq, "c"); !errors.Is(err, want) {
					t.Errorf("Confirm of %d: %v, want %v", seq, err, want)
				}
			}
			if _, err := w.Confirm(t.Context(), 1, ""); !errors.Is(err, dynajournal.ErrInvalidArgument) {
				t.Errorf("Confirm by no channel: %v", err)
			}
			b.deleteTo(w, 2, legacy.Mark)
			events := b.read(j, "a", dynajournal.Range{})
			if len(events) != 3 || !slices.Equal(events[1].Confirmations, []string{"c1", "c2"}) ||
				!events[1].Deleted || events[2].Deleted || events[0].Confirmations != nil {
				t.Errorf("read %+v", events)
			}
		})
	}
}

// TestDeleteTo_LastEventInNaiveLayouts deletes everything: the number of the last event is never
// used again.
func TestDeleteTo_LastEventInNaiveLayouts(t *testing.T) {
	t.Parallel()
	for _, layout := range []legacy.Layout{legacy.Naive, legacy.NaiveProcessor} {
		b := newFixture(t, layout)
		j := b.open()
		w := b.recovered(j, "a")
		b.write(w, 5)
		_, err := w.DeleteTo(t.Context(), math.MaxInt64, legacy.Permanent)
		want := []int64{-5}
		if layout == legacy.Naive {
			if !errors.Is(err, legacy.ErrLastEvent) || len(b.items()) != 5 {
				t.Errorf("deletion of all: %v, %d items are left; want that it is refused", err, len(b.items()))
			}
			b.deleteTo(w, 4, legacy.Permanent)
			want = []int64{5}
		} else if err != nil {
			t.Errorf("deletion of all: %v", err)
		}
		if got := numbers(b.read(j, "a", dynajournal.Range{})); !slices.Equal(got, want) {
			t.Errorf("%s: read %v, want %v", layout, got, want)
		}
		if got := b.bounds(j, "a"); got != (dynajournal.Bounds{Lowest: 5, Highest: 5}) {
			t.Errorf("%s: the bounds are %+v", layout, got)
		}
		b.write(w, 1)
		b.deleteTo(w, 5, legacy.Permanent)
		if got := numbers(b.read(j, "a", dynajournal.Range{})); !slices.Equal(got, []int64{6}) {
			t.Errorf("%s: read %v, want 6", layout, got)
		}
	}
}

// TestDeleteTo_AfterSingleDeletions stores low marks of single events, as the old
// plug-in leaves them: in one shard, and in all shards.
func TestDeleteTo_AfterSingleDeletions(t *testing.T) {
	t.Parallel()
	for shards, singles := range map[int64][]int64{1000: {6}, 3: {4, 6, 8}} {
		b := newFixture(t, legacy.HashKey)
		b.config.Journal.SequenceShards = int(shards)
		j := b.open()
		w := b.recovered(j, "a")
		b.write(w, 9)
		for _, seq := range singles {
			markOne(b, "a", seq, shards)
		}
		if got := b.bounds(j, "a"); got != (dynajournal.Bounds{Lowest: singles[0], Highest: 9}) {
			t.Errorf("%d shards: the bounds are %+v, want %d and 9", shards, got, singles[0])
		}
		b.deleteTo(w, 8, legacy.Permanent)
		if got := numbers(b.read(j, "a", dynajournal.Range{})); !slices.Equal(got, []int64{9}) {
			t.Errorf("%d shards: read %v, want 9", shards, got)
		}
	}
}

func TestCurrentPersistenceIDs_EachOnce(t *testing.T) {
	t.Parallel()
	for _, layout := range legacy.Layouts() {
		t.Run(layout.String(), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, layout)
			b.config.Journal.SequenceShards = 5
			j := b.open()
			var want []string
			for _, pid := range []string{"a", "a-1", "a-1-2", "-", "P-a", "SH-a-1", "SL-a", "ünïcöde 漢字",
				"journal-P-a"} {
				want = append(want, pid)
				b.write(b.recovered(j, pid), 7)
			}
			for i := range 60 {
				pid := fmt.Sprintf("id-%d", i)
				want = append(want, pid)
				w := b.recovered(j, pid)
				b.write(w, 2)
				b.deleteTo(w, 1, legacy.Permanent)
			}
			if layout == legacy.HashKey || layout == legacy.HashKeyUnprefixed {
				gone := b.recovered(j, "gone")
				b.write(gone, 3)
				b.deleteTo(gone, 3, legacy.Permanent)
				want = append(want, "gone")
				// Other items, and an item that results from marking an id that was never written.
				b.put(with(eventKey(layout, "never", 0), attributes{"deleted": text("true")}))
				b.put(with(eventKey(layout, "never", 3), attributes{"deleted": text("true")}))
				b.put(attributes{"key": text("something else")}, attributes{"key": text("journal-P-x"), "payload": binary("")},
					attributes{"key": text("another-P-x-1"), "payload": binary("")}, attributes{"key": text("journal-SH-x-5"), "sequenceNr": number(5)})
			}
			slices.Sort(want)
			for _, segments := range []int{0, 1, 4} {
				var got []string
				for pid, err := range j.CurrentPersistenceIDs(t.Context(), dynajournal.IDsOptions{Segments: segments}) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, pid)
				}
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("in %d segments the ids are\n%q, want\n%q", segments, got, want)
				}
			}
			listed := 0
			for _, err := range j.CurrentPersistenceIDs(t.Context(), dynajournal.IDsOptions{Limit: 2}) {
				if err != nil {
					t.Fatal(err)
				}
				listed++
			}
			if listed != 2 {
				t.Errorf("with a limit of 2 it listed %d ids", listed)
			}
			for _, opts := range []dynajournal.IDsOptions{{After: "a"}, {Prefix: "a"}, {Sorted: true}} {
				for _, err := range j.CurrentPersistenceIDs(t.Context(), opts) {
					if !errors.Is(err, legacy.ErrNotInLayout) {
						t.Errorf("%+v: %v, want ErrNotInLayout", opts, err)
					}
				}
			}
			n := 0
			// Leaving the loop ends the scan.
			for range j.CurrentPersistenceIDs(t.Context(), dynajournal.IDsOptions{Segments: 4}) {
				if n++; n == 3 {
					break
				}
			}
		})
	}
}

func TestClosedJournal(t *testing.T) {
	t.Parallel()
	for _, layout := range legacy.Layouts() {
		b := newFixture(t, layout)
		j := b.open()
		w := b.recovered(j, "a")
		b.write(w, 1)
		for range 2 {
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		}
		_, appended := w.Append(t.Context(), []byte("event"))
		_, deleted := w.DeleteTo(t.Context(), 1, legacy.Permanent)
		_, bounds := j.Bounds(t.Context(), "a")
		_, recovered := j.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, nil)
		_, next := w.NextSequenceNumber(t.Context())
		_, listed := j.List(t.Context(), "a")
		for i, err := range []error{appended, deleted, bounds, recovered, next, listed} {
			if !errors.Is(err, dynajournal.ErrClosed) {
				t.Errorf("%s: call %d on a closed journal: %v", layout, i, err)
			}
		}
		for _, err := range j.Events(t.Context(), "a", dynajournal.Range{}) {
			if !errors.Is(err, dynajournal.ErrClosed) {
				t.Errorf("%s: Events of a closed journal: %v", layout, err)
			}
		}
		for _, err := range j.CurrentPersistenceIDs(t.Context(), dynajournal.IDsOptions{}) {
			if !errors.Is(err, dynajournal.ErrClosed) {
				t.Errorf("%s: PersistenceIDs of a closed journal: %v", layout, err)
			}
		}
	}
}

// TestAppend_CurrentSerializers appends a string and a payload in Java's
// serialization, and reads both.
func TestAppend_CurrentSerializers(t *testing.T) {
	t.Parallel()
	for _, layout := range legacy.Layouts() {
		b := newFixture(t, layout)
		j := b.open()
		w := b.recovered(j, "a")
		java := serialization.Payload{SerializerID: serialization.IDJava,
			Bytes: []byte("\xac\xed\x00\x05t\x00\x04text")}
		if _, err := w.AppendEach(t.Context(), "text", java,
			serialization.Payload{SerializerID: 900, Manifest: "M", Bytes: []byte{1}}); err != nil {
			t.Fatal(err)
		}
		events := b.read(j, "a", dynajournal.Range{})
		if got, err := dynajournal.Decode[string](t.Context(), events[0].Event); err != nil || got != "text" ||
			events[0].SerializerID != serialization.IDString {
			t.Errorf("%s: the string is %q, %v, of serializer %d", layout, got, err, events[0].SerializerID)
		}
		if got := events[1].Serialized(); got.SerializerID != java.SerializerID ||
			string(got.Bytes) != string(java.Bytes) {
			t.Errorf("%s: the payload of Java is %+v", layout, got)
		}
		if got := events[2].Serialized(); got.SerializerID != 900 || got.Manifest != "M" {
			t.Errorf("%s: the payload with a manifest is %+v", layout, got)
		}
		if _, err := events[2].Payload(t.Context()); !errors.Is(err, serialization.ErrUnknownSerializer) {
			t.Errorf("%s: the payload of an unknown serializer: %v", layout, err)
		}
		want := w.WriterUUID()
		if layout == legacy.HashKey || layout == legacy.HashKeyUnprefixed {
			want = ""
		}
		if events[0].WriterUUID != want {
			t.Errorf("%s: the writer is %q, want %q", layout, events[0].WriterUUID, want)
		}
	}
}

func TestEvents_DecodeEagerly(t *testing.T) {
	t.Parallel()
	b := newFixture(t, legacy.HashKey)
	b.config.Journal.DecodeEagerly = true
	j := b.open()
	w := b.recovered(j, "a")
	if _, err := w.Append(t.Context(), serialization.Payload{SerializerID: 900, Bytes: []byte{1}}); err != nil {
		t.Fatal(err)
	}
	for _, err := range j.Events(t.Context(), "a", dynajournal.Range{}) {
		if !errors.Is(err, serialization.ErrUnknownSerializer) {
			t.Errorf("reading eagerly: %v, want an unknown serializer", err)
		}
	}
}
