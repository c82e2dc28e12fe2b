package dynajournal

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Poll says how a live query looks for what is new: with a pause that begins at Shortest, doubles
// while nothing comes, up to Longest, and is none while there is more to read.
type Poll struct {
	// Shortest defaults to DefaultPollShortest, Longest to DefaultPollLongest; if only one is set,
	// the other's default is moved to it where it would be on its wrong side. Shortest must not be
	// above Longest, neither may be negative.
	Shortest, Longest time.Duration
}

// Defaults of Poll.
const (
	DefaultPollShortest = 50 * time.Millisecond
	DefaultPollLongest  = 3 * time.Second
)

// complete fills in the defaults.
func (p *Poll) complete() error {
	switch {
	case p.Shortest < 0:
		return &ArgumentError{"Poll.Shortest", p.Shortest, mustNotBeNegative}
	case p.Longest < 0:
		return &ArgumentError{"Poll.Longest", p.Longest, mustNotBeNegative}
	case p.Longest == 0:
		p.Longest = max(DefaultPollLongest, p.Shortest)
	}
	orDefault(&p.Shortest, min(DefaultPollShortest, p.Longest))
	if p.Shortest > p.Longest {
		return &ArgumentError{"Poll.Shortest", p.Shortest, fmt.Sprintf("it must not be above Poll.Longest, %v", p.Longest)}
	}
	return nil
}

// poll calls look again and again, until look fails, the context ends or the journal is closed.
// look reports whether it found something. left bounds the pause before the next look where it
// is positive and reports true. Throttling and outages, and requests that hang until
// Config.OperationTimeout, count as nothing found: a live query outlives them.
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
