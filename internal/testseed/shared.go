package testseed

import (
	"math/rand/v2"
	"sync"
)

// Shared is a source of random numbers for several goroutines. The numbers that a goroutine gets
// depend on the order of the goroutines.
type Shared struct {
	mu     sync.Mutex
	random *rand.Rand
}

// NewShared returns a source with a seed.
func NewShared(seed uint64) *Shared {
	return &Shared{random: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // a test's
}

// IntN returns a number from 0 to n-1.
func (s *Shared) IntN(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}
