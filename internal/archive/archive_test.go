package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/dynajournal/dynajournal/internal/history"
	"github.com/dynajournal/dynajournal/internal/testsize"
)

// sample returns the content of a test archive.
func sample(snapshotBytes int) []Item {
	var all []Item
	add := func(pid string, i Item) { i.PersistenceID = pid; all = append(all, i) }
	record := func(pid string, r history.Record) { add(pid, Item{Record: &r}) }
	noise := rand.NewChaCha8([32]byte{1})
	for i := range 40 {
		pid := fmt.Sprintf("id-%d-ü", i)
		add(pid, Item{})
		record(pid, history.Record{Kind: history.LowMark, SequenceNumber: 5, BatchFirst: 3, BatchLast: 6, WriterUUID: "w", Behind: int64(i % 2 * 4), Purged: int64(i / 2 % 2 * 3)})
		record(pid, history.Record{Kind: history.Deleted, SequenceNumber: 1, Last: 4})
		for seq := int64(5); seq < 20; seq++ {
			payload := make([]byte, i*200)
			_, _ = noise.Read(payload)
			record(pid, history.Record{Kind: history.Event, SequenceNumber: seq, WriterUUID: "w", Manifest: "m", SerializerID: -1, SerializerManifest: "s", Bytes: payload})
		}
		record(pid, history.Record{Kind: history.Event, SequenceNumber: 20, BatchFirst: 20, BatchLast: 21, Bytes: []byte{}})
		record(pid, history.Record{Kind: history.Event, SequenceNumber: 21, BatchFirst: 20, BatchLast: 21, Bytes: []byte("x")})
		record(pid, history.Record{
			Kind: history.Event, SequenceNumber: 22, Bytes: []byte("y"), Time: math.MaxInt64,
			Metadata: map[string]string{"tenant": "ü", "empty": ""}, Tags: []string{"a", "b"},
		})
		record(pid, history.Record{Kind: history.Event, SequenceNumber: 23, Bytes: []byte("z"), Time: 1})
		record(pid, history.Record{Kind: history.Closed, SequenceNumber: 24, Last: math.MaxInt64 - 1})
		if i%3 == 0 {
			state := make([]byte, snapshotBytes)
			_, _ = noise.Read(state)
			add(pid, Item{Snapshot: &Snapshot{SequenceNumber: 21, Timestamp: -5, SerializerID: math.MaxInt32, SerializerManifest: "s", Bytes: state}})
			add(pid, Item{Snapshot: &Snapshot{SequenceNumber: 2}})
		}
		add(pid, Item{End: true})
	}
	return all
}

func write(t testing.TB, w *Writer, items []Item) {
	t.Helper()
	for _, i := range items {
		var err error
		switch {
		case i.Record != nil:
			err = w.Record(i.Record)
		case i.Snapshot != nil:
			err = w.Snapshot(i.Snapshot)
		case i.End:
			err = w.End()
		default:
			err = w.Start(i.PersistenceID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func archived(t testing.TB, items []Item) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, w, items)
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func read(in io.Reader, maxSnapshot int64) ([]Item, error) {
	r, err := NewReader(in, maxSnapshot)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []Item
	for {
		item, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, item)
	}
}

func TestReader_RoundTrip(t *testing.T) {
	t.Parallel()
	want := sample(3 << 20)
	file := archived(t, want)
	got, err := read(bytes.NewReader(file), 4<<20)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%d items, want %d, or they differ", len(got), len(want))
	}
	if _, err := read(bytes.NewReader(file), 1<<20); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), `"id-0-ü"`) {
		t.Errorf("with too large a snapshot: %v, want %v", err, ErrTooLarge)
	}
	if got, err := read(bytes.NewReader(archived(t, nil)), 0); err != nil || len(got) != 0 {
		t.Errorf("an empty archive: %v, %v", got, err)
	}
}

// TestReader_EveryDamage truncates a small archive at every byte, and changes each of its bytes.
func TestReader_EveryDamage(t *testing.T) {
	t.Parallel()
	file := archived(t, sample(100)[:26])
	for size := range file {
		_, err := read(bytes.NewReader(file[:size]), 1000)
		if want := ErrTruncated; !errors.Is(err, want) && (size > 0 || !errors.Is(err, ErrNotArchive)) {
			t.Fatalf("cut at %d: %v, want %v", size, err, want)
		}
	}
	for i := range file {
		changed := bytes.Clone(file)
		changed[i] ^= 0x40
		items, err := read(bytes.NewReader(changed), 1000)
		damage := new(Error)
		if !errors.As(err, &damage) {
			t.Fatalf("byte %d changed: %v, %d items", i, err, len(items))
		}
	}
	if _, err := read(bytes.NewReader(append(bytes.Clone(file), 0)), 1000); !errors.Is(err, ErrDamaged) {
		t.Errorf("with a byte more: %v, want %v", err, ErrDamaged)
	}
}

func TestReader_MissingBlock(t *testing.T) {
	t.Parallel()
	file := archived(t, sample(100))
	first := headerSize + blockHeaderSize + int(binary.LittleEndian.Uint32(file[headerSize+12:]))
	without := append(bytes.Clone(file[:headerSize]), file[first:]...)
	if _, err := read(bytes.NewReader(without), 1000); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "block 1, want 0") {
		t.Errorf("%v, want %v", err, ErrDamaged)
	}
	newer := bytes.Clone(file)
	newer[8] = version + 1
	binary.LittleEndian.PutUint32(newer[12:], crcOf(newer[:12]))
	if _, err := read(bytes.NewReader(newer), 1000); !errors.Is(err, ErrVersion) {
		t.Errorf("%v, want %v", err, ErrVersion)
	}
}

