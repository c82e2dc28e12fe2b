package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/dynajournal/dynajournal/internal/filelock"
	"github.com/dynajournal/dynajournal/legacy/migration"
)

// noteFile writes notes to a file, a JSON object per line. A nil noteFile discards them.
type noteFile struct {
	file io.Closer
	out  *bufio.Writer
	err  error
}

type noteLine struct {
	PersistenceID string   `json:"persistence_id"`
	SequenceNr    int64    `json:"sequence_nr"`
	MarkedDeleted bool     `json:"marked_deleted"`
	Confirmations []string `json:"confirmations"`
	Unreadable    string   `json:"unreadable,omitempty"`
}

func openNotes(path string) (*noteFile, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // a nil noteFile discards notes
	}
	//nolint:gosec // the file that the user names
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write the notes: %w", err)
	}
	if err := filelock.Lock(f); err != nil { // lines of two migrations would be mixed
		return nil, errors.Join(fmt.Errorf("write the notes: %w", err), f.Close())
	}
	return &noteFile{file: f, out: bufio.NewWriter(f)}, nil
}

func (f *noteFile) note(n migration.Note) {
	if f == nil || f.err != nil {
		return
	}
	l := noteLine{PersistenceID: n.PersistenceID, SequenceNr: n.SequenceNumber, MarkedDeleted: n.MarkedDeleted,
		Confirmations: n.Confirmations}
	if l.Confirmations == nil {
		l.Confirmations = []string{}
	}
	if n.Unreadable != nil {
		l.Unreadable = n.Unreadable.Error()
	}
	line, err := json.Marshal(l)
	if err == nil {
		_, err = f.out.Write(append(line, '\n'))
	}
	f.err = err
}

func (f *noteFile) close() error {
	if f == nil {
		return nil
	}
	if err := errors.Join(f.err, f.out.Flush(), f.file.Close()); err != nil {
		return fmt.Errorf("write the notes: %w", err)
	}
	return nil
}
