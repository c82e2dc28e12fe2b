package storage

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/dynajournal/dynajournal/internal/testsize"
)

// The logs of these tests have the number presentLog. Recycled logs had the number earlierLog
// before.
const (
	presentLog = 9
	// One changed bit would turn the trailer of log 7 into the trailer of log 9, which would end
	// the log there, so that the folder is refused. The trailers of logs 8 and 9 differ in two
	// bits.
	earlierLog = 8
)

// memoryFile is a file for Pebble's writers.
type memoryFile struct{ bytes.Buffer }

func (*memoryFile) Sync() error  { return nil }
func (*memoryFile) Close() error { return nil }

// writtenFile is a file that Pebble's writers wrote.
type writtenFile struct {
	chunkFile

	// ends are the offsets after each record.
	ends    []int
	records [][]byte
}

func randomRecords(sizes []int) [][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	var records [][]byte
	for _, size := range sizes {
		r := make([]byte, size)
		for i := range r {
			r[i] = byte(random.Uint32())
		}
		records = append(records, r)
	}
	return records
}

// writeLog writes a log of records. Each record is synced before the next one is written. With
// offsets, the chunks have the synced offset. Unless closed is set, the log ends as after a crash.
func writeLog(t *testing.T, offsets, closed bool, sizes ...int) writtenFile {
	t.Helper()
	var file memoryFile
	w := record.NewLogWriter(&file, presentLog, logConfig(offsets))
	written := writtenFile{chunkFile: chunkFile{log: presentLog, isLog: true}, records: randomRecords(sizes)}
	for _, r := range written.records {
		var synced sync.WaitGroup
		var failed error
		synced.Add(1)
		end, err := w.SyncRecord(r, &synced, &failed)
		synced.Wait()
		if err = errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		written.ends = append(written.ends, int(end))
	}
	written.data = bytes.Clone(file.Bytes())
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if closed {
		written.data = bytes.Clone(file.Bytes())
	}
	return written
}

// logConfig returns the configuration that Pebble uses. Without a histogram, a log would never have
// synced offsets.
func logConfig(offsets bool) record.LogWriterConfig {
	return record.LogWriterConfig{
		WALFsyncLatency:     prometheus.NewHistogram(prometheus.HistogramOpts{}),
		WriteWALSyncOffsets: func() bool { return offsets },
	}
}

