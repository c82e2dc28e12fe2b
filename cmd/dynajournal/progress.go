package main

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/dynajournal/dynajournal"
)

// showAfter is how long work must take before its progress is shown.
const showAfter = time.Second

// progress shows the progress of long work on a terminal. Used as a hook of a journal, it counts
// requests.
type progress struct {
	w io.Writer
	// what names the unit that is counted.
	what string
	// total is the approximate amount of work, or unknownTotal. If it is known, the rate and the
	// remaining time are shown.
	total int64
	start time.Time

	mu   sync.Mutex
	done int
	bar  *progressbar.ProgressBar // nil until it is shown
}

func newProgress(w io.Writer, what string) *progress {
	return newProgressOf(w, what, unknownTotal)
}

// unknownTotal is the total of work whose amount is not known.
const unknownTotal = -1

func newProgressOf(w io.Writer, what string, total int64) *progress {
	return &progress{w: w, what: what, total: total, start: time.Now()}
}

// OnRequest counts a request.
func (p *progress) OnRequest(context.Context, dynajournal.Request) { p.count() }

// count counts one more.
func (p *progress) count() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.show(p.done + 1)
}

// set sets the amount of work that is done.
func (p *progress) set(done int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.show(int(done))
}

func (p *progress) show(done int) {
	p.done = done
	if p.bar == nil {
		if time.Since(p.start) < showAfter || !isTerminal(p.w) {
			return
		}
		const throttle, ownGoroutine = 100 * time.Millisecond, 0
		if p.total >= 0 {
			p.total = max(p.total, int64(done))
		}
		p.bar = progressbar.NewOptions64(p.total, progressbar.OptionSetWriter(p.w),
			progressbar.OptionSetDescription(p.what),
			progressbar.OptionShowCount(), progressbar.OptionSetElapsedTime(false),
			progressbar.OptionThrottle(throttle), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetSpinnerChangeInterval(ownGoroutine), progressbar.OptionShowIts(),
			progressbar.OptionSetPredictTime(true))
	}
	if p.total >= 0 && int64(p.done) > p.total { // the total was an estimate
		p.total = int64(p.done)
		p.bar.ChangeMax64(p.total + 1)
	}
	_ = p.bar.Set(p.done) // a bar that can't be shown must not fail the work
}

// stop removes the progress from the terminal.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
