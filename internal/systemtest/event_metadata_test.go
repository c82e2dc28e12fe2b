package systemtest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/clock"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/serialization"
)

// metadataOn makes any kind of journal store metadata.
func metadataOn(c *dynajournal.Config) { c.EventMetadata = dynajournal.EventMetadataOn }

// wall sets a wall clock that the test moves. It does not affect durations.
func wall(at *atomic.Int64) func(*dynajournal.Config) {
	start := time.Now()
	return func(c *dynajournal.Config) {
		core.SetClock(c, clock.New(
			func() time.Time { return time.UnixMicro(at.Load()) }, func() time.Duration { return time.Since(start) },
		))
	}
}

// described returns the metadata of events as text.
func described(events []dynajournal.Event) []string {
	var all []string
	for _, e := range events {
		all = append(all, fmt.Sprintf("%d %v %v %q", e.SequenceNumber, e.Time.UnixMicro(), e.Metadata, e.Tags))
	}
	return all
}

func TestMetadataIsReadAsItWasAppended(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*dynajournal.Config){
		"default":   func(*dynajournal.Config) {},
		"PutItem":   func(c *dynajournal.Config) { c.GroupCommit = dynajournal.GroupCommitOff },
		"SDK codec": func(c *dynajournal.Config) { c.SDKCodec = true },
	} {
		for kind, options := range kinds {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				var now atomic.Int64
				now.Store(1_795_479_186_000_000)
				s := setup(t, options, change, metadataOn, wall(&now))
				w := recovered(t, s.journal, "a")
				metadata := map[string]string{"tenant": "ü", "empty": "", `"`: "\x00\n"}
				tagged := dynajournal.NewEvent{Value: "b", Tags: []string{"z", "a", "z"}}
				if _, err := w.Append(t.Context(), "plain"); err != nil {
					t.Fatal(err)
				}
				if _, err := w.Append(t.Context(), dynajournal.NewEvent{Value: "a", Metadata: metadata}, tagged, "c"); err != nil {
					t.Fatal(err)
				}
				metadata["tenant"] = "changed after the call"
				if _, err := w.AppendEach(t.Context(), tagged, dynajournal.NewEvent{Value: "e"}); err != nil {
					t.Fatal(err)
				}
				const at = "1795479186000001"
				want := []string{
					"1 " + at + " map[] []", "2 " + at + " map[\":\x00\n empty: tenant:ü] []", "3 " + at + ` map[] ["a" "z"]`,
					"4 " + at + " map[] []", "5 " + at + ` map[] ["a" "z"]`, "6 " + at + " map[] []",
				}
				var replayed []dynajournal.Event
				if _, err := s.journal.Recover(t.Context(), "a", dynajournal.RecoverOptions{}, func(e dynajournal.Event) error {
					replayed = append(replayed, e)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				for how, events := range map[string][]dynajournal.Event{
					"read": readEvents(t, s.journal, "a", dynajournal.Range{}), "replayed": replayed,
				} {
					if got := described(events); !reflect.DeepEqual(got, want) {
						t.Errorf("%s:\n%q, want\n%q", how, got, want)
					}
					if e := events[0]; e.Metadata != nil || e.Tags != nil || e.Time.Location() != time.UTC {
						t.Errorf("%s: an event without metadata has %v, %v, %v", how, e.Metadata, e.Tags, e.Time.Location())
					}
				}
			})
		}
	}
}

// If metadata is off, items have only the attributes that a JVM plug-in writes.
func TestMetadataIsOffInSharedJournals(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*dynajournal.Config){
		"by default":           func(*dynajournal.Config) {},
		"EventMetadataOff":     func(c *dynajournal.Config) { c.EventMetadata = dynajournal.EventMetadataOff },
		"with the old format":  func(c *dynajournal.Config) { c.OldEventFormat = true },
		"native, switched off": func(c *dynajournal.Config) { c.EventMetadata = dynajournal.EventMetadataOff },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t, dynajournal.TableOptions{SharedWithJVM: !strings.HasPrefix(name, "native")}, change)
			w := recovered(t, s.journal, "a")
			for _, e := range []dynajournal.NewEvent{
				{Value: "x", Metadata: map[string]string{"a": "b"}}, {Value: "x", Tags: []string{"a"}},
			} {
				_, err := w.Append(t.Context(), "first", e)
				rejected := new(dynajournal.RejectedError)
				if !errors.As(err, &rejected) || rejected.Index != 1 || !strings.Contains(err.Error(), "Config.EventMetadata") {
					t.Errorf("an event with metadata: %v, want that event 1 is rejected", err)
				}
			}
			if _, err := w.Append(t.Context(), dynajournal.NewEvent{Value: "y"}); err != nil {
				t.Fatal(err)
			}
			for _, item := range items(t, s.table) {
				for _, attribute := range []string{"time", "meta", "tags"} {
					if item[attribute] != nil {
						t.Errorf("the item %v has the attribute %s", item, attribute)
					}
				}
			}
			if e := readEvents(t, s.journal, "a", dynajournal.Range{})[0]; !e.Time.IsZero() {
				t.Errorf("an event without a time has %v", e.Time)
			}
		})
	}
}

