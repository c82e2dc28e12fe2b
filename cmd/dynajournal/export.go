package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/archive"
)

type exportCommand struct {
	Args     []string `arg:"" name:"pid… file" help:"Persistence ids, and last the file."`
	All      bool     `help:"All persistence ids, found by a scan of the table."`
	Parallel int      `placeholder:"N" default:"10" help:"Read N persistence ids at the same time. Default: 10."`
}

// Help is shown below the flags' help.
func (*exportCommand) Help() string {
	return "Each persistence id is exported as it stands; payloads are not decoded. The file appears when it is whole: until then its name has an ending, and " +
		"the same command goes on with it behind the persistence ids that are in it. A file that is there is not written over."
}

// copiedResult is what was exported, imported or migrated.
type copiedResult struct {
	PersistenceIDs int64 `json:"persistence_ids"`
	Events         int64 `json:"events"`
	Snapshots      int64 `json:"snapshots"`
}

func (r copiedResult) text() string {
	return fmt.Sprintf("%d persistence ids, %d events, %d snapshots", r.PersistenceIDs, r.Events, r.Snapshots)
}

// Run runs the command.
func (c *exportCommand) Run(ctx context.Context, s *session) error {
	name, pids := c.Args[len(c.Args)-1], c.Args[:len(c.Args)-1]
	switch {
	case c.All == (len(pids) > 0):
		return usagef("give persistence ids, or --all, and then the file")
	case c.Parallel < 1:
		return usagef("--parallel must be at least 1")
	case name == "":
		return usagef("the file needs a name")
	}
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s is there already", name)
	}
	return s.journal(ctx, checking, func(j *dynajournal.Journal) error {
		e := &export{journal: j, listed: c.All, shown: newProgress(s.err, "events"), known: map[[sha256.Size]byte]bool{}}
		defer e.shown.stop()
		totals, err := e.file(ctx, name, s.where.partial(name, pids), c.ids(ctx, j, pids), c.Parallel)
		if err != nil {
			return err
		}
		if err := s.result.write(copiedResult{totals.PersistenceIDs, totals.Events, totals.Snapshots}); err != nil {
			return err
		}
		for _, err := range e.unreadable {
			if err := s.message("left out: %s", oneLine(err.Error())); err != nil {
				return err
			}
		}
		if len(e.unreadable) > 0 {
			return &partialError{fmt.Errorf("%d persistence ids or snapshots can't be read and are left out, the first: %w", len(e.unreadable), e.unreadable[0])}
		}
		return nil
	})
}

func (c *exportCommand) ids(ctx context.Context, j *dynajournal.Journal, pids []string) iter.Seq2[string, error] {
	if c.All {
		return j.CurrentPersistenceIDs(ctx, dynajournal.IDsOptions{Scan: true})
	}
	return func(yield func(string, error) bool) {
		for _, pid := range pids {
			if !yield(pid, nil) {
				return
			}
		}
	}
}

// partial is the name of an export that is not whole yet. It is another one for another journal or other persistence ids, so that
// nothing is gone on with that is of something else.
func (w *where) partial(name string, pids []string) string {
	of := fmt.Sprintf("%q %q %q %q %q %q %q", w.Endpoint, w.Region, w.Data, w.JournalTable, w.SnapshotTable, w.JournalName, pids)
	sum := sha256.Sum256([]byte(of))
	return fmt.Sprintf("%s.%x.partial", name, sum[:4])
}

// export writes persistence ids into a file, each as a whole and one after the other, while others are being read.
type export struct {
	journal *dynajournal.Journal
	// listed reports whether the journal gave the persistence ids: else one that can't be is the
	// user's mistake.
	listed bool
	shown  *progress
	known  map[[sha256.Size]byte]bool // ids that are in the file: true where a run before has put them there

	mu         sync.Mutex // held by the one that is being written
	out        *archive.Writer
	events     int64
	unreadable []error
}

