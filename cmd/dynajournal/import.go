package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/archive"
)

type importCommand struct {
	File     string `arg:"" help:"The file of an export."`
	Parallel int    `placeholder:"N" default:"10" help:"Write N persistence ids at the same time. Default: 10."`
}

// Help returns the text below the help of the flags.
func (*importCommand) Help() string {
	return "The whole file is checked before anything is written. A persistence id must be new in the journal, or " +
		"its stored events must be the beginning of the same history. Stored events are compared, never " +
		"overwritten, so run an interrupted import again. A persistence id with different content is refused; the " +
		"others are imported. After each persistence id, the journal is read and compared with the archive, by " +
		"count and checksum. Exit status 1: a persistence id was refused, or the journal differs from the " +
		"archive. On an embedded engine without tables, the command first creates the tables of a native journal."
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
		return fmt.Errorf("%s is not a regular file: an archive is read twice, so save it as a file first", c.File)
	}
	// A file that is damaged or not an archive is refused before a table is created or an event is
	// written.
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
		i := &importRun{journal: j, in: r, contents: contents, progress: func() { shown.set(in.read.Load()) }}
		if err := i.all(ctx, c.Parallel); err != nil {
			return errors.Join(s.result.write(i.result()), fmt.Errorf("%s: %w", c.File, err))
		}
		return errors.Join(s.result.write(i.result()), i.report(s))
	})
}

// report prints the persistence ids that were refused or that differ from the archive. It returns
// an error if there are any.
func (i *importRun) report(s *session) error {
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
		differ := fmt.Errorf("%d persistence ids differ from the archive, the first: %w", len(i.different),
			i.different[0])
		failed = errors.Join(failed, differ)
	}
	if failed == nil && i.checksum != i.contents.Checksum {
		failed = fmt.Errorf("the journal has the checksum %s, the archive had %s: it was changed during the import",
			i.checksum, i.contents.Checksum)
	}
	if failed != nil {
		return &partialError{failed}
	}
	return nil
}

func (i *importRun) result() importedResult {
	return importedResult{
		exportedResult: exportedResult{copiedResult{i.done.PersistenceIDs, i.done.Events, i.done.Snapshots},
			i.checksum.String()},
		Written:          i.written.Events,
		AlreadyThere:     i.done.Events - i.written.Events,
		SnapshotsWritten: i.written.Snapshots,
		Refused:          int64(len(i.refused)),
	}
}

// importedResult counts the persistence ids, events and snapshots that were imported and compared.
// Written and SnapshotsWritten count the events and snapshots that the journal lacked. AlreadyThere
// counts events that were in the journal before. Refused counts persistence ids. Checksum is
// computed from the content of the journal.
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
	return n, err
}
