package legacy

import (
	"context"
	"fmt"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/internal/dynamo"
)

// Bounds reads the lowest and the highest sequence number of a persistence id. Lowest is what the
// layout stores about deletion, 0 if nothing:
//
//   - In the hash-key-only layouts it is the smallest value of a low mark. Deleted events have that
//     number or a higher one. An event before it is stored only where a program has deleted single
//     events.
//   - In the naive layouts it is the number of the first stored event, if that is not 1.
func (j *Journal) Bounds(ctx context.Context, persistenceID string) (dynajournal.Bounds, error) {
	ctx, done, err := j.begin(ctx, persistenceID)
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
