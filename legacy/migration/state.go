package migration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"

	"github.com/dynajournal/dynajournal/internal/filelock"
)

// State is a file that stores which persistence ids were copied. Its first line identifies the
// migration. Each further line is a JSON object for a copied persistence id. An incomplete last
// line is dropped, and its persistence id is compared again.
type State struct {
	mu     sync.Mutex
	file   *os.File
	copied map[string]bool
}

// errState is wrapped by every error about the file.
var errState = errors.New("the state file")

type stateLine struct {
	// Migration is set in the first line only.
	Migration     string `json:"migration,omitempty"`
	PersistenceID string `json:"persistence_id,omitempty"`
	Highest       int64  `json:"highest,omitempty"`
}

// OpenState opens or creates a state file. migration identifies the migration. A file of another
// migration is refused, and so is a file that another process has open. Close it when it is no
// longer used.
func OpenState(path, migration string) (_ *State, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the file that the user names
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errState, err)
	}
	s := &State{file: file, copied: map[string]bool{}}
	err = filelock.Lock(file) // otherwise two migrations would overwrite each other's lines
	if err == nil {
		err = s.read(migration)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w %s: %w", errState, path, err), file.Close())
	}
	return s, nil
}

// read reads the complete lines and sets the position of the next write after them.
func (s *State) read(migration string) error {
	in := bufio.NewReader(s.file)
	whole := int64(0)
	for first := true; ; first = false {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read: %w", err)
		}
		if err != nil { // the end, or an incomplete line
			break
		}
		var l stateLine
		if err := json.Unmarshal(bytes.TrimSpace(line), &l); err != nil || !utf8.Valid(line) ||
			first != (l.Migration != "") || first == (l.PersistenceID != "") {
			return fmt.Errorf("not the state of a migration: at byte %d", whole) //nolint:err113 // wrapped by OpenState
		}
		if first && l.Migration != migration {
			return fmt.Errorf("it belongs to another migration: %s", l.Migration) //nolint:err113 // wrapped by OpenState
		}
		s.copied[l.PersistenceID] = true
		whole += int64(len(line))
	}
	if err := s.file.Truncate(whole); err != nil {
		return fmt.Errorf("truncate: %w", err)
	}
	if _, err := s.file.Seek(whole, io.SeekStart); err != nil {
		return fmt.Errorf("write to it: %w", err)
	}
	if whole == 0 {
		return s.write(stateLine{Migration: migration})
	}
	return nil
}

func (s *State) write(l stateLine) error {
	line, err := json.Marshal(l)
	if err == nil {
		_, err = s.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write to it: %w", err)
	}
	return nil
}

// done reports whether a persistence id was copied.
func (s *State) done(pid string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.copied[pid]
}

// add records that a persistence id was copied.
func (s *State) add(pid string, highest int64) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.copied[pid] {
		return nil
	}
	if err := s.write(stateLine{PersistenceID: pid, Highest: highest}); err != nil {
		return fmt.Errorf("%w: %w", errState, err)
	}
	s.copied[pid] = true
	return nil
}

// Close closes the file.
func (s *State) Close() error { return s.file.Close() }
