package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/archive"
)

// importRun reads persistence ids from an archive and writes them into a journal. It writes several
// small ones at the same time, and a large one while it is still being read.
type importRun struct {
	journal  *dynajournal.Journal
	in       *archive.Reader
	contents archive.Contents
	progress func()

	mu        sync.Mutex
	done      archive.Totals // imported and found equal
	written   archive.Totals // the part of done that the journal lacked
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

func (i *importRun) all(ctx context.Context, parallel int) error {
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

// next reads a persistence id up to beginningBytes. If the id has more items, next also returns the
// next one. It returns nil after the last id.
func (i *importRun) next() (*portion, *archive.Item, error) {
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
		case p.bytes > beginningBytes:
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
			PersistenceID: item.PersistenceID, SequenceNumber: s.SequenceNumber,
			Timestamp: time.UnixMilli(s.Timestamp).UTC(),
		},
		SerializerID:       s.SerializerID,
		SerializerManifest: s.SerializerManifest,
		Bytes:              s.Bytes,
	}
}

// write writes a persistence id that was read completely.
func (i *importRun) write(ctx context.Context, p *portion) error {
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
	return i.finish(ctx, p.want, result, saved, err)
}

// save saves snapshots, and returns how many the journal lacked.
func (i *importRun) save(ctx context.Context, snapshots []dynajournal.Snapshot) (int64, error) {
	saved := int64(0)
	for _, s := range snapshots {
		written, err := i.journal.CopySnapshot(ctx, s)
		if err != nil {
			return saved, err
		}
		if written {
			saved++
		}
	}
	return saved, nil
}

// finish compares a written persistence id with the archive, and counts it. An error that concerns
// only this id does not stop the import.
func (i *importRun) finish(
	ctx context.Context, want *expectation, result dynajournal.PutRecordsResult, saved int64, err error,
) error {
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
	case errors.Is(err, errDiffers), errors.Is(err, dynajournal.ErrSnapshotMissing):
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

// large writes a persistence id while it is being read. rest is the item after p.
func (i *importRun) large(ctx context.Context, p *portion, rest *archive.Item) error {
	p.want.take(rest)
	l := &largeID{portion: p, run: i, item: rest}
	result, err := i.journal.PutRecords(ctx, p.pid, l.all, dynajournal.PutRecordsOptions{})
	saved := int64(0)
	if err == nil {
		saved, err = i.save(ctx, p.snapshots)
	}
	for ; l.damage == nil && !l.item.End; l.next() { // after an error the rest is skipped
		if l.item.Snapshot != nil && err == nil {
			var more int64
			more, err = i.save(ctx, []dynajournal.Snapshot{snapshotOf(l.item)})
			saved += more
		}
	}
	if l.damage != nil {
		return l.damage
	}
	return i.finish(ctx, p.want, result, saved, err)
}

// largeID is a persistence id whose first portion was read, and whose other items are read one by
// one.
type largeID struct {
	*portion

	run *importRun
	// item is the current item after the portion.
	item *archive.Item
	// damage is an error of the archive, which stops the import.
	damage error
}

// next reads the next item.
func (l *largeID) next() {
	item, err := l.run.in.Next()
	if err == nil {
		l.want.take(&item)
	}
	l.item, l.damage = &item, err
	l.run.progress()
}

// all yields all records, and reads the archive up to the item after the last one.
func (l *largeID) all(yield func(dynajournal.Record, error) bool) {
	for _, r := range l.records {
		if !yield(r, nil) {
			return
		}
	}
	for ; l.damage == nil && l.item.Record != nil; l.next() {
		if !yield(recordOf(l.item.Record), nil) {
			return
		}
	}
	if l.damage != nil {
		yield(dynajournal.Record{}, l.damage)
	}
}
