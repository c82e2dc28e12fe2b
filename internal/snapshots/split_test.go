package snapshots_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynajournal/dynajournal/internal/dynamo"
	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/internal/snapshots"
)

func n(item layout.Attributes, name string) string {
	if v, ok := item[name].(*types.AttributeValueMemberN); ok {
		return v.Value
	}
	return ""
}

func bin(item layout.Attributes, name string) []byte {
	if v, ok := item[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

func names(item layout.Attributes) string {
	var found []string
	for _, name := range []string{
		"par", "seq", "ts", "pay_data", "pay", "ser_id", "ser_manifest", "split_version", "split_ts", "split_token", "split_parts",
		"split_bytes", "split_sha256", "split_zstd", "split_data",
	} {
		if _, ok := item[name]; ok {
			found = append(found, name)
		}
	}
	if len(found) != len(item) {
		found = append(found, "and others")
	}
	return strings.Join(found, " ")
}

// The bytes of format version 1 are as docs/formats.md describes them.
func TestSplitFormVersion1(t *testing.T) {
	t.Parallel()
	b := openBase(t)
	s := b.store(nil, nil)
	saved := snapshot(7, 2*maxItemSize+1)
	saved.Manifest = "m"
	b.save(s, saved)
	items := b.items()
	if len(items) != 4 {
		t.Fatalf("there are %d items, want a head and 3 parts", len(items))
	}
	head := items[0]
	if got, want := names(head), "par seq ser_id ser_manifest split_version split_ts split_token split_parts split_bytes split_sha256"; got != want {
		t.Errorf("the head has %s, want %s", got, want)
	}
	sum := sha256.Sum256(saved.Bytes)
	token := n(head, "split_token")
	for name, want := range map[string]string{
		"seq": "10000000000000000007", "ser_id": "4", "split_version": "1", "split_ts": "700", "split_parts": "3", "split_bytes": fmt.Sprint(2*maxItemSize + 1),
	} {
		if got := n(head, name); got != want {
			t.Errorf("the head's %s is %s, want %s", name, got, want)
		}
	}
	if !bytes.Equal(bin(head, "split_sha256"), sum[:]) {
		t.Error("the head's split_sha256 is not that of the bytes")
	}
	var joined []byte
	for i, part := range items[1:] {
		if got, want := names(part), "par seq split_data"; got != want {
			t.Errorf("a part has %s, want %s", got, want)
		}
		want := fmt.Sprintf("-1%019d%s%05d", 7, strings.Repeat("0", 12-len(token))+token, i)
		if got := n(part, "seq"); got != want {
			t.Errorf("part %d is stored at %s, want %s", i, got, want)
		}
		if size := layout.Size(part); size > maxItemSize {
			t.Errorf("part %d has %d bytes, the limit is %d", i, size, maxItemSize)
		}
		joined = append(joined, bin(part, "split_data")...)
	}
	if !bytes.Equal(joined, saved.Bytes) {
		t.Error("the parts are not the bytes")
	}
}

// Up to the size limit of an item the form is exactly the form of the plug-ins. Above it the
// snapshot is split, and plug-ins do not see it: its items are below zero or above all 64-bit
// numbers, and lack the attribute of the index.
func TestSave_SplitsOnlyLargeSnapshots(t *testing.T) {
	t.Parallel()
	b := openBase(t)
	s := b.store(nil, nil)
	fits := 0
	for size := maxItemSize - 100; size <= maxItemSize; size++ {
		saved := snapshot(7, size)
		if layout.Size(s.Keys.EncodeSnapshot(&saved)) <= maxItemSize {
			fits = size
		}
	}
	if fits == 0 || fits == maxItemSize {
		t.Fatalf("the largest state is %d bytes", fits)
	}
	for size := fits - 1; size <= fits+2; size++ {
		b.empty()
		saved := snapshot(7, size)
		b.save(s, saved)
		items := b.items()
		if size <= fits {
			if len(items) != 1 || names(items[0]) != "par seq ts pay_data ser_id" || n(items[0], "seq") != "7" || n(items[0], "ts") != "700" ||
				!bytes.Equal(bin(items[0], "pay_data"), saved.Bytes) {
				t.Errorf("%d bytes, which fit: %d items, the first with %s", size, len(items), names(items[0]))
			}
		} else if len(items) < 2 {
			t.Errorf("%d bytes, which don't fit: %d items", size, len(items))
		}
		for _, item := range items {
			_, err := strconv.ParseUint(n(item, "seq"), 10, 63)
			if size > fits && (err == nil || item["ts"] != nil) {
				t.Errorf("%d bytes: an item at %s with %s, where a plug-in would read it",
					size, n(item, "seq"), names(item))
			}
		}
		if got := b.load(s); !same(got, &saved) {
			t.Errorf("%d bytes: loaded is %s", size, describe(got))
		}
	}
}

// A compressed snapshot that fits is stored in its head alone.
func TestSave_CompressedInHead(t *testing.T) {
	t.Parallel()
	b := openBase(t)
	s := b.store(nil, func(s *snapshots.Store) { s.Compress = true })
	saved := snapshot(7, 0)
	saved.Bytes = bytes.Repeat([]byte("x"), maxBytes)
	b.save(s, saved)
	items := b.items()
	if len(items) != 1 || n(items[0], "split_parts") != "0" || items[0]["split_zstd"] == nil || len(bin(items[0], "split_data")) > 200 {
		t.Errorf("%d items, the first with %s", len(items), names(items[0]))
	}
	// A store that does not compress also reads it.
	if got := b.load(b.store(nil, nil)); !same(got, &saved) {
		t.Errorf("loaded is %s", describe(got))
	}
}

// Bytes that don't compress become longer. Up to the limit they are loaded as they were saved.
func TestSave_CompressedAtLimit(t *testing.T) {
	t.Parallel()
	b := openBase(t)
	s := b.store(nil, func(s *snapshots.Store) { s.Compress = true })
	saved := snapshot(7, maxBytes)
	b.save(s, saved)
	if got := b.load(s); !same(got, &saved) {
		t.Errorf("loaded is %s", describe(got))
	}
}

func TestSave_OverLimit(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*snapshots.Store){
		"plain":                              nil,
		"compressed":                         func(s *snapshots.Store) { s.Compress = true },
		"with a limit below that of an item": func(s *snapshots.Store) { s.MaxItemSize = 2 * maxBytes },
		"envelope":                           func(s *snapshots.Store) { s.Envelope = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openBase(t)
			over := snapshot(7, maxBytes+1)
			if err := b.store(nil, change).Save(t.Context(), &dynamo.Meter{}, &over); !errors.Is(err, snapshots.ErrTooLarge) {
				t.Errorf("got %v, want ErrTooLarge", err)
			}
			if left := b.items(); len(left) != 0 {
				t.Errorf("%d items were written", len(left))
			}
		})
	}
}

