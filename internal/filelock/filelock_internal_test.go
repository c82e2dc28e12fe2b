package filelock

import (
	"os"
	"path/filepath"
	"testing"
)

// A process that has opened the file before its holder removes it can still lock the file. That is
// not a lock on the name, which may already belong to another holder.
func TestClaim_FileWithoutName(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lock")
	holder, err := Acquire(name)
	if err != nil {
		t.Fatal(err)
	}
	late := make([]*os.File, 2)
	for i := range late {
		if late[i], err = os.OpenFile(name, os.O_RDWR, 0o600); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = late[i].Close() }()
	}
	holder.Release()
	if claimed, err := claim(late[0], name); claimed || err != nil {
		t.Errorf("with no file of the name: %v, %v", claimed, err)
	}
	_ = late[0].Close()
	next, err := Acquire(name)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Release()
	if claimed, err := claim(late[1], name); claimed || err != nil {
		t.Errorf("with another's file of the name: %v, %v", claimed, err)
	}
}
