package main

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/dynajournal/dynajournal"
)

// patience is how long work may take before its progress is shown.
const patience = time.Second

// progress shows on a terminal how much was done, if that takes long. As a hook of a journal it counts requests.
type progress struct {
	w io.Writer
	// what is counted, in words.
	what  string
	began time.Time

	mu   sync.Mutex
	done int
	bar  *progressbar.ProgressBar // nil until it is shown
}

func newProgress(w io.Writer, what string) *progress {
	return &progress{w: w, what: what, began: time.Now()}
}

// OnRequest counts a request.
func (p *progress) OnRequest(context.Context, dynajournal.Request) { p.count() }

// count counts one more.
func (p *progress) count() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.bar == nil {
		if time.Since(p.began) < patience || !isTerminal(p.w) {
			return
		}
		const throttle, ownGoroutine = 100 * time.Millisecond, 0
		p.bar = progressbar.NewOptions64(-1, progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(p.what),
			progressbar.OptionShowCount(), progressbar.OptionSetElapsedTime(false), progressbar.OptionThrottle(throttle), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetSpinnerChangeInterval(ownGoroutine))
	}
	_ = p.bar.Set(p.done) // showing it is not worth failing for
}

// stop takes the progress from the terminal.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