// file exports into the file partial, which gets its name when it is whole.
func (e *export) file(ctx context.Context, name, partial string, pids iter.Seq2[string, error], parallel int) (_ archive.Totals, err error) {
	f, err := os.OpenFile(partial, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // beside the file that the user names
	if err != nil {
		return archive.Totals{}, fmt.Errorf("write the archive: %w", err)
	}
	defer func() {
		if closing := f.Close(); closing != nil && !errors.Is(closing, os.ErrClosed) {
			err = errors.Join(err, closing)
		}
	}()
	buffered := bufio.NewWriterSize(f, 1<<20)
	if e.out, err = e.begin(f, buffered); err != nil {
		return archive.Totals{}, fmt.Errorf("go on with %s: %w: remove it to begin anew", partial, err)
	}
	err = e.all(ctx, pids, parallel)
	if err != nil { // what is whole is gone on with
		return archive.Totals{}, errors.Join(err, buffered.Flush())
	}
	totals, err := e.out.Close()
	if err = errors.Join(err, buffered.Flush(), f.Sync(), f.Close()); err != nil {
		return totals, fmt.Errorf("write the archive: %w", err)
	}
	if err := os.Link(partial, name); err != nil { // which, other than a renaming, fails where there is a file
		if errors.Is(err, fs.ErrExist) {
			return totals, fmt.Errorf("write the archive: %w", err)
		}
		if err := os.Rename(partial, name); err != nil {
			return totals, fmt.Errorf("write the archive: %w", err)
		}
		return totals, nil
	}
	if err := os.Remove(partial); err != nil {
		return totals, fmt.Errorf("remove the part: %w", err)
	}
	return totals, nil
}

// begin begins the archive, or goes on with what of it is whole.
func (e *export) begin(f *os.File, out io.Writer) (*archive.Writer, error) {
	begun, err := archive.Scan(bufio.NewReaderSize(f, 1<<20), func(pid string) { e.known[sha256.Sum256([]byte(pid))] = true })
	fresh := errors.Is(err, archive.ErrNotArchive) || errors.Is(err, archive.ErrTruncated)
	if err != nil && !fresh {
		return nil, err
	}
	if fresh {
		begun.Size = 0
	}
	if err := f.Truncate(begun.Size); err != nil {
		return nil, fmt.Errorf("cut it: %w", err)
	}
	if _, err := f.Seek(begun.Size, io.SeekStart); err != nil {
		return nil, fmt.Errorf("write behind it: %w", err)
	}
	if fresh {
		return archive.NewWriter(out)
	}
	e.events = begun.Events
	return archive.Continue(out, begun)
}

func (e *export) all(ctx context.Context, pids iter.Seq2[string, error], parallel int) error {
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
		id := sha256.Sum256([]byte(pid))
		if before, known := e.known[id]; known {
			if e.known[id] = false; before {
				group.Go(func() error { return e.damaged(ctx, pid) })
			}
			continue
		}
		e.known[id] = false
		group.Go(func() error { return e.one(ctx, pid) })
	}
	return group.Wait()
}

// heldBytes is how much of a persistence id is read before it is its turn to be written.
const heldBytes = 1 << 20

// one exports one persistence id: it reads the beginning, waits for its turn, and writes that and the rest.
func (e *export) one(ctx context.Context, pid string) error {
	var held []dynajournal.Record
	bytes, writing := 0, false
	begin := func() error {
		e.mu.Lock()
		writing = true
		if err := e.out.Begin(pid); err != nil {
			return err
		}
		for i := range held {
			if err := e.out.Record(&held[i]); err != nil {
				return err
			}
		}
		held = nil
		return nil
	}
	defer func() {
		if writing {
			e.mu.Unlock()
		}
	}()
	events := int64(0)
	for r, err := range e.journal.Records(ctx, pid, dynajournal.RecordsOptions{}) {
		if !writing && (errors.Is(err, dynajournal.ErrCorruptItem) || errors.Is(err, dynajournal.ErrHole) ||
			e.listed && errors.Is(err, dynajournal.ErrInvalidArgument)) {
			e.leaveOut(err)
			return nil
		}
		if err != nil {
			return err
		}
		if r.Kind == dynajournal.RecordEvent {
			events++
		}
		if writing {
			err = e.out.Record(&r)
		} else if held, bytes = append(held, r), bytes+len(r.Bytes)+recordOverhead; bytes > heldBytes {
			err = begin()
		}
		if err != nil {
			return err
		}
	}
	if !writing {
		if err := begin(); err != nil {
			return err
		}
	}
	if err := e.snapshots(ctx, pid); err != nil {
		return err
	}
	e.events += events
	e.shown.set(e.events)
	return e.out.End()
}

// leaveOut remembers a persistence id that can't be read, before it is its turn.
func (e *export) leaveOut(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unreadable = append(e.unreadable, err)
}

// recordOverhead is about what a record takes in memory besides its bytes.
const recordOverhead = 256

// damaged finds again the snapshots that a run before has left out of the file.
func (e *export) damaged(ctx context.Context, pid string) error {
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

func (e *export) snapshots(ctx context.Context, pid string) error {
	for s, err := range e.journal.Snapshots(ctx, pid, dynajournal.SnapshotCriteria{}) {
		if errors.Is(err, dynajournal.ErrTableNotFound) {
			return nil
		}
		if damaged := new(dynajournal.DamagedSnapshotError); errors.As(err, &damaged) {
			e.unreadable = append(e.unreadable, err)
			continue
		}
		if err == nil {
			err = e.out.Snapshot(&archive.Snapshot{
				SequenceNumber:     s.SequenceNumber,
				Timestamp:          s.Timestamp.UnixMilli(),
				SerializerID:       s.SerializerID,
				SerializerManifest: s.SerializerManifest,
				Bytes:              s.Bytes,
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
