package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dynajournal/dynajournal/internal/filelock"
)

func TestAcquire_OneHolder(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Acquire(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Acquire(name); !errors.Is(err, filelock.ErrLocked) || !strings.Contains(err.Error(), name) {
		t.Errorf("the second: %v", err)
	}
	first.Release()
	if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
	third, err := filelock.Acquire(name)
	if err != nil {
		t.Fatal(err)
	}
	third.Release()
}

// A process that opens the file just before its holder removes it must not get a lock on a file
// without a name.
func TestAcquire_OneHolderDuringReleases(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lock")
	var holders, acquired atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				guard, err := filelock.Acquire(name)
				if errors.Is(err, filelock.ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if holders.Add(1) > 1 {
					t.Error("two hold the lock")
				}
				acquired.Add(1)
				holders.Add(-1)
				guard.Release()
			}
		})
	}
	all.Wait()
	if acquired.Load() == 0 {
		t.Error("nobody ever held the lock")
	}
}

func TestAcquire_KeepsOtherFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Acquire(name); err == nil || !strings.Contains(err.Error(), "it is not a lock file") {
		t.Errorf("%v", err)
	}
	if content, err := os.ReadFile(name); err != nil || string(content) != "x" {
		t.Errorf("the file has become %q, %v", content, err)
	}
}

func TestLock_ReleasedWithFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	open := func() *os.File {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first, second := open(), open()
	if err := filelock.Lock(first); err != nil {
		t.Fatal(err)
	}
	if err := filelock.Lock(second); !errors.Is(err, filelock.ErrLocked) {
		t.Errorf("the second: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := filelock.Lock(second); err != nil {
		t.Errorf("after the first was closed: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}