func TestMetadataThatCannotBeStoredIsRejected(t *testing.T) {
	t.Parallel()
	j := openFresh(t, dynajournal.TableOptions{})
	w := recovered(t, j, "a")
	long := strings.Repeat("x", dynajournal.MaxMetadataBytes)
	for name, e := range map[string]dynajournal.NewEvent{
		"a reserved key":              {Value: "x", Metadata: map[string]string{"dj.command": "x"}},
		"an empty key":                {Value: "x", Metadata: map[string]string{"": "x"}},
		"a key that is not UTF-8":     {Value: "x", Metadata: map[string]string{"\xff": "x"}},
		"a value that is not UTF-8":   {Value: "x", Metadata: map[string]string{"a": "\xff"}},
		"a byte more than the limit":  {Value: "x", Metadata: map[string]string{"a": long}},
		"an empty tag":                {Value: "x", Tags: []string{"a", ""}},
		"a tag that is not UTF-8":     {Value: "x", Tags: []string{"\xff"}},
		"tags of a byte too many":     {Value: "x", Tags: []string{long, "a"}},
		"no value":                    {},
		"an event within an event":    {Value: dynajournal.NewEvent{Value: "x"}},
		"a value of an unknown type":  {Value: struct{}{}, Tags: []string{"a"}},
		"metadata and unknown values": {Value: make(chan int), Metadata: map[string]string{"a": "b"}},
	} {
		if _, err := w.Append(t.Context(), e); !errors.Is(err, dynajournal.ErrRejected) || dynajournal.MaybeApplied(err) {
			t.Errorf("%s: %v, want ErrRejected", name, err)
		}
	}
	most := dynajournal.NewEvent{Value: "x", Metadata: map[string]string{"a": long[1:]}, Tags: []string{long, long}}
	if result, err := w.Append(t.Context(), most); err != nil || result.First != 1 {
		t.Errorf("as much as is allowed: %d, %v", result.First, err)
	}
	for name, change := range map[string]func(*dynajournal.Config){
		"on in the old format": func(c *dynajournal.Config) { c.OldEventFormat = true; metadataOn(c) },
		"an unknown value":     func(c *dynajournal.Config) { c.EventMetadata = 3 },
	} {
		config := dynajournal.Config{AWS: openEngine(t).AWSConfig()}
		change(&config)
		wrong := new(dynajournal.ArgumentError)
		if err := dynajournal.CreateTables(t.Context(), config, dynajournal.TableOptions{}); !errors.As(err, &wrong) ||
			wrong.Argument != "Config.EventMetadata" {
			t.Errorf("%s: %v, want an ArgumentError", name, err)
		}
	}
}

// The times of a persistence id's events never decrease, even if clocks do, for any writers and for
// any recovery.
func TestTimesNeverFall(t *testing.T) {
	t.Parallel()
	for _, before := range []int{1, 98, 99, 100, 101, 199} {
		for _, batch := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, atomic %t", before, batch), func(t *testing.T) {
				t.Parallel()
				var now atomic.Int64
				now.Store(2_000_000)
				s := setup(t, dynajournal.TableOptions{}, wall(&now))
				appendStrings(t, recovered(t, s.journal, "a"), before, batch)
				now.Store(1_000_000)
				for after := range int64(3) {
					// The recovery is from a snapshot, or from all events.
					w := loseJournal(t, s.journal, "a", (int64(before)+after)*min(after, 1))
					appendStrings(t, w, 1, false)
				}
				latest, err := s.journal.Recover(t.Context(), "a", dynajournal.RecoverOptions{Latest: true}, nil)
				if err != nil {
					t.Fatal(err)
				}
				appendStrings(t, latest, 1, false)
				now.Store(3_000_000)
				appendStrings(t, recovered(t, s.journal, "a"), 1, false)
				var last time.Time
				for _, e := range readEvents(t, s.journal, "a", dynajournal.Range{}) {
					if e.Time.Before(last) {
						t.Errorf("event %d has the time %v, the one before %v", e.SequenceNumber, e.Time, last)
					}
					last = e.Time
				}
				if last.UnixMicro() != 3_000_001 {
					t.Errorf("the last time is %v, want that of the clock", last)
				}
			})
		}
	}
}