// An archive of an earlier version is read. An entry of a later version is out of place in it.
func TestReader_EarlierVersions(t *testing.T) {
	t.Parallel()
	low := history.Record{Kind: history.LowMark, SequenceNumber: 9}
	behind, purged := low, low
	behind.Behind, purged.Purged = 5, 4
	metadata := history.Record{Kind: history.Event, SequenceNumber: 9, Bytes: []byte{}, Time: 1}
	for since, record := range map[byte]history.Record{1: low, 2: metadata, 3: behind, 4: purged} {
		items := []Item{{PersistenceID: "a"}, {PersistenceID: "a", Record: &record}, {PersistenceID: "a", End: true}}
		file := archived(t, items)
		for v := byte(1); v <= version; v++ {
			file[8] = v
			binary.LittleEndian.PutUint32(file[12:], crcOf(file[:12]))
			got, err := read(bytes.NewReader(file), 0)
			if v >= since && (err != nil || !reflect.DeepEqual(got, items)) {
				t.Errorf("version %d: %+v has become %+v, %v", v, record, got, err)
			}
			if v < since && !errors.Is(err, ErrDamaged) {
				t.Errorf("version %d: %+v: %v, want %v", v, record, err, ErrDamaged)
			}
		}
	}
}

// TestContinue_TruncatedArchive truncates an archive at many places, and completes it.
func TestContinue_TruncatedArchive(t *testing.T) {
	t.Parallel()
	items := sample(testsize.Of(150_000, 500_000))
	file := archived(t, items)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range testsize.Of(15, 50) {
		cut := headerSize + random.IntN(len(file)-headerSize)
		if i == 0 {
			cut = len(file)
		}
		known := map[string]bool{}
		complete, err := Scan(bytes.NewReader(file[:cut]), func(pid string) { known[pid] = true })
		if err != nil || complete.Size > int64(cut) || int64(len(known)) != complete.PersistenceIDs {
			t.Fatalf("cut at %d: %+v, %v, %d ids", cut, complete, err, len(known))
		}
		var whole bytes.Buffer
		whole.Write(file[:complete.Size])
		w, err := Continue(&whole, complete)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range items {
			if !known[i.PersistenceID] {
				write(t, w, []Item{i})
			}
		}
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := read(&whole, 1<<20)
		if err != nil || !reflect.DeepEqual(got, items) {
			t.Fatalf("cut at %d: %v, %d items, want %d", cut, err, len(got), len(items))
		}
	}
}

func TestWriter_WrongOrder(t *testing.T) {
	t.Parallel()
	w, err := NewWriter(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"a record": w.Record(&history.Record{Kind: history.Event}), "a snapshot": w.Snapshot(&Snapshot{}), "an end": w.End(),
	} {
		if !errors.Is(err, errOrder) {
			t.Errorf("%s outside of an id: %v", name, err)
		}
	}
	if err := errors.Join(w.Start("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); !errors.Is(w.Start("b"), errOrder) || !errors.Is(err, errOrder) {
		t.Errorf("inside of an id: %v", err)
	}
	if err := w.Record(&history.Record{Kind: history.Event, Bytes: make([]byte, maxEntry)}); err == nil {
		t.Error("an event that no item can hold is written")
	}
}

func crcOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// framed returns bytes in a block with the right checksum.
func framed(packer *zstd.Encoder, kind, flags byte, index uint32, raw []byte) []byte {
	b := packer.EncodeAll(raw, make([]byte, blockHeaderSize))
	b[0], b[1] = kind, flags
	binary.LittleEndian.PutUint32(b[4:], index)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(raw)))
	binary.LittleEndian.PutUint32(b[12:], uint32(len(b)-blockHeaderSize))
	binary.LittleEndian.PutUint32(b[checksumAt:], blockSum(b[:blockHeaderSize], b[blockHeaderSize:]))
	return b
}

// FuzzReader reads arbitrary files, and files with right checksums and arbitrary entries.
func FuzzReader(f *testing.F) {
	file := archived(f, sample(50)[:26])
	f.Add(file, []byte{tagStart, 1, 'a', tagEnd, 2, 0, 0})
	r, err := NewReader(bytes.NewReader(file), 100)
	if err != nil {
		f.Fatal(err)
	}
	if err := r.block(); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(magic), bytes.Clone(r.raw))
	f.Add([]byte(nil), []byte{tagStart, 1, 'a', tagSnapshot, 5, 1, 0, 0, 0, 255, tagChunk, 0})
	header := file[:headerSize:headerSize]
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, file, entries []byte) {
		if _, err := read(bytes.NewReader(file), 1000); err != nil {
			damage := new(Error)
			if !errors.As(err, &damage) {
				t.Errorf("%v is no *Error", err)
			}
		}
		whole := append(header, framed(packer, entriesBlock, 0, 0, entries)...)
		whole = append(whole, framed(packer, totalsBlock, boundary, 1, []byte{0, 0, 0})...)
		items, _ := read(bytes.NewReader(whole), 1000)
		for _, i := range items {
			if i.Snapshot != nil && len(i.Snapshot.Bytes) > 1000 {
				t.Errorf("a snapshot of %d bytes", len(i.Snapshot.Bytes))
			}
		}
		_, _ = Scan(bytes.NewReader(whole), func(string) {})
		ended := int64(0)
		contents, err := Check(bytes.NewReader(whole), 1000, func(string, Checksum) error { ended++; return nil })
		if err == nil && contents.PersistenceIDs != ended {
			t.Errorf("%d ids ended, it has %d", ended, contents.PersistenceIDs)
		}
	})
}
