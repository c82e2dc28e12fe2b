package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrInUse reports that another engine, of this or another process, has the folder open.
var ErrInUse = errors.New("the folder is in use by another engine")

const (
	formatFile = "FORMAT"
	// formatText is the content of the file FORMAT. Its number increases with each change of the
	// stored form.
	formatText = "dynajournal embedded 1\n"
	lockFile   = "LOCK"
)

// lockFolder creates the folder and acquires its lock.
func lockFolder(dir string, fs vfs.FS) (*pebble.Lock, error) {
	if err := makeFolder(dir, fs); err != nil {
		return nil, fmt.Errorf("creating the folder %s: %w", dir, err)
	}
	lock, err := pebble.LockDirectory(dir, fs)
	switch {
	case err == nil:
		return lock, nil
	case errors.Is(err, ErrFailed):
		return nil, err
	default:
		return nil, fmt.Errorf("%w: %s (%w)", ErrInUse, dir, err)
	}
}

// inUse reports whether locking failed because another engine holds the lock of the folder. An
// error of the lock file itself, for example on a read-only file system, is a PathError.
func inUse(err error) bool {
	_, ofFile := errors.AsType[*os.PathError](err)
	return !ofFile
}

// makeFolder creates the folder and its parents, durably.
func makeFolder(dir string, fs vfs.FS) error {
	var parents []string
	for missing := dir; ; missing = fs.PathDir(missing) {
		_, err := fs.Stat(missing)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrNotExist) || fs.PathDir(missing) == missing {
			return err
		}
		parents = append(parents, fs.PathDir(missing))
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, parent := range parents {
		if err := syncFolder(parent, fs); err != nil {
			return err
		}
	}
	return nil
}

func syncFolder(dir string, fs vfs.FS) error {
	folder, err := fs.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("opening %s: %w", dir, err)
	}
	if err = errors.Join(folder.Sync(), folder.Close()); err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return nil
}

// checkFormat checks the version of the folder, or writes the version into an empty folder.
func checkFormat(dir string, fs vfs.FS) error {
	path := fs.PathJoin(dir, formatFile)
	content, err := readFile(path, fs)
	if errors.Is(err, os.ErrNotExist) {
		return writeFormat(dir, fs)
	}
	if err != nil {
		return err
	}
	if string(content) != formatText {
		return fmt.Errorf("the folder %s has the format %q, this program knows only %q",
			dir, strings.TrimSpace(string(content[:min(len(content), 256)])), strings.TrimSpace(formatText))
	}
	return nil
}

func writeFormat(dir string, fs vfs.FS) error {
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("listing %s: %w", dir, err)
	}
	for _, name := range names {
		if base := filepath.Base(name); base != lockFile && base != formatFile+".new" {
			return fmt.Errorf("the folder %s has no file %s, but has other files (%s): it is not an engine's", dir, formatFile, base)
		}
	}
	temporary := fs.PathJoin(dir, formatFile+".new")
	file, err := fs.Create(temporary, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("creating %s: %w", temporary, err)
	}
	_, err = file.Write([]byte(formatText))
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", temporary, err)
	}
	if err = fs.Rename(temporary, fs.PathJoin(dir, formatFile)); err != nil {
		return fmt.Errorf("renaming to %s: %w", formatFile, err)
	}
	return syncFolder(dir, fs)
}
