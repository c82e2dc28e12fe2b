package payloads

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/dynajournal/dynajournal/serialization"
)

// Memory is a store in memory, for tests. The zero value is empty.
type Memory struct {
	mu     sync.Mutex
	stored map[string]inMemory
}

// inMemory is a payload in memory.
type inMemory struct {
	data []byte
	time time.Time
}

var _ Store = (*Memory)(nil)

// Put stores bytes at a key. It returns an error if the key is already taken.
func (m *Memory) Put(ctx context.Context, key string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.stored[key]; there {
		return fmt.Errorf("key %q is taken", key)
	}
	if m.stored == nil {
		m.stored = map[string]inMemory{}
	}
	m.stored[key] = inMemory{slices.Clone(data), time.Now()}
	return nil
}

// Get returns the bytes at a key. It ignores the limit.
func (m *Memory) Get(ctx context.Context, key string, _ int) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, there := m.stored[key]
	if !there {
		return nil, serialization.ErrPayloadMissing
	}
	return slices.Clone(stored.data), ctx.Err()
}

// List returns the payloads that are stored when the iteration starts, ordered by key.
func (m *Memory) List(ctx context.Context) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		m.mu.Lock()
		all := maps.Clone(m.stored)
		m.mu.Unlock()
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if err := ctx.Err(); err != nil {
				yield(Stored{}, err)
				return
			}
			if !yield(Stored{key, int64(len(all[key].data)), all[key].time}, nil) {
				return
			}
		}
	}
}

// Delete removes the payload at a key.
func (m *Memory) Delete(ctx context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.stored, key)
	return ctx.Err()
}
