package telemetry_test

import (
	"context"
	"errors"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/entity"
	"github.com/dynajournal/dynajournal/telemetry"
)

// A service with telemetry: a hook for the journal, one for the entities, and the state of both at
// each collection of metrics.
func Example() {
	run := func(ctx context.Context, config dynajournal.Config) error {
		t, err := telemetry.New(telemetry.Options{})
		if err != nil {
			return err
		}
		config.Hooks = append(config.Hooks, t.JournalHook())
		journal, err := dynajournal.Open(ctx, config)
		if err != nil {
			return err
		}
		counters, err := entity.Open(journal, counterType, entity.Options{
			Metadata: t.Metadata, Hooks: []entity.Hook{t.EntityHook()},
		})
		if err != nil {
			return errors.Join(err, journal.Close())
		}
		registration, err := t.Observe(journal, telemetry.Observed{
			Entities: map[string]func() entity.Stats{"counter": counters.Stats},
		})
		if err != nil {
			return errors.Join(err, counters.Close(ctx), journal.Close())
		}
		// ... until ctx ends
		return errors.Join(registration.Unregister(), counters.Close(ctx), journal.Close())
	}
	_ = run
	// Output:
}
