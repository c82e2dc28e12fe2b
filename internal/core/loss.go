package core

import (
	"context"
	"log/slog"
)

// ReportLoss logs that an operation continues past a loss, and calls Options.OnLoss. lost is the
// error that the operation would have returned otherwise.
func (j *Journal) ReportLoss(ctx context.Context, pid string, lost error) {
	lost = j.PublicError(lost)
	j.OnLoss(ctx, pid, lost)
	j.Logger.LogAttrs(ctx, slog.LevelWarn, "continued past a loss",
		slog.String("event", "journal.loss"), slog.String("persistence_id", pid), slog.Any("lost", lost))
}
