package engine

import (
	"context"
	"log/slog"

	"github.com/dynajournal/dynajournal/internal/backoff"
)

// RetryStart sends a request that a group needs before it can start, and retries it while it fails
// for a temporary reason. A process that is started during an outage runs its group after the
// outage.
func (g *Group) RetryStart(ctx context.Context, request func(context.Context) error) error {
	for n := 0; ; n++ {
		err := request(ctx)
		if err == nil || !g.outage(err) {
			return err
		}
		g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "a group of projections could not start: trying again",
			slog.String("event", "projection.start_failed"), slog.String("group", g.Config.Name), slog.Any("error", err))
		if err := backoff.Wait(ctx, g.Config.retries().After(n)); err != nil {
			return err
		}
	}
}
