package dynajournal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dynajournal/dynajournal/internal/private"
)

// upcasters convert stored events of types that the program no longer has. Package entity sets
// them, for the persistence ids of an entity's type, and all readers of the journal use them. They
// are safe for concurrent use.
type upcasters struct {
	mu  sync.Mutex // held while the following is replaced
	all atomic.Pointer[[]upcastersOfType]
}

// upcastersOfType are the upcasters for persistence ids with a prefix, by the stored manifest.
type upcastersOfType struct {
	prefix     string
	byManifest map[string]private.Upcaster
}

// set replaces the upcasters for persistence ids with a prefix.
func (u *upcasters) set(prefix string, byManifest map[string]private.Upcaster) {
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

// of returns the upcaster for a stored event, nil if there is none.
func (u *upcasters) of(e *Event) private.Upcaster {
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
func (j *Journal) upcast(ctx context.Context, e *Event) ([]any, bool, error) {
	by := j.upcasters.of(e)
	if by == nil {
		return nil, false, nil
	}
	stored, err := j.config.Serialization.Resolve(ctx, e.Serialized())
	if err != nil {
		return nil, true, fmt.Errorf("decode event %d of %q: %w", e.SequenceNumber, e.PersistenceID, err)
	}
	values, err := by(stored)
	if err != nil {
		return nil, true, fmt.Errorf("upcast event %d of %q: %w", e.SequenceNumber, e.PersistenceID, err)
	}
	return values, true, nil
}

// converted returns the values of a stored event by its upcaster, or else by the adapter: one,
// several or none. It reports false if there is neither.
func (j *Journal) converted(ctx context.Context, e *Event) ([]any, bool, error) {
	values, upcast, err := j.upcast(ctx, e)
	if upcast || j.config.Adapter == nil {
		return values, upcast, err
	}
	value, err := e.PayloadContext(ctx)
	if err != nil {
		return nil, true, err
	}
	values, err = j.fromJournal(e, value)
	return values, true, err
}
