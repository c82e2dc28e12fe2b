package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/newfile"
)

// removedItems is the file to which a repair writes the items that it removes, one JSON object per
// line.
type removedItems struct{ file *os.File }

// removedItem is a line of the file. docs/operations.md describes how to put an item back.
type removedItem struct {
	Table         string                  `json:"table"`
	PersistenceID string                  `json:"persistence_id"`
	SequenceNr    int64                   `json:"sequence_nr"`
	Kind          dynajournal.FindingKind `json:"kind"`
	Item          json.RawMessage         `json:"item"`
}

// createRemovedItems creates the file. An existing file is an error.
func createRemovedItems(name string) (*removedItems, error) {
	//nolint:gosec // the file that the user names
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write the archive: %w", err)
	}
	if err := newfile.SyncFolder(filepath.Dir(name)); err != nil {
		return nil, errors.Join(fmt.Errorf("write the archive: %w", err), file.Close())
	}
	return &removedItems{file}, nil
}

// add writes an item, and syncs the file.
func (r *removedItems) add(i dynajournal.RemovedItem) error {
	line, err := json.Marshal(removedItem{i.Table, i.PersistenceID, i.SequenceNumber, i.Kind, i.Item})
	if err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	if _, err := r.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	if err := r.file.Sync(); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return nil
}

// close closes the file, and removes it if no item was removed.
func (r *removedItems) close() error {
	info, err := r.file.Stat()
	if err = errors.Join(err, r.file.Close()); err != nil {
		return fmt.Errorf("close the archive: %w", err)
	}
	if info.Size() > 0 {
		return nil
	}
	if err := os.Remove(r.file.Name()); err != nil {
		return fmt.Errorf("remove the empty archive: %w", err)
	}
	return nil
}
