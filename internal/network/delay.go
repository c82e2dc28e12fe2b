package network

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// Delay is how much longer a request takes than without the network, there and back together. It
// is lognormal: half of the requests take longer by P50 or less, 99 of 100 by P99 or less.
type Delay struct {
	P50, P99 time.Duration
}

// maxDelay bounds a single delay.
const maxDelay = time.Minute

// ErrInvalidDelay is returned for a Delay that is no distribution.
var ErrInvalidDelay = errors.New("the delay is invalid")

// check returns [ErrInvalidDelay] unless 0 < P50 <= P99 <= a minute, or both are 0 for no delay.
func (d Delay) check() error {
	if d == (Delay{}) || d.P50 > 0 && d.P50 <= d.P99 && d.P99 <= maxDelay {
		return nil
	}
	return fmt.Errorf("%w: p50 %v, p99 %v: p50 must be positive, and p99 from p50 to %v",
		ErrInvalidDelay, d.P50, d.P99, maxDelay)
}

// quantile99 is the 0.99 quantile of the standard normal distribution.
const quantile99 = 2.3263478740408408

// draw returns a delay for a number of the standard normal distribution.
func (d Delay) draw(normal float64) time.Duration {
	if d.P50 == 0 {
		return 0
	}
	sigma := math.Log(float64(d.P99)/float64(d.P50)) / quantile99
	return time.Duration(min(float64(d.P50)*math.Exp(sigma*normal), float64(maxDelay)))
}

// source draws numbers. It is safe for concurrent use.
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

// jitter returns a number from half of n to n and a half.
func (s *source) jitter(n float64) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return n * (1/2. + s.random.Float64())
}
