package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/archive"
	"github.com/dynajournal/dynajournal/internal/newfile"
)

// partial returns the file name of an unfinished export. The name depends on the journal and the
// persistence ids, so that an export only continues an export of the same content.
func (w *location) partial(name string, pids []string) string {
	of := fmt.Sprintf("%q %q %q %q %q %q %q", w.Endpoint, w.Region, w.Data, w.JournalTable, w.SnapshotTable,
		w.JournalName, pids)
	sum := sha256.Sum256([]byte(of))
	return fmt.Sprintf("%s.%x.partial", name, sum[:4])
}

// exportRun writes persistence ids into a file, one after the other, while it reads others.
type exportRun struct {
	journal *dynajournal.Journal
	// listed reports whether the journal listed the persistence ids. Otherwise an invalid id is the
	// user's mistake.
	listed bool
	// skipMissing reports whether numbers at which events are missing are exported as closed.
	// Otherwise their persistence ids are left out.
	skipMissing bool

	shown *progress
	known map[idKey]bool // ids in the file; true if an earlier run wrote the id

	mu         sync.Mutex // locked while a persistence id is written
	out        *archive.Writer
	sums       map[idKey]archive.Checksum // of the ids of this run, as read from the journal
	events     int64
	unreadable []error
}

// idKey identifies a persistence id in 16 bytes.
type idKey [sha256.Size / 2]byte

func keyOf(pid string) idKey {
	sum := sha256.Sum256([]byte(pid))
	return idKey(sum[:])
}

