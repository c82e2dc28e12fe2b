package main

import (
	"io"

	"github.com/schollz/progressbar/v3"

	"github.com/dynajournal/dynajournal/bench"
)

// benchProgress shows the progress of a measurement on a terminal.
type benchProgress struct {
	w   io.Writer
	bar *progressbar.ProgressBar // nil until the first step
}

func (t *benchProgress) step(step bench.Step) {
	if !isTerminal(t.w) {
		return
	}
	if t.bar == nil {
		t.bar = progressbar.NewOptions(step.Total, progressbar.OptionSetWriter(t.w), progressbar.OptionClearOnFinish(),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true))
	}
	t.bar.Describe(step.Workload)
	_ = t.bar.Set(step.Done) // a bar that can't be shown must not fail the measurement
}

// clear removes the bar from its line, so that a result can be written there.
func (t *benchProgress) clear() {
	if t.bar != nil {
		_ = t.bar.Clear() // as above
	}
}

func (t *benchProgress) stop() {
	if t.bar != nil {
		_ = t.bar.Finish() // as above
	}
}
