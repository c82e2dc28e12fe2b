package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/archive"
)

type importCommand struct {
	File     string `arg:"" help:"The file that an export has made."`
	Parallel int    `placeholder:"N" default:"10" help:"Write N persistence ids at the same time. Default: 10."`
}

// Help is shown below the flags' help.
func (*importCommand) Help() string {
	return "The whole file is checked before anything is written. " +
		"A persistence id must be new, or hold a beginning of the same history: what is there is compared, never written over. So an import that was " +
		"interrupted is simply called again. A persistence id with other content is refused, the others are imported. Of each one the journal is then read " +
		"and compared with the archive, by count and checksum; a difference is exit status 1. On an embedded engine without tables, those of a native " +
		"journal are made first."
}

// Run runs the command.
func (c *importCommand) Run(ctx context.Context, s *session) (err error) {
	if c.Parallel < 1 {
		return usagef("--parallel must be at least 1")
	}
	f, err := os.Open(c.File)
	if err != nil {
		return fmt.Errorf("open the archive: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open the archive: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file, and an archive is read twice: make it a file first", c.File)
	}
	// What is no archive, or is damaged, is refused before a table is made or an event written.
	contents, err := archive.Check(f, dynajournal.DefaultMaxSnapshotBytes, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	in := &countedReader{in: f}
	r, err := archive.NewReader(bufio.NewReaderSize(in, 1<<20), dynajournal.DefaultMaxSnapshotBytes)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	defer r.Close()
	return s.currentJournal(ctx, copying, func(j *dynajournal.Journal) error {
		shown := newProgressOf(s.err, "bytes read", info.Size())
		defer shown.stop()
		i := &importing{journal: j, in: r, contents: contents, progress: func() { shown.set(in.read.Load()) }}
		if err := i.all(ctx, c.Parallel); err != nil {
			return errors.Join(s.result.write(i.result()), fmt.Errorf("%s: %w", c.File, err))
		}
		return errors.Join(s.result.write(i.result()), i.tell(s))
	})
}

// tell names the persistence ids that were refused, and those that differ.
func (i *importing) tell(s *session) error {
	for _, err := range i.refused {
		if err := s.message("refused: %s", oneLine(err.Error())); err != nil {
			return err
		}
	}
	for _, err := range i.different {
		if err := s.message("different: %s", oneLine(err.Error())); err != nil {
			return err
		}
	}
	var failed error
	if len(i.refused) > 0 {
		failed = fmt.Errorf("%d persistence ids failed, the first: %w", len(i.refused), i.refused[0])
	}
	if len(i.different) > 0 {
		differ := fmt.Errorf("%d persistence ids differ from the archive, the first: %w", len(i.different), i.different[0])
		failed = errors.Join(failed, differ)
	}
	if failed == nil && i.checksum != i.contents.Checksum {
		failed = fmt.Errorf("the journal has the checksum %s, the archive had %s: it was changed meanwhile", i.checksum, i.contents.Checksum)
	}
	if failed != nil {
		return &partialError{failed}
	}
	return nil
}

func (i *importing) result() importedResult {
	return importedResult{
		exportedResult:   exportedResult{copiedResult{i.done.PersistenceIDs, i.done.Events, i.done.Snapshots}, i.checksum.String()},
		Written:          i.written.Events,
		AlreadyThere:     i.done.Events - i.written.Events,
		SnapshotsWritten: i.written.Snapshots,
		Refused:          int64(len(i.refused)),
	}
}

// importedResult is what was imported and found equal: how many of the events and snapshots were
// written, how many events were there already, and how many persistence ids were refused. The
// checksum is of what the journal holds.
type importedResult struct {
	exportedResult

	Written          int64 `json:"written"`
	AlreadyThere     int64 `json:"already_there"`
	SnapshotsWritten int64 `json:"snapshots_written"`
	Refused          int64 `json:"refused"`
}

func (r importedResult) text() string {
	return fmt.Sprintf("%s: %d events and %d snapshots were written, %d events and %d snapshots were there already, "+
		"%d persistence ids were refused; checksum %s", r.copiedResult.text(), r.Written, r.SnapshotsWritten,
		r.AlreadyThere, r.Snapshots-r.SnapshotsWritten, r.Refused, r.Checksum)
}

// countedReader counts the bytes that were read.
type countedReader struct {
	in   io.Reader
	read atomic.Int64
}

// Read reads.
func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.read.Add(int64(n))
	return n, err //nolint:wrapcheck // a reader hands errors on as they are
}

// importing reads persistence ids out of an archive and writes them into a journal: small ones several at the same time, large ones
// while they are being read.
type importing struct {
	journal  *dynajournal.Journal
	in       *archive.Reader
	contents archive.Contents
	progress func()

	mu        sync.Mutex
	done      archive.Totals // what is imported and equal
	written   archive.Totals // the part of it that was not there
	checksum  archive.Checksum
	refused   []error
	different []error
}

// portion is a persistence id, or the first part of one.
type portion struct {
	pid       string
	want      *expectation
	records   []dynajournal.Record
	snapshots []dynajournal.Snapshot
	bytes     int
}