// A copy has the metadata of the original, in every kind of journal that can store metadata.
func TestCopiesKeepMetadata(t *testing.T) {
	t.Parallel()
	s := setup(t, dynajournal.TableOptions{})
	w := recovered(t, s.journal, "a")
	if _, err := w.Append(t.Context(), dynajournal.NewEvent{
		Value: "x", Metadata: map[string]string{"k": "v"}, Tags: []string{"t"},
	}, "y"); err != nil {
		t.Fatal(err)
	}
	want := described(readEvents(t, s.journal, "a", dynajournal.Range{}))
	history := records(t, s.journal, "a", 0)
	for kind, options := range kinds {
		target := openFresh(t, options)
		for range 2 { // the second run finds equal events
			if _, err := target.PutRecords(t.Context(), "a", each(history), dynajournal.PutRecordsOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if got := described(readEvents(t, target, "a", dynajournal.Range{})); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the copy is %q, want %q", kind, got, want)
		}
		for what, change := range map[string]func(*dynajournal.Record){
			"another time": func(r *dynajournal.Record) { r.Time = r.Time.Add(time.Second) },
			"other values": func(r *dynajournal.Record) { r.Metadata = map[string]string{"k": "w"} },
			"no values":    func(r *dynajournal.Record) { r.Metadata = nil },
			"other tags":   func(r *dynajournal.Record) { r.Tags = []string{"u"} },
		} {
			other := append([]dynajournal.Record{}, history...)
			change(&other[0])
			if _, err := target.PutRecords(t.Context(), "a", each(other), dynajournal.PutRecordsOptions{}); !errors.Is(err, dynajournal.ErrContentConflict) {
				t.Errorf("%s: %s: %v, want ErrContentConflict", kind, what, err)
			}
		}
		for what, change := range map[string]func(*dynajournal.Record){
			"a negative time":   func(r *dynajournal.Record) { r.Time = time.UnixMicro(-1) },
			"tags out of order": func(r *dynajournal.Record) { r.Tags = []string{"u", "t"} },
			"a tag twice":       func(r *dynajournal.Record) { r.Tags = []string{"t", "t"} },
			"an empty key":      func(r *dynajournal.Record) { r.Metadata = map[string]string{"": "v"} },
		} {
			other := append([]dynajournal.Record{}, history...)
			change(&other[0])
			if _, err := target.PutRecords(t.Context(), "b", each(other), dynajournal.PutRecordsOptions{}); !errors.Is(err, dynajournal.ErrInvalidArgument) {
				t.Errorf("%s: %s: %v, want ErrInvalidArgument", kind, what, err)
			}
		}
	}
	// Other programs may have stored larger metadata than this one writes.
	large := append([]dynajournal.Record{}, history...)
	large[0].Metadata, large[0].Tags = map[string]string{"k": strings.Repeat("x", 3000)}, []string{strings.Repeat("t", 3000)}
	if _, err := openFresh(t, dynajournal.TableOptions{}).PutRecords(t.Context(), "a", each(large), dynajournal.PutRecordsOptions{}); err != nil {
		t.Errorf("large metadata and tags: %v", err)
	}
	old := openFresh(t, dynajournal.TableOptions{}, func(c *dynajournal.Config) { c.OldEventFormat = true })
	if _, err := old.PutRecords(t.Context(), "a", each(history), dynajournal.PutRecordsOptions{}); !errors.Is(err, dynajournal.ErrRejected) {
		t.Errorf("into the old event format: %v, want ErrRejected", err)
	}
}

// An adapter converts the value of an event. Each event that it returns has the metadata of the
// stored event.
func TestAdaptersLeaveMetadataAlone(t *testing.T) {
	t.Parallel()
	j := openFresh(t, dynajournal.TableOptions{}, func(c *dynajournal.Config) { c.Adapter = doubling{} })
	if _, err := recovered(t, j, "a").Append(t.Context(), dynajournal.NewEvent{Value: "x", Tags: []string{"t"}}); err != nil {
		t.Fatal(err)
	}
	events := readEvents(t, j, "a", dynajournal.Range{})
	if len(events) != 2 || !reflect.DeepEqual(events[0].Tags, events[1].Tags) || len(events[0].Tags) != 1 {
		t.Errorf("%q", described(events))
	}
}

// doubling is an adapter that reads each event twice.
type doubling struct{}

func (doubling) ToJournal(event any) (any, string, error) {
	return serialization.Payload{SerializerID: 4, Bytes: []byte(fmt.Sprint(event))}, "", nil
}

func (doubling) FromJournal(stored any, _ string) ([]any, error) { return []any{stored, stored}, nil }
