package projection

import (
	"context"
	"errors"
	"log/slog"

	"github.com/dynajournal/dynajournal/internal/backoff"
)

// begin repeats a request that a group needs before it can begin, while it fails for reasons that
// pass: a process that is started during an outage runs when that is over.
func (g *Group) begin(ctx context.Context, request func(context.Context) error) error {
	for n := 0; ; n++ {
		err := request(ctx)
		if err == nil || !passes(err) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		g.config.Logger.LogAttrs(ctx, slog.LevelWarn, "a group of projections tries again to begin",
			slog.String("group", g.config.Name), slog.Any("error", err))
		if err := backoff.Wait(ctx, g.config.retries().After(n)); err != nil {
			return err
		}
	}
}
