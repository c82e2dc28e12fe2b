package network

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// Delay is the distribution of the additional time that a request takes because of the network, in
// both directions together. It is lognormal: the median is P50, and the 99th percentile is P99.
type Delay struct {
	P50, P99 time.Duration
}

// maxDelay bounds a single delay.
const maxDelay = time.Minute

// ErrInvalidDelay reports that the fields of a [Delay] are out of range.
var ErrInvalidDelay = errors.New("the delay is invalid")

// check returns [ErrInvalidDelay] unless 0 < P50 <= P99 <= maxDelay. Both may be 0 for no delay.
func (d Delay) check() error {
	if d == (Delay{}) || d.P50 > 0 && d.P50 <= d.P99 && d.P99 <= maxDelay {
		return nil
	}
	return fmt.Errorf("%w: p50 %v, p99 %v: p50 must be positive, and p99 from p50 to %v",
		ErrInvalidDelay, d.P50, d.P99, maxDelay)
}

// quantile99 is the 0.99 quantile of the standard normal distribution.
const quantile99 = 2.3263478740408408

// draw converts a number of the standard normal distribution to a delay.
func (d Delay) draw(normal float64) time.Duration {
	if d.P50 == 0 {
		return 0
	}
	sigma := math.Log(float64(d.P99)/float64(d.P50)) / quantile99
	return time.Duration(min(float64(d.P50)*math.Exp(sigma*normal), float64(maxDelay)))
}

// source draws random numbers. It is safe for concurrent use.
type source struct {
	mu     sync.Mutex
	random *rand.Rand
}

func newSource(seed uint64) *source {
	return &source{random: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // no secret
}

// delay returns the next delay.
func (s *source) delay(d Delay) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return d.draw(s.random.NormFloat64())
}

// jitter returns a number from 0.5 n to 1.5 n.
func (s *source) jitter(n float64) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return n * (1/2. + s.random.Float64())
}