// writeEarlierLog writes a closed log of more than least bytes.
func writeEarlierLog(t *testing.T, offsets bool, least int) []byte {
	t.Helper()
	var file memoryFile
	w := record.NewLogWriter(&file, earlierLog, logConfig(offsets))
	for _, r := range randomRecords(slices.Repeat([]int{40, 90}, 2+least/100)) {
		if _, err := w.WriteRecord(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// recycled returns a log that replaces an earlier one.
func (f writtenFile) recycled(earlier []byte) writtenFile {
	return f.with(slices.Concat(f.data, earlier[len(f.data):]))
}

func writeManifest(t *testing.T, sizes ...int) writtenFile {
	t.Helper()
	var file bytes.Buffer
	w := record.NewWriter(&file)
	written := writtenFile{records: randomRecords(sizes)}
	for _, r := range written.records {
		end, err := w.WriteRecord(r)
		if err = errors.Join(err, w.Flush()); err != nil {
			t.Fatal(err)
		}
		written.ends = append(written.ends, int(end))
	}
	written.data = file.Bytes()
	return written
}

// with returns the file with other content.
func (f writtenFile) with(data []byte) writtenFile {
	f.data = data
	return f
}

// flipped returns the file with one bit changed.
func (f writtenFile) flipped(bit int) writtenFile {
	data := bytes.Clone(f.data)
	data[bit/8] ^= 1 << (bit % 8)
	return f.with(data)
}

// end returns the offset after the last record.
func (f writtenFile) end() int {
	if len(f.ends) == 0 {
		return 0
	}
	return f.ends[len(f.ends)-1]
}

// readable returns the number of records that Pebble's reader finds. It fails the test if the
// reader finds a record that was never written.
func (f writtenFile) readable(t *testing.T) int {
	t.Helper()
	reader := record.NewReader(bytes.NewReader(f.data), presentLog)
	for n := 0; ; n++ {
		next, err := reader.Next()
		if err != nil {
			return n
		}
		read, err := io.ReadAll(next)
		if err != nil {
			return n
		}
		if n >= len(f.records) || !bytes.Equal(read, f.records[n]) {
			t.Errorf("record %d was never written", n)
			return n
		}
	}
}

// kinds returns a file of each kind, with records of the given sizes.
func kinds(t *testing.T, sizes ...int) map[string]writtenFile {
	t.Helper()
	log, old := writeLog(t, true, false, sizes...), writeLog(t, false, false, sizes...)
	closed := writeLog(t, true, true, sizes...)
	earlier := writeEarlierLog(t, true, len(closed.data))
	return map[string]writtenFile{
		"log": log, "log of the old format": old, "MANIFEST": writeManifest(t, sizes...),
		"recycled log": log.recycled(earlier), "closed recycled log": closed.recycled(earlier),
		"recycled log of the old format": old.recycled(writeEarlierLog(t, false, len(closed.data))),
		"closed log":                     closed, "closed log of the old format": writeLog(t, false, true, sizes...),
	}
}

func TestChunks_FileOfPebbleIsValid(t *testing.T) {
	sizes := map[string][]int{
		"no record": nil, "an empty record": {0}, "one record": {10}, "records": {10, 200, 0, 3000},
		"records of several blocks": {100, 3 * chunkBlock, 100, chunkBlock, 100},
	}
	for name, s := range sizes {
		for kind, file := range kinds(t, s...) {
			if err := file.check(); err != nil || file.readable(t) != len(s) {
				t.Errorf("%s, %s: %v, %d of %d records", kind, name, err, file.readable(t), len(s))
			}
		}
	}
}

// TestChunks_EndOfBlock writes records that end at each of the last bytes of a block, where
// Pebble pads the block if another chunk does not fit.
func TestChunks_EndOfBlock(t *testing.T) {
	for left := range 2 * syncHeader {
		size := chunkBlock - syncHeader - left
		for kind, file := range kinds(t, size, 10, 10) {
			if err := file.check(); err != nil || file.readable(t) != 3 {
				t.Errorf("%s, %d bytes left: %v, %d records", kind, left, err, file.readable(t))
			}
		}
	}
}

// TestChunks_TornEnd cuts the last record, which was not acknowledged, at every byte. After
// the cut the file ends, or has zeros, or, in a recycled log, has earlier content.
func TestChunks_TornEnd(t *testing.T) {
	earlier := writeEarlierLog(t, true, 4*chunkBlock)
	for name, step := range map[string]int{"of a block": testsize.Of(29, 1), "of several blocks": 9973} {
		last := 150
		if name == "of several blocks" {
			last = 2*chunkBlock + 500
		}
		for kind, file := range kinds(t, 30, 0, 200, last) {
			start, end := file.ends[2], file.end()
			for cut := start; cut < end; cut += step {
				zeros := make([]byte, end-cut)
				torn := map[string]writtenFile{
					"nothing": file.with(file.data[:cut]),
					"zeros":   file.with(slices.Concat(file.data[:cut], zeros)),
				}
				if file.isLog {
					torn["an earlier log"] = file.with(file.data[:cut]).recycled(earlier)
				}
				for i, f := range torn {
					if err := f.check(); err != nil {
						t.Errorf("%s, last record %s, %d of its %d bytes, then %s: %v", kind, name, cut-start, end-start, i, err)
					}
				}
			}
		}
	}
}

// A value can contain the bytes of a trailer.
func TestChunks_TornRecordWithTrailerBytes(t *testing.T) {
	t.Parallel()
	f := writeLog(t, true, false, 100, 400)
	record := f.data[f.ends[0]:]
	copy(record[100:], []byte{0, 0, 0, 0, 0, 0, trailerType, presentLog + 1, 0, 0, 0})
	for cut := 150; cut < len(record); cut++ {
		if err := f.with(f.data[:f.ends[0]+cut]).check(); err != nil {
			t.Fatalf("cut behind %d bytes of the record: %v", cut, err)
		}
	}
}

// TestChunks_ChangedBitOfRecord changes every bit. A file in which the change hides a
// record must be refused. Bytes after the end of the last record are not checked.
func TestChunks_ChangedBitOfRecord(t *testing.T) {
	for kind, file := range kinds(t, 0, 30, 8, 60) {
		refused, harmless := 0, 0
		for bit := range 8 * len(file.data) {
			changed := file.flipped(bit)
			err := changed.check()
			whole := changed.readable(t) == len(file.records)
			inRecord := bit/8 < file.end()
			switch {
			case err == nil && !whole:
				t.Errorf("%s: bit %d of byte %d hides records", kind, bit%8, bit/8)
			case err == nil && inRecord:
				t.Errorf("%s: bit %d of byte %d is not seen", kind, bit%8, bit/8)
			case err != nil && !inRecord:
				t.Errorf("%s: bit %d of byte %d is behind the end at %d: %v", kind, bit%8, bit/8, file.end(), err)
			}
			if err != nil {
				refused++
			} else {
				harmless++
			}
		}
		t.Logf("%s: %d bits refused, %d harmless", kind, refused, harmless)
	}
}

// TestChunks_ChangedBitOfFullBlock changes the bits of the padding of a block.
func TestChunks_ChangedBitOfFullBlock(t *testing.T) {
	for _, left := range []int{1, plainHeader - 1, plainHeader, logHeader - 1, logHeader, syncHeader - 1} {
		for kind, file := range kinds(t, chunkBlock-syncHeader-left, 10, 10, 10, 10) {
			for bit := 8 * (chunkBlock - left); bit < 8*chunkBlock; bit++ {
				changed := file.flipped(bit)
				if changed.check() == nil && changed.readable(t) != len(file.records) {
					t.Errorf("%s, %d bytes left: bit %d hides records", kind, left, bit)
				}
			}
		}
	}
}

// TestChunks_LargerDamage overwrites whole records. Only the end of a file
// that was not closed looks like an interrupted write.
func TestChunks_LargerDamage(t *testing.T) {
	const records = 10
	// The number of records at the end that can be overwritten without detection. In a MANIFEST and
	// a log of the old format, only a later record proves that a record was synced. In a closed log
	// the trailer proves it, unless content of an earlier log follows. Each record of a log has the
	// offset that was synced when the record before the previous one was written. After the first
	// block Pebble's offsets are too low, so only several different offsets prove a sync.
	unseen := map[string]int{
		"MANIFEST": 1, "log of the old format": 1, "recycled log of the old format": 1, "log": 2, "recycled log": 2,
		"closed recycled log": 2, "closed recycled log of the old format": 1,
	}
	for _, size := range []int{50, 20_000} {
		for kind, file := range kinds(t, slices.Repeat([]int{size}, records)...) {
			last := unseen[kind]
			if size > 50 && last == 2 {
				last = 2*provenSyncs - 1
			}
			for i := range records {
				for what, fill := range map[string]byte{"zeros": 0, "other bytes": 0xa5} {
					err := file.overwritten(i, fill).check()
					if err == nil && i < records-last {
						t.Errorf("%s: record %d of %d, of %d bytes, overwritten with %s: not seen", kind, i, records, size, what)
					}
					if err != nil && i == records-1 && last > 0 {
						t.Errorf("%s: the last record, overwritten with %s, may be a torn end: %v", kind, what, err)
					}
				}
			}
		}
	}
}

// overwritten returns the file with the record i overwritten.
func (f writtenFile) overwritten(i int, fill byte) writtenFile {
	start := 0
	if i > 0 {
		start = f.ends[i-1]
	}
	data := bytes.Clone(f.data)
	for at := start; at < f.ends[i]; at++ {
		data[at] = fill
	}
	return f.with(data)
}