// Any damage of a split snapshot is reported, and an older one is not loaded instead: the events
// between them may be deleted.
func TestLoad_DamagedSplitSnapshot(t *testing.T) {
	t.Parallel()
	type damage func(b *base, items []layout.Attributes)
	flip := func(i int) damage {
		return func(b *base, items []layout.Attributes) {
			part := maps.Clone(items[i])
			data := bytes.Clone(bin(part, "split_data"))
			data[len(data)/2] ^= 1
			part["split_data"] = &types.AttributeValueMemberB{Value: data}
			b.put(part)
		}
	}
	lose := func(i int) damage { return func(b *base, items []layout.Attributes) { b.remove(items[i]) } }
	change := func(name string, v types.AttributeValue) damage {
		return func(b *base, items []layout.Attributes) {
			head := maps.Clone(items[0])
			head[name] = v
			b.put(head)
		}
	}
	for name, d := range map[string]damage{
		"a bit of the first part":     flip(1),
		"a bit of the last part":      flip(5),
		"the first part is lost":      lose(1),
		"a middle part is lost":       lose(3),
		"the last part is lost":       lose(5),
		"the checksum":                change("split_sha256", &types.AttributeValueMemberB{Value: make([]byte, 32)}),
		"the checksum is empty":       change("split_sha256", &types.AttributeValueMemberB{Value: []byte{}}),
		"the number of bytes":         change("split_bytes", &types.AttributeValueMemberN{Value: "4499"}),
		"more bytes than are allowed": change("split_bytes", &types.AttributeValueMemberN{Value: "9000000000000000000"}),
		"when it was saved":           change("split_ts", &types.AttributeValueMemberS{Value: "today"}),
		"more bytes than there are":   change("split_bytes", &types.AttributeValueMemberN{Value: "4501"}),
		"the token":                   change("split_token", &types.AttributeValueMemberN{Value: "1"}),
		"two parts are swapped": func(b *base, items []layout.Attributes) {
			one, two := maps.Clone(items[1]), maps.Clone(items[2])
			one["seq"], two["seq"] = two["seq"], one["seq"]
			b.put(one)
			b.put(two)
		},
		"a part too many": func(b *base, items []layout.Attributes) {
			more := maps.Clone(items[5])
			more["seq"] = &types.AttributeValueMemberN{Value: strings.TrimSuffix(n(more, "seq"), "4") + "5"}
			b.put(more)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openBase(t)
			s := b.store(nil, nil)
			older, newer := snapshot(1, split), snapshot(2, split)
			b.save(s, newer)
			d(b, b.items())
			b.save(s, older)
			var seen []string
			if err := s.Each(t.Context(), &dynamo.Meter{}, "a", snapshots.Everything(), 0, func(got layout.Snapshot, damage error) bool {
				named := new(snapshots.DamagedError)
				seen = append(seen, fmt.Sprint(got.SequenceNr, errors.As(damage, &named) && named.SequenceNr == got.SequenceNr))
				return true
			}); err != nil || !slices.Equal(seen, []string{"2 true", "1 false"}) {
				t.Errorf("read %v, error %v, want number 2 damaged and number 1 whole", seen, err)
			}
			got, err := s.Newest(t.Context(), &dynamo.Meter{}, "a", snapshots.Everything())
			if named := new(snapshots.DamagedError); !errors.As(err, &named) {
				t.Errorf("the newest is %s, error %v, want a DamagedError", describe(got), err)
			}
			below := snapshots.Everything()
			below.MaxSeq = 1
			if got := b.highest(s, below); !same(got, &older) {
				t.Errorf("below it, selected is %s, want the older one", describe(got))
			}
			// It can be saved again, and deleted.
			b.save(s, newer)
			if got := b.load(s); !same(got, &newer) {
				t.Errorf("saved anew, selected is %s", describe(got))
			}
		})
	}
}

