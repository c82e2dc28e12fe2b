package storage

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// errMarkerLost reports that a folder lacks the file that names the MANIFEST. Pebble would create
// an empty store there.
var errMarkerLost = errors.New("the file marker.manifest is missing, although there are other files of a store")

// checkFiles refuses a folder whose logs or MANIFEST have damage that Pebble would treat as the end
// of the data. isNew reports whether Pebble still has to create the store, or to upgrade it to its
// newest format.
func checkFiles(dir string, fs vfs.FS) (isNew bool, err error) {
	found, err := pebble.Peek(dir, fs)
	if err != nil {
		return false, fmt.Errorf("checking the folder %s: %w", dir, err)
	}
	names, err := fs.List(dir)
	if err != nil {
		return false, fmt.Errorf("listing the folder %s: %w", dir, err)
	}
	for _, name := range names {
		base := filepath.Base(name)
		number, isLog := strings.CutSuffix(base, ".log")
		if !found.Exists && (isLog || strings.HasSuffix(base, ".sst") || strings.HasPrefix(base, "OPTIONS-")) {
			return false, fmt.Errorf("the folder %s is damaged: %w (%s)", dir, errMarkerLost, base)
		}
		if !isLog {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			continue // not a log of Pebble
		}
		// A chunk has only the low 32 bits of the number.
		if err := checkFile(fs.PathJoin(dir, base), fs, chunkFile{log: uint32(n), isLog: true}); err != nil {
			return false, err
		}
	}
	if found.Exists {
		if err := checkFile(found.ManifestFilename, fs, chunkFile{}); err != nil {
			return false, err
		}
	}
	return found.FormatMajorVersion < pebble.FormatNewest, nil
}

func checkFile(path string, fs vfs.FS, f chunkFile) error {
	var err error
	if f.data, err = readFile(path, fs); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return fmt.Errorf("%s: %w; use a copy of the folder", path, err)
	}
	return nil
}

func readFile(path string, fs vfs.FS) ([]byte, error) {
	file, err := fs.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	data, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return data, nil
}
