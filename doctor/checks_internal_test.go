package doctor

import (
	"testing"
	"time"

	"github.com/dynajournal/dynajournal"
	"github.com/dynajournal/dynajournal/projection/operator"
)

func TestBackup_Status(t *testing.T) {
	for recovery, want := range map[string]Status{"ENABLED": StatusOK, "DISABLED": StatusWarn, "": StatusUnknown} {
		if c := backup("journal", &dynajournal.Table{PointInTimeRecovery: recovery}); c.Status != want || c.Status == StatusUnknown && c.Needs == "" {
			t.Errorf("with %q the check is %+v, want %s", recovery, c, want)
		}
	}
}

func TestRegistered_WhatIsUnusual(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		of   operator.Info
		want Status
	}{
		"it runs":               {operator.Info{Processes: 1}, StatusOK},
		"no process":            {operator.Info{}, StatusWarn},
		"no process, on Lambda": {operator.Info{Source: "lambda"}, StatusOK},
		"paused for an hour":    {operator.Info{Processes: 1, Paused: now.Add(-time.Hour)}, StatusOK},
		"paused for a day":      {operator.Info{Processes: 1, Paused: now.Add(-24 * time.Hour)}, StatusWarn},
		"an interrupted reset":  {operator.Info{Processes: 1, Resetting: true}, StatusWarn},
	} {
		if got := registered(&c.of, now); got.Status != c.want || got.Status != StatusOK && (got.Fix == "" || got.Want == "") {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}
