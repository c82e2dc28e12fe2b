package entity

import (
	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/serialization"
)

// UseUpcasters applies Type.Upcasters of a type for all readers of a journal: for stored events of
// its entities, they get the events that the upcasters return. [Open] does so for its journal. A
// program that reads events without entities, such as one that only runs projections, calls
// UseUpcasters before it reads.
//
// If there are several calls for the name of a type, the upcasters of the last call are used.
// UseUpcasters is safe for concurrent use.
//
// Errors: a [*dynajournal.ArgumentError].
func UseUpcasters[S, E any](journal *dynajournal.Journal, kind Type[S, E]) error {
	if journal == nil {
		return argument("journal", "nil", "it must be an open journal")
	}
	if err := kind.Check(); err != nil {
		return err
	}
	kind.useUpcasters(journal)
	return nil
}

func (t *Type[S, E]) useUpcasters(journal *dynajournal.Journal) {
	byManifest := make(map[string]core.Upcaster, len(t.Upcasters))
	for manifest, upcast := range t.Upcasters {
		byManifest[manifest] = func(stored serialization.Payload) ([]any, error) {
			events, err := upcast(stored)
			if err != nil {
				return nil, err
			}
			values := make([]any, len(events))
			for i, event := range events {
				values[i] = event
			}
			return values, nil
		}
	}
	core.Of(journal).Upcasters.Set(t.PersistenceID(""), byManifest)
}
