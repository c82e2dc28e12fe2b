package projection

import (
	"context"
	"errors"
	"log/slog"
)

// begin repeats a request that a group needs before it can begin, while it fails for reasons that
// pass: a process that is started during an outage runs when that is over.
func (g *Group) begin(ctx context.Context, request func(context.Context) error) error {
	for pause := g.config.RetryShortest; ; pause = min(2*pause, g.config.RetryLongest) {
		err := request(ctx)
		if err == nil || !passes(err) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		g.config.Logger.LogAttrs(ctx, slog.LevelWarn, "a group of projections tries again to begin",
			slog.String("group", g.config.Name), slog.Any("error", err))
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}
