package storage

import (
	"runtime"
	"testing"
	"weak"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A closed store that is still reachable does not refer to Pebble.
func TestClosedStoreReleasesPebble(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (*Store, error){
		"in memory":   func() (*Store, error) { return OpenMemory(1) },
		"in a folder": func() (*Store, error) { return Open("folder", vfs.NewMem()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, err := open()
			if err != nil {
				t.Fatal(err)
			}
			pebble := weak.Make(store.db)
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			for range 3 { // a pool's objects outlive a collection
				runtime.GC()
			}
			if pebble.Value() != nil {
				t.Error("Pebble is still reachable")
			}
			runtime.KeepAlive(store)
		})
	}
}
