package core

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dynajournal/dynajournal/internal/layout"
	"github.com/dynajournal/dynajournal/serialization"
)

// Upcaster returns the values to which a stored event is converted: one, several or no values.
type Upcaster func(stored serialization.Payload) ([]any, error)

// Upcasters convert stored events of types that the program no longer has. Package entity sets
// them, for the persistence ids of an entity's type, and all readers of the journal use them. They
// are safe for concurrent use.
type Upcasters struct {
	mu  sync.Mutex // locked while all is replaced
	all atomic.Pointer[[]upcastersOfType]
}

// upcastersOfType are the upcasters for persistence ids with a prefix, by the stored manifest.
type upcastersOfType struct {
	prefix     string
	byManifest map[string]Upcaster
}

// Set replaces the upcasters for persistence ids with a prefix.
func (u *Upcasters) Set(prefix string, byManifest map[string]Upcaster) {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []upcastersOfType
	if old := u.all.Load(); old != nil {
		all = slices.DeleteFunc(slices.Clone(*old), func(t upcastersOfType) bool { return t.prefix == prefix })
	}
	if len(byManifest) > 0 {
		all = append(all, upcastersOfType{prefix, byManifest})
	}
	u.all.Store(&all)
}

// of returns the upcaster for a stored event, or nil.
func (u *Upcasters) of(e *layout.Event) Upcaster {
	all := u.all.Load()
	if all == nil {
		return nil
	}
	for _, t := range *all {
		if strings.HasPrefix(e.PersistenceID, t.prefix) {
			return t.byManifest[e.SerializerManifest]
		}
	}
	return nil
}

// upcast returns the values to which an upcaster converts a stored event. It reports false if the
// event has no upcaster.
func (j *Journal) upcast(ctx context.Context, e *layout.Event) ([]any, bool, error) {
	by := j.Upcasters.of(e)
	if by == nil {
		return nil, false, nil
	}
	stored, err := j.Serialization.Resolve(ctx, Payload(e))
	if err != nil {
		return nil, true, fmt.Errorf("decode event %d of %q: %w", e.SequenceNr, e.PersistenceID, err)
	}
	values, err := by(stored)
	if err != nil {
		return nil, true, fmt.Errorf("upcast event %d of %q: %w", e.SequenceNr, e.PersistenceID, err)
	}
	return values, true, nil
}