func (i *importing) all(ctx context.Context, parallel int) error {
	group, writing := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	var err error
	for err == nil && writing.Err() == nil {
		var p *portion
		var rest *archive.Item
		if p, rest, err = i.next(); err != nil || p == nil {
			break
		}
		i.progress()
		if rest == nil {
			group.Go(func() error { return i.write(writing, p) })
			continue
		}
		err = i.large(writing, p, rest)
	}
	return errors.Join(err, group.Wait())
}

// next reads a persistence id up to heldBytes, and the item after that if there is more of it. It is nil after the last.
func (i *importing) next() (*portion, *archive.Item, error) {
	p := &portion{}
	for {
		item, err := i.in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil, nil
		case err != nil:
			return nil, nil, err
		case item.End:
			return p, nil, nil
		case p.bytes > heldBytes:
			return p, &item, nil
		}
		if p.want == nil {
			p.pid, p.want = item.PersistenceID, expect(&i.contents, item.PersistenceID)
		}
		p.take(&item)
	}
}

func (p *portion) take(item *archive.Item) {
	p.want.take(item)
	switch {
	case item.Record != nil:
		p.records = append(p.records, recordOf(item.Record))
		p.bytes += len(item.Record.Bytes) + recordOverhead
	case item.Snapshot != nil:
		p.snapshots = append(p.snapshots, snapshotOf(item))
		p.bytes += len(item.Snapshot.Bytes) + recordOverhead
	}
}

func snapshotOf(item *archive.Item) dynajournal.Snapshot {
	s := item.Snapshot
	return dynajournal.Snapshot{
		SnapshotMetadata: dynajournal.SnapshotMetadata{
			PersistenceID: item.PersistenceID, SequenceNumber: s.SequenceNumber, Timestamp: time.UnixMilli(s.Timestamp).UTC(),
		},
		SerializerID:       s.SerializerID,
		SerializerManifest: s.SerializerManifest,
		Bytes:              s.Bytes,
	}
}

// write writes a persistence id that was read as a whole.
func (i *importing) write(ctx context.Context, p *portion) error {
	result, err := i.journal.PutRecords(ctx, p.pid, func(yield func(dynajournal.Record, error) bool) {
		for _, r := range p.records {
			if !yield(r, nil) {
				return
			}
		}
	}, dynajournal.PutRecordsOptions{})
	saved := int64(0)
	if err == nil {
		saved, err = i.save(ctx, p.snapshots)
	}
	return i.ended(ctx, p.want, result, saved, err)
}

// save saves snapshots, and returns how many were not there.
func (i *importing) save(ctx context.Context, snapshots []dynajournal.Snapshot) (int64, error) {
	saved := int64(0)
	for _, s := range snapshots {
		written, err := i.journal.CopySnapshot(ctx, s)
		if err != nil {
			return saved, err //nolint:wrapcheck // says what it is
		}
		if written {
			saved++
		}
	}
	return saved, nil
}

// ended compares a persistence id that was written with the archive, and counts it. An error that
// concerns it alone does not end the import.
func (i *importing) ended(ctx context.Context, want *expectation, result dynajournal.PutRecordsResult, saved int64, err error) error {
	var found archive.Checksum
	if err == nil {
		found, err = want.compare(ctx, i.journal)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	alone := errors.Is(err, dynajournal.ErrContentConflict) || errors.Is(err, dynajournal.ErrInvalidArgument) ||
		errors.Is(err, dynajournal.ErrRejected) || errors.Is(err, dynajournal.ErrCorruptItem)
	switch {
	case err == nil:
		i.done.PersistenceIDs++
		i.done.Events += result.Events
		i.done.Snapshots += int64(len(want.snapshots))
		i.written.Events += result.Written
		i.written.Snapshots += saved
		i.checksum.Add(found)
		return nil
	case errors.Is(err, errDiffers):
		i.different = append(i.different, fmt.Errorf("%q: %w", want.pid, err))
		return nil
	case alone && ctx.Err() == nil:
		if result.Written > 0 {
			err = fmt.Errorf("%w (%d of its events were written before)", err, result.Written)
		}
		i.refused = append(i.refused, fmt.Errorf("%q: %w", want.pid, err))
		return nil
	}
	return err
}

// large writes a persistence id while it is being read; rest is the item behind what was read.
func (i *importing) large(ctx context.Context, p *portion, rest *archive.Item) error {
	var damage error // an error of the archive, which ends the import
	p.want.take(rest)
	next := func() {
		item, err := i.in.Next()
		if rest, damage = &item, err; err == nil {
			p.want.take(&item)
		}
		i.progress()
	}
	result, err := i.journal.PutRecords(ctx, p.pid, func(yield func(dynajournal.Record, error) bool) {
		for _, r := range p.records {
			if !yield(r, nil) {
				return
			}
		}
		for ; damage == nil && rest.Record != nil; next() {
			if !yield(recordOf(rest.Record), nil) {
				return
			}
		}
		if damage != nil {
			yield(dynajournal.Record{}, damage)
		}
	}, dynajournal.PutRecordsOptions{})
	saved := int64(0)
	if err == nil {
		saved, err = i.save(ctx, p.snapshots)
	}
	for ; damage == nil && !rest.End; next() { // after an error the rest is passed over
		if rest.Snapshot != nil && err == nil {
			var more int64
			more, err = i.save(ctx, []dynajournal.Snapshot{snapshotOf(rest)})
			saved += more
		}
	}
	if damage != nil {
		return damage
	}
	return i.ended(ctx, p.want, result, saved, err)
}
