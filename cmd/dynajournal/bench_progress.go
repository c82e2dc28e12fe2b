package main

import (
	"io"

	"github.com/schollz/progressbar/v3"

	"github.com/dynajournal/dynajournal/bench"
)

// turns shows on a terminal how far a measurement has come.
type benchProgress struct {
	w   io.Writer
	bar *progressbar.ProgressBar // nil until the first step
}

func (t *benchProgress) step(step bench.Step) {
	if !isTerminal(t.w) {
		return
	}
	if t.bar == nil {
		t.bar = progressbar.NewOptions(step.Total, progressbar.OptionSetWriter(t.w), progressbar.OptionClearOnFinish(), progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true))
	}
	t.bar.Describe(step.Workload)
	_ = t.bar.Set(step.Done) // showing it is not worth failing for
}

// clear takes the bar from the line, which a result is going to be on.
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
