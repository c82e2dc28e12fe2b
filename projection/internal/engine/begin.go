package engine

import (
	"context"
	"log/slog"

	"github.com/dynajournal/dynajournal/internal/backoff"
)

// Begin repeats a request that a group needs before it can begin, while it fails for reasons that
// pass: a process that is started during an outage runs when that is over.
func (g *Group) Begin(ctx context.Context, request func(context.Context) error) error {
	for n := 0; ; n++ {
		err := request(ctx)
		if err == nil || !g.outage(err) {
			return err
		}
		g.Config.Logger.LogAttrs(ctx, slog.LevelWarn, "a group of projections tries again to begin",
			slog.String("group", g.Config.Name), slog.Any("error", err))
		if err := backoff.Wait(ctx, g.Config.retries().After(n)); err != nil {
			return err
		}
	}
}
