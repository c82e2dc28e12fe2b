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
	SkipMissing bool     `help:"Export also persistence ids of which events are missing, with these numbers closed. Default: leave them out, with an error."`
	Parallel    int      `placeholder:"N" default:"10" help:"Read N persistence ids at the same time. Default: 10."`
}

// Help returns the text below the help of the flags.
func (*exportCommand) Help() string {
	return "Persistence ids are exported as they are stored; payloads are not decoded. The file gets its name " +
		"when it is complete. Until then it has a temporary name, and the same command continues after the " +
		"persistence ids that are in it. An existing file is not overwritten. Of two exports to one file " +
		"at the same time the second fails at once. At the end the file is read back and compared with " +
		"what was read from the journal, by count and checksum. An import of the same content prints the " +
		"same checksum. With --all, a persistence id is found by what the journal has of it. Name one that has only " +
		"snapshots."
}

// exportedResult has what was exported. The checksum depends only on the content of the archive, so
// the same content has the same checksum wherever it is imported and exported again.
type exportedResult struct {
	copiedResult

	Checksum string `json:"checksum"`
}

func (r exportedResult) text() string { return r.copiedResult.text() + ", checksum " + r.Checksum }

// copiedResult counts what was exported, imported or migrated.
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
	// The lock is of the file, not of its part: an export of other persistence ids has another
	// part.
	guard, err := filelock.Acquire(name + ".partial.lock")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer guard.Release()
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s is there already: give another name, or remove it first", name)
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
			return &partialError{fmt.Errorf("%d persistence ids or snapshots are missing or can't be read, and are left out, the first: %w", len(e.unreadable), e.unreadable[0])}
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
