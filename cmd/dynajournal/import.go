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
	return "A persistence id must be new, or hold a beginning of the same history: what is there is compared, never written over. So an import that was " +
		"interrupted is simply called again. A persistence id with other content fails, the others are imported. On an embedded engine without tables, " +
		"those of a native journal are made first."
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
	in := &countedReader{in: f}
	// What is no archive is refused before any table is made.
	r, err := archive.NewReader(bufio.NewReaderSize(in, 1<<20), dynajournal.DefaultMaxSnapshotBytes)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	defer r.Close()
	return s.journal(ctx, copying, func(j *dynajournal.Journal) error {
		shown := newProgressOf(s.err, "bytes read", info.Size())
		defer shown.stop()
		i := &importing{journal: j, in: r, progress: func() { shown.set(in.read.Load()) }}
		if err := i.all(ctx, c.Parallel); err != nil {
			return fmt.Errorf("%s: %w", c.File, err)
		}
		copied := copiedResult{i.done.PersistenceIDs, i.done.Events, i.done.Snapshots}
		if err := s.result.write(importedResult{copied, i.written, i.done.Events - i.written, int64(len(i.failed))}); err != nil {
			return err
		}
		for _, err := range i.failed {
			if err := s.message("failed: %s", oneLine(err.Error())); err != nil {
				return err
			}
		}
		if len(i.failed) > 0 {
			return &partialError{fmt.Errorf("%d persistence ids failed, the first: %w", len(i.failed), i.failed[0])}
		}
		return nil
	})
}

// importedResult is what was imported: how many of the events were written, how many were there
// already, and how many persistence ids were refused.
type importedResult struct {
	copiedResult

	Written      int64 `json:"written"`
	AlreadyThere int64 `json:"already_there"`
	Refused      int64 `json:"refused"`
}

func (r importedResult) text() string {
	return fmt.Sprintf("%s: %d events were written, %d were there already, %d persistence ids were refused",
		r.copiedResult.text(), r.Written, r.AlreadyThere, r.Refused)
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
	progress func()

	mu      sync.Mutex
	done    archive.Totals
	written int64
	failed  []error
}

// portion is a persistence id, or the first part of one.
type portion struct {
	pid       string
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
		p.pid = item.PersistenceID
		p.take(&item)
	}
}

func (p *portion) take(item *archive.Item) {
	switch {
	case item.Record != nil:
		p.records = append(p.records, *item.Record)
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
	if err == nil {
		err = i.save(ctx, p.snapshots)
	}
	return i.ended(ctx, p.pid, result, int64(len(p.snapshots)), err)
}

func (i *importing) save(ctx context.Context, snapshots []dynajournal.Snapshot) error {
	for _, s := range snapshots {
		if _, err := i.journal.CopySnapshot(ctx, s); err != nil {
			return err //nolint:wrapcheck // says what it is
		}
	}
	return nil
}

// ended counts a persistence id. An error that concerns it alone does not end the import.
func (i *importing) ended(ctx context.Context, pid string, result dynajournal.PutRecordsResult, snapshots int64, err error) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	alone := errors.Is(err, dynajournal.ErrContentConflict) || errors.Is(err, dynajournal.ErrInvalidArgument) ||
		errors.Is(err, dynajournal.ErrRejected) || errors.Is(err, dynajournal.ErrCorruptItem)
	switch {
	case err == nil:
		i.done.PersistenceIDs++
		i.done.Events += result.Events
		i.written += result.Written
		i.done.Snapshots += snapshots
	case alone && ctx.Err() == nil:
		i.failed = append(i.failed, fmt.Errorf("%q: %w", pid, err))
		return nil
	}
	return err
}

// large writes a persistence id while it is being read; rest is the item behind what was read.
func (i *importing) large(ctx context.Context, p *portion, rest *archive.Item) error {
	var damage error // an error of the archive, which ends the import
	next := func() {
		item, err := i.in.Next()
		rest, damage = &item, err
		i.progress()
	}
	result, err := i.journal.PutRecords(ctx, p.pid, func(yield func(dynajournal.Record, error) bool) {
		for _, r := range p.records {
			if !yield(r, nil) {
				return
			}
		}
		for ; damage == nil && rest.Record != nil; next() {
			if !yield(*rest.Record, nil) {
				return
			}
		}
		if damage != nil {
			yield(dynajournal.Record{}, damage)
		}
	}, dynajournal.PutRecordsOptions{})
	if err == nil {
		err = i.save(ctx, p.snapshots)
	}
	snapshots := int64(len(p.snapshots))
	for ; damage == nil && !rest.End; next() { // after an error the rest is passed over
		if rest.Snapshot != nil && err == nil {
			snapshots++
			err = i.save(ctx, []dynajournal.Snapshot{snapshotOf(rest)})
		}
	}
	if damage != nil {
		return damage
	}
	return i.ended(ctx, p.pid, result, snapshots, err)
}
