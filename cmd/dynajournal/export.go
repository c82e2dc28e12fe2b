package main

import (
	"context"
	"fmt"
	"iter"
	"os"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/archive"
	"github.com/dynajournal/dynajournal/internal/filelock"
)

type exportCommand struct {
	Args        []string `arg:"" name:"pid… file" help:"Persistence ids, and the file as the last argument."`
	All         bool     `help:"Export all persistence ids, which a scan of the table finds."`
	SkipMissing bool     `help:"Also export persistence ids with missing events, and close the missing numbers. Default: leave these ids out, with an error."`
	Parallel    int      `placeholder:"N" default:"10" help:"Read N persistence ids at the same time. Default: 10."`
}

// Help returns the text below the help of the flags.
func (*exportCommand) Help() string {
	return "Items are exported as they are stored; payloads are not decoded. The file has a " +
		"temporary name until it is complete. After an interruption, run the same command again: it " +
		"continues after the persistence ids in the temporary file. An existing file is not " +
		"overwritten. If two exports write to one file at the same time, the second one fails " +
		"at once. At the end the file is read back and compared with the data from the journal, " +
		"by count and checksum. An import of the same content prints the same checksum. --all " +
		"finds the persistence ids in the journal table: name an id that has only snapshots."
}

// exportedResult is the result of an export. Checksum depends only on the content of the archive:
// the same content has the same checksum, even after an import and another export.
type exportedResult struct {
	copiedResult

	Checksum string `json:"checksum"`
}

func (r exportedResult) text() string { return r.copiedResult.text() + ", checksum " + r.Checksum }

// copiedResult counts the persistence ids, events and snapshots of an export, an import or a
// migration.
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
		return usagef("the name of the file must not be empty")
	}
	// The lock is on the name of the file, not on the unfinished part: exports of different
	// persistence ids have different parts.
	guard, err := filelock.Acquire(name + ".partial.lock")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer guard.Release()
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s already exists: give another name, or remove it first", name)
	}
	return s.currentJournal(ctx, checking, func(j *dynajournal.Journal) error {
		total := int64(unknownTotal)
		if c.All && isTerminal(s.err) {
			total = countItems(ctx, s.opened.config)
		}
		e := &exportRun{journal: j, listed: c.All, skipMissing: c.SkipMissing, shown: newProgressOf(s.err, "events", total), known: map[idKey]bool{},
			sums: map[idKey]archive.Checksum{}}
		defer e.shown.stop()
		exported, err := e.file(ctx, name, s.location.partial(name, pids), c.ids(ctx, j, pids), c.Parallel)
		if err != nil {
			return err
		}
		if err := s.result.write(exportedResult{
			copiedResult{exported.PersistenceIDs, exported.Events, exported.Snapshots}, exported.Checksum.String(),
		}); err != nil {
			return err
		}
		for _, err := range e.unreadable {
			if err := s.message("left out: %s", oneLine(err.Error())); err != nil {
				return err
			}
		}
		if len(e.unreadable) > 0 {
			return &partialError{fmt.Errorf("left out %d persistence ids or snapshots that are missing or can't be read, the first: %w", len(e.unreadable), e.unreadable[0])}
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