// file exports to the file partial, reads it back, and renames it to name.
func (e *exportRun) file(
	ctx context.Context, name, partial string, pids iter.Seq2[string, error], parallel int,
) (_ archive.Contents, err error) {
	f, err := os.OpenFile(partial, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // next to the file of the user
	if err != nil {
		return archive.Contents{}, fmt.Errorf("write the archive: %w", err)
	}
	defer func() {
		if closing := f.Close(); closing != nil && !errors.Is(closing, os.ErrClosed) {
			err = errors.Join(err, closing)
		}
	}()
	buffered := bufio.NewWriterSize(f, 1<<20)
	if e.out, err = e.start(f, buffered); err != nil {
		return archive.Contents{}, fmt.Errorf("continue %s: %w: remove it to start again", partial, err)
	}
	// The next run continues after the complete part.
	if err = e.all(ctx, pids, parallel); err != nil {
		if flushing := buffered.Flush(); !errors.Is(err, flushing) {
			err = errors.Join(err, flushing)
		}
		return archive.Contents{}, err
	}
	written, err := e.out.Close()
	if err == nil {
		err = buffered.Flush()
	}
	if err = errors.Join(err, f.Sync()); err != nil {
		return archive.Contents{}, fmt.Errorf("write the archive: %w", err)
	}
	exported, err := e.readBack(f, written)
	if err != nil {
		return exported, fmt.Errorf("read back %s: %w: remove it to start again", partial, err)
	}
	if err := f.Close(); err != nil { // first, because Windows does not rename an open file
		return exported, fmt.Errorf("write the archive: %w", err)
	}
	if err := newfile.Publish(partial, name); err != nil {
		return exported, fmt.Errorf("write the archive: %w", err)
	}
	return exported, nil
}

// errOther reports that the file differs from the data read from the journal.
var errOther = errors.New("the archive differs from the data read from the journal")

// readBack compares the file with the data that this run read from the journal. Persistence ids of
// an earlier run are only checked by the checksums of their blocks.
func (e *exportRun) readBack(f io.ReadSeeker, written archive.Totals) (archive.Contents, error) {
	found, err := archive.Check(f, math.MaxInt64, func(pid string, sum archive.Checksum) error {
		want, ok := e.sums[keyOf(pid)]
		if ok && want != sum {
			return fmt.Errorf("%w: %q has checksum %s, want %s", errOther, pid, sum, want)
		}
		delete(e.sums, keyOf(pid))
		return nil
	})
	switch {
	case err != nil:
		return found, err
	case found.Totals != written:
		return found, fmt.Errorf("%w: it has totals %+v, want %+v", errOther, found.Totals, written)
	case len(e.sums) > 0:
		return found, fmt.Errorf("%w: %d persistence ids are missing", errOther, len(e.sums))
	}
	return found, nil
}

// start starts the archive, or continues after the complete part of an unfinished one.
func (e *exportRun) start(f *os.File, out io.Writer) (*archive.Writer, error) {
	complete, err := archive.Scan(bufio.NewReaderSize(f, 1<<20), func(pid string) { e.known[keyOf(pid)] = true })
	fresh := errors.Is(err, archive.ErrNotArchive) || errors.Is(err, archive.ErrTruncated)
	if err != nil && !fresh {
		return nil, err
	}
	if fresh {
		complete.Size = 0
	}
	if err := f.Truncate(complete.Size); err != nil {
		return nil, fmt.Errorf("truncate the archive: %w", err)
	}
	if _, err := f.Seek(complete.Size, io.SeekStart); err != nil {
		return nil, fmt.Errorf("seek to the end of the archive: %w", err)
	}
	if fresh {
		return archive.NewWriter(out)
	}
	e.events = complete.Events
	return archive.Continue(out, complete)
}

func (e *exportRun) all(ctx context.Context, pids iter.Seq2[string, error], parallel int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for pid, err := range pids {
		if err != nil {
			group.Go(func() error { return err })
			break
		}
		if ctx.Err() != nil {
			break
		}
		id := keyOf(pid)
		if before, known := e.known[id]; known {
			if e.known[id] = false; before {
				group.Go(func() error { return e.recordDamagedSnapshots(ctx, pid) })
			}
			continue
		}
		e.known[id] = false
		group.Go(func() error { return e.one(ctx, pid) })
	}
	return group.Wait()
}

// beginningBytes limits the bytes of a persistence id that are read before its first write.
const beginningBytes = 1 << 20

// nextRecord returns the next record of a persistence id. It reports false after the last one.
type nextRecord func() (dynajournal.Record, error, bool)

// one exports one persistence id. It reads the first records without the lock, while other ids are
// written. Then it writes them, and reads and writes the rest.
func (e *exportRun) one(ctx context.Context, pid string) error {
	next, stop := iter.Pull2(e.journal.Records(ctx, pid, dynajournal.RecordsOptions{SkipMissing: e.skipMissing}))
	defer stop()
	beginning, err := readBeginning(next)
	switch {
	case errors.Is(err, dynajournal.ErrCorruptItem), errors.Is(err, dynajournal.ErrHole), errors.Is(err, dynajournal.ErrEventMissing),
		e.listed && errors.Is(err, dynajournal.ErrInvalidArgument):
		e.leaveOut(err)
		return nil
	case err != nil:
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.write(ctx, pid, beginning, next)
}

// readBeginning reads records up to beginningBytes.
func readBeginning(next nextRecord) ([]dynajournal.Record, error) {
	var beginning []dynajournal.Record
	for bytes := 0; bytes <= beginningBytes; {
		r, err, ok := next()
		if !ok || err != nil {
			return beginning, err
		}
		beginning = append(beginning, r)
		bytes += len(r.Bytes) + recordOverhead
	}
	return beginning, nil
}

// write writes a persistence id: the records in beginning, the records that follow, and the
// snapshots. The caller holds mu.
func (e *exportRun) write(ctx context.Context, pid string, beginning []dynajournal.Record, next nextRecord) error {
	read, events, behind, purged := archive.NewDigest(pid, 0), int64(0), int64(0), int64(0)
	if err := e.out.Start(pid); err != nil {
		return err
	}
	put := func(r *dynajournal.Record) error {
		if r.Kind == dynajournal.RecordEvent {
			events++
		}
		behind, purged = max(behind, r.Behind), max(purged, r.Purged)
		record := archivedRecord(r)
		read.Record(record)
		return e.out.Record(record)
	}
	for i := range beginning {
		if err := put(&beginning[i]); err != nil {
			return err
		}
	}
	for {
		r, err, ok := next()
		if !ok {
			break
		}
		if err == nil {
			err = put(&r)
		}
		if err != nil {
			return err
		}
	}
	newest, err := e.snapshots(ctx, pid, purged, read)
	if err != nil {
		return err
	}
	if newest < behind {
		missing := &dynajournal.SnapshotMissingError{PersistenceID: pid, DeletedTo: behind, Newest: newest}
		e.unreadable = append(e.unreadable, missing)
	}
	e.events += events
	e.shown.set(e.events)
	e.sums[keyOf(pid)] = read.Sum()
	return e.out.End()
}

// leaveOut records the error of a persistence id or snapshot that can't be read.
func (e *exportRun) leaveOut(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unreadable = append(e.unreadable, err)
}

// recordOverhead is the approximate memory of a record, besides its bytes.
const recordOverhead = 256

// recordDamagedSnapshots records the damaged snapshots of a persistence id that an earlier run
// exported: that run left them out of the file.
func (e *exportRun) recordDamagedSnapshots(ctx context.Context, pid string) error {
	for _, err := range e.journal.Snapshots(ctx, pid, dynajournal.SnapshotCriteria{}) {
		damaged := new(dynajournal.DamagedSnapshotError)
		switch {
		case errors.Is(err, dynajournal.ErrTableNotFound):
			return nil
		case errors.As(err, &damaged):
			e.leaveOut(err)
		case err != nil:
			return err
		}
	}
	return nil
}

// snapshots writes the snapshots of a persistence id. It returns the sequence number of the newest
// one, even if that one can't be read. Snapshots up to purged are remains of a purge. The caller
// holds mu.
func (e *exportRun) snapshots(ctx context.Context, pid string, purged int64, read *archive.Digest) (int64, error) {
	newest, criteria := int64(0), dynajournal.SnapshotCriteria{}
	if purged > 0 {
		criteria.MinSequenceNumber = purged + 1
	}
	for s, err := range e.journal.Snapshots(ctx, pid, criteria) {
		if errors.Is(err, dynajournal.ErrTableNotFound) {
			return newest, nil
		}
		if damaged := new(dynajournal.DamagedSnapshotError); errors.As(err, &damaged) {
			newest = max(newest, damaged.SequenceNumber)
			e.unreadable = append(e.unreadable, err)
			continue
		}
		newest = max(newest, s.SequenceNumber)
		if err == nil {
			saved := archivedSnapshot(s)
			read.Snapshot(saved)
			err = e.out.Snapshot(saved)
		}
		if err != nil {
			return newest, err
		}
	}
	return newest, nil
}

func archivedSnapshot(s dynajournal.Snapshot) *archive.Snapshot {
	return &archive.Snapshot{
		SequenceNumber:     s.SequenceNumber,
		Timestamp:          s.Timestamp.UnixMilli(),
		SerializerID:       s.SerializerID,
		SerializerManifest: s.SerializerManifest,
		Bytes:              s.Bytes,
	}
}