// A head of a newer release is an error. It must not be skipped silently, because older events may
// be deleted.
func TestLoad_HeadOfNewerVersion(t *testing.T) {
	t.Parallel()
	b := openBase(t)
	s := b.store(nil, nil)
	b.save(s, snapshot(1, small))
	b.save(s, snapshot(2, split))
	for _, item := range b.items() {
		if n(item, "split_version") == "1" {
			item["split_version"] = &types.AttributeValueMemberN{Value: "2"}
			b.put(item)
		}
	}
	var damage error
	err := s.Each(t.Context(), &dynamo.Meter{}, "a", snapshots.Everything(), 1, func(_ layout.Snapshot, damaged error) bool {
		damage = damaged
		return false
	})
	if _, ok := errors.AsType[*layout.ItemError](damage); !ok || err != nil {
		t.Errorf("got %v, %v, want an ItemError", damage, err)
	}
}

// Deleting a split snapshot, by any criteria, deletes its parts, and no others.
func TestDelete_PartsOfSplitSnapshot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]snapshots.Criteria{
		"by number":    {MinSeq: 2, MaxSeq: 2, MinTS: snapshots.Everything().MinTS, MaxTS: snapshots.Everything().MaxTS},
		"by timestamp": {MaxSeq: snapshots.Everything().MaxSeq, MinTS: 200, MaxTS: 200},
		"by both":      {MinSeq: 1, MaxSeq: 2, MinTS: 150, MaxTS: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openBase(t)
			s := b.store(nil, nil)
			saved := []layout.Snapshot{snapshot(1, split), snapshot(2, 2*split), snapshot(3, split)}
			b.save(s, saved[0])
			b.save(s, saved[2])
			before := len(b.items())
			b.save(s, saved[1])
			if deleted, err := s.Delete(t.Context(), &dynamo.Meter{}, "a", c); err != nil || deleted != 1 {
				t.Errorf("deleted %d, error %v", deleted, err)
			}
			if after := len(b.items()); after != before {
				t.Errorf("%d items, want %d", after, before)
			}
			for _, want := range []layout.Snapshot{saved[2], saved[0]} {
				if got := b.load(s); !same(got, &want) {
					t.Errorf("selected is %s, want %s", describe(got), describe(&want))
				}
				c := snapshots.Everything()
				c.MinSeq = want.SequenceNr
				if _, err := s.Delete(t.Context(), &dynamo.Meter{}, "a", c); err != nil {
					t.Fatal(err)
				}
			}
			if left := b.items(); len(left) != 0 {
				t.Errorf("%d items are left", len(left))
			}
		})
	}
}

// If a split snapshot is replaced by a split one, the parts of the first are removed.
func TestSave_ReplacedSplitSnapshot(t *testing.T) {
	t.Parallel()
	b := openBase(t)
	s := b.store(nil, nil)
	b.save(s, snapshot(2, split))
	alone := len(b.items())
	b.empty()
	b.save(s, snapshot(2, 3*split))
	b.save(s, snapshot(2, split))
	if got := len(b.items()); got != alone {
		t.Errorf("%d items, want %d", got, alone)
	}
}
