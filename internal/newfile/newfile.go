// Package newfile gives a file that is whole the name that it is to have.
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
// file: where there is one of the new name the error is fs.ErrExist, and the old name stays.
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

// linkNew names the file by a link where it can't be renamed without replacing another, as in some
// network file systems. Nothing that replaces is tried after that.
func linkNew(from, to string, renaming error) error {
	if err := os.Link(from, to); err != nil {
		return errors.Join(renaming, err)
	}
	if err := os.Remove(from); err != nil {
		return fmt.Errorf("remove the old name: %w", err)
	}
	return nil
}

// SyncFolder makes the names in a folder durable, without which a power failure can take a file
// whose content was synced. Windows has no such call, and keeps names durable itself.
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
