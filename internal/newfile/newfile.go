// Package newfile gives a complete file its final name.
package newfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Publish renames a file within its folder, and makes the new name durable. It never replaces a
// file: if the new name exists, the error is fs.ErrExist, and the old name stays.
func Publish(from, to string) error {
	err := renameNew(from, to)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = linkNew(from, to, err)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return SyncFolder(filepath.Dir(to))
}

// linkNew creates the name by a hard link, where rename can't refuse to replace, as in some network
// file systems. After that nothing that can replace a file is tried.
func linkNew(from, to string, renaming error) error {
	if err := os.Link(from, to); err != nil {
		return errors.Join(renaming, err)
	}
	if err := os.Remove(from); err != nil {
		return fmt.Errorf("remove the old name: %w", err)
	}
	return nil
}

// SyncFolder makes the names in a folder durable. Without it, a power failure can lose a file whose
// content was synced. Windows has no such call, and makes names durable itself.
func SyncFolder(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(name) //nolint:gosec // the caller's folder
	if err != nil {
		return fmt.Errorf("open the folder: %w", err)
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return fmt.Errorf("sync the folder: %w", err)
	}
	return nil
}
