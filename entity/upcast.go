package entity

import (
	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/core"
	"github.com/dynajournal/dynajournal/serialization"
)

// UseUpcasters lets all readers of a journal get the events that Type.Upcasters return for stored
// ones of the entities of a type. [Open] does so for its journal. A program that reads events
// without entities, such as one that only runs projections, calls UseUpcasters before it reads.
//
// The upcasters of the last call hold, if there are several for the name of a type. It may be
// called concurrently with everything else.
//
// Errors: a *dynajournal.ArgumentError.
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
