package legacy

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Bounds reads the lowest and the highest sequence number of a persistence id. Lowest is 0 if the
// layout stores nothing about deletions. Otherwise it depends on the layout:
//
//   - In the hash-key-only layouts it is the smallest value of a low mark. Events with that number
//     or a higher one can also be deleted. An event with a lower number is stored only where a
//     program has deleted single events.
//   - In the naive layouts it is the number of the first stored event, if that is not 1.
func (j *Journal) Bounds(ctx context.Context, persistenceID string) (dynajournal.Bounds, error) {
	ctx, done, err := j.start(ctx, persistenceID)
	if err != nil {
		return dynajournal.Bounds{}, err
	}
	defer done()
	b, err := j.store.bounds(ctx, &dynamo.Meter{}, persistenceID)
	if err != nil {
		return dynajournal.Bounds{}, fmt.Errorf("read the bounds of %q: %w", persistenceID, j.withTable(err))
	}
	return b, nil
}
