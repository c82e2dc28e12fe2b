package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynajournal/dynajournal/internal/core"
)

// Poll is how often a live query looks for new events or ids. While there are any, it does not
// pause. The first pause without any is Shortest; it doubles with each further one, up to Longest.
// Shorter pauses return events sooner, longer ones cost fewer requests.
type Poll struct {
	// Longest is the longest pause. It must not be below Shortest.
	//
	// Defaults to 3 seconds, or to Shortest if that is longer.
	Longest time.Duration

	// Shortest is the first pause. It must not be negative.
	//
	// Defaults to 50 milliseconds, or to Longest if that is shorter.
	Shortest time.Duration
}

// Defaults of Poll.
const (
	DefaultPollShortest = 50 * time.Millisecond
	DefaultPollLongest  = 3 * time.Second
)

// complete fills in the defaults, and checks the pauses.
func (p *Poll) complete() error {
	switch {
	case p.Shortest < 0:
		return &ArgumentError{"Poll.Shortest", p.Shortest, core.MustNotBeNegative}
	case p.Longest < 0:
		return &ArgumentError{"Poll.Longest", p.Longest, core.MustNotBeNegative}
	case p.Longest == 0:
		p.Longest = max(DefaultPollLongest, p.Shortest)
	}
	orDefault(&p.Shortest, min(DefaultPollShortest, p.Longest))
	if p.Shortest > p.Longest {
		return &ArgumentError{"Poll.Shortest", p.Shortest,
			fmt.Sprintf("it must not be above Poll.Longest, %v", p.Longest)}
	}
	return nil
}

// poll calls look again and again, until look fails, the context ends or the journal is closed.
// look reports whether it has found something. If left reports true and its duration is positive,
// the pause is no longer than that. After throttling, an outage, or a request that
// Config.OperationTimeout has ended, poll goes on as if nothing was found.
func (p Poll) poll(ctx, journal context.Context, look func() (bool, error), left func() (time.Duration, bool)) error {
	if err := p.complete(); err != nil {
		return err
	}
	pause := p.Shortest
	for {
		found, err := look()
		switch {
		case errors.Is(err, ErrThrottled), errors.Is(err, ErrUnavailable), err == nil && !found,
			errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		case err != nil:
			return err
		default:
			pause = p.Shortest
			continue
		}
		next := pause
		if most, bounded := left(); bounded && most > 0 {
			next = min(next, most)
		}
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-journal.Done():
			timer.Stop()
			return context.Cause(journal)
		}
		pause = min(2*pause, p.Longest)
	}
}
